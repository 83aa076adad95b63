//! What stood at the paths that a command has really changed: the before-images of the rungs that are no dry run.
//!
//! What only got another owner, group or attributes is a change with equal images; what they were and are is listed
//! beside it.

use super::capture::{Captured, Content, NotCarried, Uncarried};
use super::doors;
use crate::bearing::{Bearing, Owner};
use crate::bearings::{Listed, stays};
use crate::fingerprint::{image_at, modified};
use crate::opened;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A path and what stood there before.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    pub(super) path: FilePath,
    pub(super) before: Before,
    /// What it bore.
    #[serde(default)]
    pub(super) bearing: Option<Bearing>,
    /// Whose it was, if nothing else is known of that.
    #[serde(default)]
    pub(super) owner: Option<Owner>,
}

/// A file's device and inode.
pub(super) type Identity = (u64, u64);

/// What stood at a path.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) enum Before {
    /// Nothing.
    Absent,
    /// A directory.
    Directory {
        /// Its bits.
        mode: u32,
    },
    /// A link.
    Symlink {
        /// Where to.
        target: FilePath,
    },
    /// A file.
    File {
        /// Its bits.
        mode: u32,
        /// When it was last modified.
        modified: Option<FileTime>,
        /// Which file it was.
        identity: Identity,
        /// Where its content is.
        content: Saved,
        /// Whether it was written to, and has names outside the granted roots.
        #[serde(default)]
        elsewhere: bool,
    },
    /// Something that cannot be brought back.
    Special,
}

/// Where a content from before is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Saved {
    /// Still in the file: only bits or times were changed.
    InPlace,
    /// In this copy, or under this second name.
    At(FilePath),
    /// Nowhere: it could not be read, or was too much.
    Lost,
}

impl Before {
    /// What stands at a path, a file's content aside.
    pub(super) fn look(path: &Path, facts: &Metadata, content: Saved) -> io::Result<Self> {
        let kind = facts.file_type();
        Ok(if kind.is_dir() {
            Self::Directory { mode: facts.mode() & 0o7777 }
        } else if kind.is_symlink() {
            Self::Symlink { target: FilePath::new(std::fs::read_link(path)?) }
        } else if kind.is_file() {
            let (mode, identity) = (facts.mode() & 0o7777, (facts.dev(), facts.ino()));
            Self::File { mode, modified: modified(facts), identity, content, elsewhere: false }
        } else {
            Self::Special
        })
    }

    /// Which file it was, if its content is kept nowhere.
    fn lost(&self) -> Option<Identity> {
        let Self::File { identity, content, .. } = self else { return None };
        let is_lost = match content {
            Saved::InPlace => false,
            Saved::At(copy) => !copy.as_path().exists(),
            Saved::Lost => true,
        };
        is_lost.then_some(*identity)
    }
}

/// Compares what stood with what stands, and makes changes of what differs.
pub(super) fn changes(kept: Vec<Kept>) -> io::Result<Captured> {
    let lost = kept.iter().filter_map(|kept| kept.before.lost()).collect();
    let mut comparison = Comparison { lost, changes: Vec::new(), captured: Captured::default() };
    for one in kept {
        comparison.add(one)?;
    }
    let Comparison { mut changes, mut captured, .. } = comparison;
    doors::add(&mut changes);
    captured.changes = ChangeSet::new(changes);
    Ok(captured)
}

/// What was found so far.
struct Comparison {
    /// Files whose content is kept nowhere.
    lost: HashSet<Identity>,
    changes: Vec<Change>,
    captured: Captured,
}

