//! What came of a rehearsal, until it is applied or dropped.

use super::capture::{self, Content, NotCarried, OutsideWrite};
use super::layers::Claim;
use super::places::Scene;
use super::{Network, Rung, message};
use crate::bearing::Bearing;
use crate::bearings::Listed;
use crate::contents::Contents;
use crate::opened;
use crate::vault::{Vault, VaultError};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandOutput};
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What came of a rehearsal. Dropping it discards what is not handed over, but for what has really been changed: see
/// [`Rehearsed::announce`].
#[derive(Debug)]
#[must_use]
pub struct Rehearsed {
    /// Output and end of the command.
    pub outcome: CommandOutcome,
    /// What it would change in the granted roots; on a rung that is no dry run, what it has changed.
    pub changes: ChangeSet,
    /// Where the contents of files lie: the new ones of a dry run, otherwise the old ones.
    pub contents: Vec<Content>,
    /// What new directories and links bear that others would not.
    pub(crate) bearings: Vec<(FilePath, Bearing)>,
    /// What was borne before by that which a command has really changed, and what is now.
    pub borne: Vec<Listed>,
    /// What it would have changed elsewhere.
    pub outside_writes: Vec<OutsideWrite>,
    /// What it did that the change set cannot say.
    pub not_carried: Vec<NotCarried>,
    /// Files that somebody else changed while it ran: it may have seen the old ones.
    pub changed_meanwhile: Vec<FilePath>,
    /// What it tried to connect to.
    pub network_attempts: Vec<NetworkAttempt>,
    /// Names of processes it left running. They have been ended.
    pub left_running: Vec<String>,
    /// What this rehearsal could not do.
    pub limits: Vec<Limit>,
    /// How it was run.
    pub rung: Rung,
    /// Where it took place, if another command can follow.
    pub(super) scene: Option<Scene>,
    pub(super) _claims: Vec<Claim>,
    /// The file system in memory that holds layers.
    pub(super) memory: Option<OwnedFd>,
}

/// Connections that a command tried.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkAttempt {
    /// `address:port`, or the path of a socket.
    pub to: String,
    /// Whether it lies beyond this machine.
    pub remote: bool,
    /// How often it was tried.
    pub count: u64,
}

/// What a rehearsal could not do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Limit {
    /// Files directly in this directory could not be changed, because other file systems are mounted in it.
    Split(PathBuf),
    /// This place could only be read, and why.
    ReadOnly(PathBuf, String),
    /// Directories could not be renamed and connections were not seen, and why.
    Unwatched(String),
    /// Connections were not seen: something around dryad answers them first.
    Deaf,
    /// This belongs to another user or group; in a rehearsal such files can be read but not changed.
    Foreign(PathBuf),
    /// What the command changed here cannot be told from what others did, and was not looked at.
    Shared(PathBuf),
    /// The command really ran, and nothing kept it from the network.
    Networked,
    /// The command really ran, and nothing kept it from deleting files outside the granted roots; why.
    NoFloor(String),
}

impl Rehearsed {
    /// A rehearsal that was cancelled before it began.
    pub(super) fn nothing(rung: Rung) -> Self {
        let outcome = CommandOutcome { end: CommandEnd::Cancelled, output: CommandOutput::default(), duration_ms: 0 };
        Self::of(outcome, rung)
    }

    /// A command of which nothing but the outcome is known.
    pub(super) fn of(outcome: CommandOutcome, rung: Rung) -> Self {
        Self {
            outcome,
            changes: ChangeSet::default(),
            contents: Vec::new(),
            bearings: Vec::new(),
            borne: Vec::new(),
            outside_writes: Vec::new(),
            not_carried: Vec::new(),
            changed_meanwhile: Vec::new(),
            network_attempts: Vec::new(),
            left_running: Vec::new(),
            limits: Vec::new(),
            rung,
            scene: None,
            _claims: Vec::new(),
            memory: None,
        }
    }

    /// The new contents of a dry run, for applying its change set: files of the layers become those of the tree. What
    /// is applied so cannot be applied a second time, even if it failed.
    pub fn gifts(&self) -> Contents {
        let mut contents = Contents::default();
        for (path, bearing) in self.all_bearings() {
            contents.bears(path, bearing);
        }
        for content in &self.contents {
            contents.give(content.path.clone(), content.blob, content.file.clone());
        }
        contents
    }

