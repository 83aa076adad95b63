//! Which rungs of the ladder work here, found out by trying.
//!
//! Asking for versions is not enough: kernels, containers and security modules refuse at different steps. So the
//! helper does what a rehearsal does, on the file system of the work tree, with a tree of three files. The result is
//! kept in memory and, where the caller names a file, on the disk, for as long as nothing it depends on changes.

mod cache;

use super::RehearsalError;
use super::channel::{Inbox, send};
use super::helper::NAME;
use super::layers::{Base, Claim};
use super::message::{Answer, Ended, Failure, Overlay, Stage, Task};
use super::permit::Permit;
use super::roots;
use super::run::Helper;
use super::rung::{Rung, SWITCH};
use crate::landlock;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The probe hangs if it takes longer than this.
const PATIENCE: Duration = Duration::from_secs(10);

/// Enough for three files.
const ROOM: u64 = 1024 * 1024;

/// The ladder as it stands here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ladder {
    /// Every rung, the best first.
    pub rungs: Vec<Footing>,
    /// The version of landlock, if the kernel has it: without it nothing keeps a direct command from deleting
    /// files outside the granted roots.
    pub landlock: Option<u32>,
    /// Why the renaming of directories and connections cannot be watched in a rehearsal, if they cannot.
    pub unwatched: Option<String>,
}

/// One rung, as it stands here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Footing {
    /// Which.
    pub rung: Rung,
    /// Whether it holds.
    pub hold: Hold,
}

/// Whether a rung holds.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Hold {
    /// It was tried, and works.
    Works,
    /// It was tried, and does not; why.
    Refused(String),
    /// A better one works, so that nobody tried.
    Untried,
    /// Somebody wanted another one; who.
    Unwanted(String),
}

/// What is probed.
#[derive(Clone, Debug)]
pub struct ProbeRequest<'a> {
    /// The program that acts as the helper.
    pub helper: &'a Helper,
    /// Where layers would be kept.
    pub state: &'a Path,
    /// The work tree.
    pub root: &'a Path,
    /// The file that keeps the result; none for the memory alone.
    pub cache: Option<&'a Path>,
    /// The rung at which to begin; see [`Rung::from_environment`].
    pub highest: Rung,
}

impl Ladder {
    /// The ladder here: as it was found before, or by trying. Blocking; some milliseconds if it is new.
    pub fn find(request: &ProbeRequest<'_>) -> Self {
        // What holds for other trees on the same file system does not hold for this one.
        if roots::is_crowded(request.root) {
            return Self::probe(request);
        }
        let key = cache::key(request);
        cache::find(&key, request.cache).unwrap_or_else(|| {
            let ladder = Self::probe(request);
            cache::keep(&key, &ladder, request.cache);
            ladder
        })
    }

    /// The ladder here, if it was found before. Starts no process.
    pub fn known(request: &ProbeRequest<'_>) -> Option<Self> {
        if roots::is_crowded(request.root) {
            return None;
        }
        cache::find(&cache::key(request), request.cache)
    }

    /// Forgets what was found, after a rung that should have held did not.
    pub(super) fn forget(request: &ProbeRequest<'_>) {
        cache::forget(&cache::key(request), request.cache);
    }

    /// Finds out by trying. Leaves nothing behind.
    pub fn probe(request: &ProbeRequest<'_>) -> Self {
        let mut ladder = Self { rungs: Vec::new(), landlock: landlock::version(), unwatched: None };
        let mut found = false;
        for rung in Rung::ALL {
            let hold = if rung < request.highest {
                Hold::Unwanted(format!("{SWITCH}={}", request.highest))
            } else if found {
                Hold::Untried
            } else {
                ladder.try_rung(rung, request).map_or_else(Hold::Refused, |()| Hold::Works)
            };
            found |= hold == Hold::Works;
            ladder.rungs.push(Footing { rung, hold });
        }
        ladder
    }