impl Comparison {
    fn add(&mut self, Kept { path, before, bearing, owner }: Kept) -> io::Result<()> {
        let is_known = bearing.is_some() || owner.is_some();
        let now = is_known.then(|| Bearing::behind(path.as_path()).ok()).flatten();
        let differs = |bore: &Option<Bearing>| matches!((bore, &now), (Some(bore), Some(now)) if bore != now);
        let Some(after) = self.after(&path, &before)? else {
            if differs(&bearing) {
                self.leave_out(&path, Uncarried::BearingStays);
            }
            return Ok(());
        };
        let is_special = matches!(before, Before::Special);
        let is_elsewhere = matches!(before, Before::File { elsewhere: true, .. });
        let Some((before, file)) = before_image(before, &after)? else {
            self.leave_out(&path, if is_special { Uncarried::SpecialFileGone } else { Uncarried::Lost });
            return Ok(());
        };
        let change = Change { path, before, after };
        let bore = bore(&change, bearing, owner, now.as_ref());
        if change.ends_as_it_began() && !(stays(&change) && differs(&bore)) {
            return Ok(());
        }
        self.captured.borne.extend(bore.map(|bore| Listed(change.path.clone(), bore, now)));
        self.keep_content(&change, file, is_elsewhere);
        self.changes.push(change);
        Ok(())
    }

    /// Notes where the former content of a change lies.
    fn keep_content(&mut self, change: &Change, file: Option<FilePath>, is_elsewhere: bool) {
        if let (Some(blob), Some(file)) = (change.before.blob(), file)
            && change.after.blob() != Some(blob)
        {
            let content = Content { path: change.path.clone(), blob, file: file.as_path().to_owned() };
            self.captured.contents.push(content);
            if is_elsewhere {
                self.leave_out(&change.path, Uncarried::NamesElsewhere);
            }
        }
    }

    /// What stands there now; nothing if it is no part of the change.
    fn after(&mut self, path: &FilePath, before: &Before) -> io::Result<Option<Image>> {
        if before.lost().is_none() && self.is_only_copy(path) {
            self.leave_out(path, Uncarried::OnlyCopy);
            return Ok(None);
        }
        match image_at(path.as_path()) {
            Ok(after) => Ok(Some(after)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                if matches!(before, Before::Special) {
                    return Ok(None);
                }
                self.leave_out(path, Uncarried::SpecialFileStays);
                // What stood there is gone all the same.
                Ok(Some(Image::Absent))
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.leave_out(path, Uncarried::Unreadable);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a file stands there whose content is kept nowhere.
    fn is_only_copy(&self, path: &FilePath) -> bool {
        let identity = |path: &FilePath| opened::facts(path.as_path()).ok().map(|facts| (facts.dev(), facts.ino()));
        !self.lost.is_empty() && identity(path).is_some_and(|now| self.lost.contains(&now))
    }

    fn leave_out(&mut self, path: &FilePath, what: Uncarried) {
        self.captured.not_carried.push(NotCarried { path: path.clone(), what });
    }
}

/// What was borne before a change, as far as that is known. Of attributes that nobody looked at it is taken that they are
/// as they were.
fn bore(change: &Change, bearing: Option<Bearing>, owner: Option<Owner>, now: Option<&Bearing>) -> Option<Bearing> {
    match (bearing, owner, now) {
        (Some(bearing), _, _) => Some(bearing),
        (None, Some(owner), Some(now)) if stays(change) => Some(now.clone().owned_by(owner)),
        (None, _, _) => None,
    }
}

/// The image of what stood, and where its content lies; nothing if it cannot be brought back.
fn before_image(before: Before, after: &Image) -> io::Result<Option<(Image, Option<FilePath>)>> {
    Ok(match before {
        Before::Absent => Some((Image::Absent, None)),
        Before::Directory { mode } => Some((Image::Directory { mode }, None)),
        Before::Symlink { target } => Some((Image::Symlink { target }, None)),
        Before::File { mode, modified, content, .. } => match content {
            Saved::At(copy) => match image_at(copy.as_path())? {
                Image::File(file) => Some((Image::File(FileImage { mode, modified, ..file }), Some(copy))),
                Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => None,
            },
            Saved::InPlace => match after {
                Image::File(file) => Some((Image::File(FileImage { mode, modified, ..file.clone() }), None)),
                Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => None,
            },
            Saved::Lost => None,
        },
        Before::Special => None,
    })
}