    /// What everything new bears that others would not. The kernel's own attributes are taken off, and what is closed is
    /// opened: what asks for this is about to take it away.
    pub(crate) fn all_bearings(&self) -> Vec<(FilePath, Bearing)> {
        let of_file = |content: &Content| {
            // An attribute too many does less harm than a change that is not applied.
            capture::open(&content.file).and_then(|()| capture::strip(&content.file)).ok();
            Some((content.path.clone(), Bearing::of(&content.file)?))
        };
        self.contents.iter().filter_map(of_file).chain(self.bearings.iter().cloned()).collect()
    }

    /// Where the old contents of a command that really ran lie, with the paths that they stood at.
    pub fn saved(&self) -> impl Iterator<Item = (&FilePath, &Path)> {
        self.contents.iter().map(|content| (&content.path, content.file.as_path()))
    }

    /// Moves the old contents of a command that really ran into a vault, one reference for each.
    ///
    /// When it fails, what has not been moved stays where it is, and can be moved later.
    pub fn hand_over(&self, vault: &Vault) -> Result<(), VaultError> {
        let mut wanted: HashMap<&Path, usize> = HashMap::new();
        for content in &self.contents {
            *wanted.entry(&content.file).or_default() += 1;
        }
        for content in &self.contents {
            // An attribute too many does less harm than a change that is not applied.
            capture::strip(&content.file).ok();
            let left = wanted.entry(&content.file).or_default();
            *left -= 1;
            // Several names of one file were kept as one.
            match *left {
                0 => vault.absorb(&content.file, content.blob)?,
                _ => vault.put_file(&content.file, content.blob)?,
            }
        }
        Ok(())
    }

    /// Moves the contents into a directory, each under its name; nothing can be handed over afterwards.
    pub(crate) fn move_contents(&self, directory: &Path) -> io::Result<()> {
        for content in &self.contents {
            let place = directory.join(content.blob.to_string());
            match fs::rename(&content.file, &place) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    fs::copy(&content.file, &place)?;
                }
                other => other?,
            }
            fs::set_permissions(&place, Permissions::from_mode(0o600))?;
        }
        Ok(())
    }

    /// The contents of both sides of every change, for people to compare: those of files up to `largest` bytes, as
    /// far as `total` bytes go.
    ///
    /// A file that somebody has written to since is not what an image names, and is found by nobody.
    pub fn texts(&self, largest: u64, total: u64) -> Contents {
        let kept: HashMap<BlobId, &Path> =
            self.contents.iter().map(|content| (content.blob, content.file.as_path())).collect();
        let mut contents = Contents::default();
        let mut left = total;
        for change in self.changes.iter() {
            for image in [&change.before, &change.after] {
                let Image::File(file) = image else { continue };
                let Some(rest) = left.checked_sub(file.size).filter(|_| file.size <= largest) else { continue };
                let place = kept.get(&file.blob).copied().unwrap_or(change.path.as_path());
                if let Ok(bytes) = opened::reading(place, |_| fs::read(place)) {
                    contents.insert(bytes);
                    left = rest;
                }
            }
        }
        contents
    }

    /// Whether the command had the network, if this is what was wanted.
    pub fn network(&self, wanted: Network) -> Network {
        if self.limits.contains(&Limit::Networked) { Network::Allow } else { wanted }
    }

    /// Removes everything the rehearsal wrote, and what it kept. Dropping does the same, but for what a command has
    /// really changed and nobody has recorded: the next start does that.
    pub fn discard(self) {
        self.settle();
    }
}

/// What was tried, as it is told.
pub(super) fn attempts(connects: Vec<message::Connect>) -> Vec<NetworkAttempt> {
    let attempt =
        |connect: message::Connect| NetworkAttempt { to: connect.to, remote: connect.remote, count: connect.count };
    connects.into_iter().map(attempt).collect()
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split(path) => {
                write!(formatter, "files directly in {} could only be read: mounts lie in it", path.display())
            }
            Self::ReadOnly(path, why) => write!(formatter, "{} could only be read: {why}", path.display()),
            Self::Unwatched(why) => {
                write!(formatter, "directories could not be renamed, connections were not seen: {why}")
            }
            Self::Deaf => {
                formatter.write_str("connections were not seen: a supervisor outside dryad answers them first")
            }
            Self::Foreign(path) => {
                write!(formatter, "{} belongs to another user or group and could only be read", path.display())
            }
            Self::Shared(path) => {
                write!(formatter, "changes in {} were not looked at: others work there, too", path.display())
            }
            Self::Networked => formatter.write_str("the network was on: nothing keeps a command from it on this rung"),
            Self::NoFloor(why) => formatter.write_str(why),
        }
    }
}