    /// The best rung that works. The last one always does.
    pub fn best(&self) -> Rung {
        self.rungs.iter().find(|footing| footing.hold == Hold::Works).map_or(Rung::Direct, |footing| footing.rung)
    }

    /// Why `rung` is not used, if it is not.
    pub fn reason(&self, rung: Rung) -> Option<&str> {
        let footing = self.rungs.iter().find(|footing| footing.rung == rung)?;
        match &footing.hold {
            Hold::Works | Hold::Untried => None,
            Hold::Refused(reason) | Hold::Unwanted(reason) => Some(reason),
        }
    }

    fn try_rung(&mut self, rung: Rung, request: &ProbeRequest<'_>) -> Result<(), String> {
        match rung {
            Rung::Overlay | Rung::Tmpfs => {
                let ended = try_layers(rung, request).map_err(|error| error.to_string())?;
                self.unwatched = ended.unwatched;
                Ok(())
            }
            Rung::Journal => ask(request.helper, &Task::ProbeNotifier).map(drop).map_err(|error| error.to_string()),
            Rung::Snapshot | Rung::Direct => Ok(()),
        }
    }
}

/// Mounts a layer over a small tree and one over the work tree, and uses the first.
fn try_layers(rung: Rung, request: &ProbeRequest<'_>) -> Result<Ended, RehearsalError> {
    let claim = Claim::new(request.state, Base::Given).map_err(RehearsalError::Layers)?;
    let prepare = || -> io::Result<Stage> {
        let tree = claim.directory().join("tree");
        fs::create_dir_all(tree.join("directory"))?;
        fs::write(tree.join("directory/file"), "")?;
        fs::write(tree.join("changed"), "before")?;
        // One tree of the work tree stands for all.
        let planned = roots::plan(&[request.root.to_owned()], &[])?.trees.into_iter().next();
        let mut overlays = Vec::new();
        for (index, root) in [tree].into_iter().chain(planned.map(|tree| tree.root)).enumerate() {
            // Below its own layer nothing can lie; the plan of a rehearsal takes care of that.
            if index > 0 && claim.directory().starts_with(&root) {
                continue;
            }
            let layer = match rung {
                Rung::Tmpfs => None,
                _ => Some(FilePath::new(claim.layer(index, &root.metadata()?)?)),
            };
            overlays.push(Overlay { root: FilePath::new(root), layer, needed: true, permit: Permit::All });
        }
        let mount_point = FilePath::new(claim.mount_point());
        Ok(Stage {
            mount_point,
            overlays,
            unlayered: Vec::new(),
            hidden: Vec::new(),
            silenced: Vec::new(),
            passed: Vec::new(),
            network: true,
            quota: ROOM,
            processes: 64,
        })
    };
    ask(request.helper, &Task::Probe(prepare().map_err(RehearsalError::Layers)?))
}

/// Has a helper do something and waits for what it says.
fn ask(helper: &Helper, task: &Task) -> Result<Ended, RehearsalError> {
    let talk = || -> io::Result<Option<Answer>> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let mut child = Command::new(helper.program())
            .arg0(NAME)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut inbox = Inbox::default();
        let answer = send(&ours, task, &[]).and_then(|()| {
            loop {
                match inbox.wait(&ours)? {
                    Some(Answer::Layer) => {}
                    other => return Ok(other),
                }
            }
        });
        if answer.is_err() {
            child.kill().ok();
        }
        // It ends when the kernel has taken the namespaces down; nobody needs to wait for that.
        std::thread::spawn(move || child.wait());
        answer
    };
    match talk().map_err(RehearsalError::Helper)? {
        Some(Answer::Ended(ended)) => Ok(ended),
        Some(Answer::Failed(Failure { step, reason, .. })) => Err(RehearsalError::Refused { step, reason }),
        Some(Answer::Layer) | None => Err(RehearsalError::Helper(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The file that a cache is written to before it takes its place.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}
