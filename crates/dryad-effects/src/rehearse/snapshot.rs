//! Runs a command for real, between two looks at the granted roots.
//!
//! The first look keeps a copy of every file. A copy is named after all that would change if the file did, so that
//! the next command finds most of them there already, and a look costs little more than asking for metadata.
//!
//! The first look is written down beside a note, until what the command changed is [recorded](super::announced): if
//! this process dies, the next start takes the [second look](look_again).
//!
//! Limitations: the command really runs, and what it changes outside the granted roots, or beyond the quota of
//! copies, cannot be brought back. Two changes at the same instant that leave size and times alone are not seen. What
//! others change in the roots meanwhile counts as the command's, so places that everybody uses are not looked at. Of
//! owners and groups both looks tell, of attributes neither.

use super::capture::Captured;
use super::kept::{self, Before, Kept, Saved};
use super::layers::{Base, Claim, sweep};
use super::left::Note;
use super::{Limit, Network, RehearsalError, RehearsalRequest, Rehearsed, Rung};
use crate::bearing::{self, Owner};
use crate::landlock::Floor;
use crate::opened;
use crate::process::{self, Surroundings};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// What the roots held at one moment.
type Look = BTreeMap<PathBuf, Facts>;

/// The file that a first look is written to.
const LOOK: &str = "look.json";

/// What is known of something that was looked at. All but the mode changes whenever a file does.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Facts {
    mode: u32,
    device: u64,
    inode: u64,
    #[serde(default)]
    owner: Option<Owner>,
    #[serde(default)]
    links: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The first look, and where the copies are.
struct Snapshot {
    roots: Vec<PathBuf>,
    /// Granted roots that are everybody's, and not looked at.
    shared: Vec<PathBuf>,
    look: Look,
    /// Directories whose entries could not be seen.
    closed: HashSet<PathBuf>,
    store: PathBuf,
    /// Directories that are not looked at.
    left_out: Vec<PathBuf>,
}

/// The same, as it is written.
#[derive(Deserialize, Serialize)]
struct Written {
    roots: Vec<FilePath>,
    look: Vec<(FilePath, Facts)>,
    closed: Vec<FilePath>,
    store: FilePath,
    left_out: Vec<FilePath>,
}

/// Runs the command and finds out what it changed.
pub(super) async fn rehearse(
    request: &RehearsalRequest,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<Rehearsed, RehearsalError> {
    let wanted = request.clone();
    let note = move || Note::new(request, surroundings, Rung::Snapshot);
    let taken = blocking(move || Snapshot::take(&wanted).and_then(|snapshot| Ok((snapshot.claim(&wanted)?, snapshot))));
    let (claim, snapshot) = taken.await?.map_err(RehearsalError::Layers)?;
    note().leave_in(&claim).map_err(RehearsalError::Layers)?;
    let floor = request.floor();
    // Without the number it would not be waited for; it runs all the same.
    let on_start = |leader: u32| drop(note().led_by(leader).leave_in(&claim));
    let (floored, command) = (floor.as_ref().ok(), &request.command);
    let outcome = process::run_noted(floored, command, surroundings, cancel, on_update, &on_start).await;
    let outcome = outcome.inspect_err(|_| claim.settle())?;
    let shared: Vec<Limit> = snapshot.shared.iter().cloned().map(Limit::Shared).collect();
    let captured = blocking(move || snapshot.compare()).await?.map_err(RehearsalError::Capture)?;
    let Captured { changes, contents, borne, not_carried, .. } = captured;
    let limits = request.limits_of_real_run(floor).into_iter().chain(shared).collect();
    let _claims = vec![claim];
    Ok(Rehearsed { changes, contents, borne, not_carried, limits, _claims, ..Rehearsed::of(outcome, Rung::Snapshot) })
}

/// Takes the second look of a command whose dryad died.
pub(super) fn look_again(claim: &Claim) -> io::Result<Captured> {
    let written: Written = serde_json::from_slice(&claim.get(LOOK)?)?;
    let paths = |paths: Vec<FilePath>| paths.into_iter().map(|path| path.as_path().to_owned()).collect::<Vec<_>>();
    let snapshot = Snapshot {
        roots: paths(written.roots),
        shared: Vec::new(),
        look: written.look.into_iter().map(|(path, facts)| (path.as_path().to_owned(), facts)).collect(),
        closed: paths(written.closed).into_iter().collect(),
        store: written.store.as_path().to_owned(),
        left_out: paths(written.left_out),
    };
    snapshot.compare()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RehearsalError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| RehearsalError::Capture(io::Error::other(error)))
}

impl RehearsalRequest {
    /// What keeps a command that really runs from deleting files elsewhere.
    pub(super) fn floor(&self) -> Result<Floor, crate::landlock::FloorError> {
        let there = |path: &&PathBuf| path.exists();
        let places: Vec<PathBuf> = self.roots.iter().chain(&self.deletable).filter(there).cloned().collect();
        Floor::new(&places)
    }

    /// What a command that really runs, with nobody watching it, was not kept from.
    pub(super) fn limits_of_real_run(&self, floor: Result<Floor, crate::landlock::FloorError>) -> Vec<Limit> {
        let no_floor = floor.err().map(|error| Limit::NoFloor(error.to_string()));
        no_floor.into_iter().chain((self.network == Network::None).then_some(Limit::Networked)).collect()
    }
}

impl Snapshot {
    fn take(request: &RehearsalRequest) -> io::Result<Self> {
        let roots = request.roots.iter().map(|root| root.canonicalize()).collect::<io::Result<Vec<_>>>()?;
        let is_everybodys = |root: &PathBuf| root.metadata().is_ok_and(|facts| facts.mode() & 0o1002 == 0o1002);
        let (shared, own): (Vec<_>, Vec<_>) = roots.into_iter().partition(is_everybodys);
        // Who works in such a place has nothing else.
        let (roots, shared) = if own.is_empty() { (shared, own) } else { (own, shared) };
        let mut hasher = blake3::Hasher::new();
        for root in &roots {
            hasher.update(root.as_os_str().as_encoded_bytes());
            hasher.update(b"\0");
        }
        let name: String = hasher.finalize().to_hex().chars().take(16).collect();
        let store = request.state.join(format!("kept-{name}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&store)?;
        let left_out = request.hidden.iter().chain([&request.state]).filter_map(|path| path.canonicalize().ok());
        let left_out: Vec<PathBuf> = left_out.collect();
        let (look, closed) = look(&roots, &left_out)?;
        let mut snapshot = Self { roots, shared, look, closed, store, left_out };
        snapshot.keep_copies(request)?;
        Ok(snapshot)
    }

    /// Writes the look down where the next start finds it.
    fn claim(&self, request: &RehearsalRequest) -> io::Result<Claim> {
        sweep(&request.state);
        let claim = Claim::new(&request.state, Base::Given)?;
        let written = Written {
            roots: self.roots.iter().map(FilePath::new).collect(),
            look: self.look.iter().map(|(path, facts)| (FilePath::new(path), *facts)).collect(),
            closed: self.closed.iter().map(FilePath::new).collect(),
            store: FilePath::new(&self.store),
            left_out: self.left_out.iter().map(FilePath::new).collect(),
        };
        claim.put(LOOK, &serde_json::to_vec(&written)?)?;
        Ok(claim)
    }

    /// Copies what is not kept yet, as far as there is room, and drops copies of what is no longer there.
    fn keep_copies(&mut self, request: &RehearsalRequest) -> io::Result<()> {
        let kept: HashSet<OsString> =
            fs::read_dir(&self.store)?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        let (mut room, mut needed) = (request.quota, HashSet::new());
        for (path, facts) in self.look.iter_mut().filter(|(_, facts)| facts.is_file() || facts.is_symlink()) {
            let Some(left) = room.checked_sub(facts.size) else { continue };
            room = left;
            let name = name_of(facts);
            if !kept.contains(name.as_os_str()) {
                // What cannot be read cannot be brought back; the comparison says so.
                copy(path, facts, &self.store).ok();
            }
            needed.insert(name_of(facts));
        }
        // What a command changed of which there is no record yet is still needed.
        if Claim::any_note(&request.state) {
            return Ok(());
        }
        for name in kept.difference(&needed) {
            fs::remove_file(self.store.join(name)).ok();
        }
        Ok(())
    }

    /// The second look.
    fn compare(self) -> io::Result<Captured> {
        let (now, _) = look(&self.roots, &self.left_out)?;
        let differs = |path: &PathBuf, before: &Facts| now.get(path).is_none_or(|after| is_changed(before, after));
        let mut names: HashMap<(u64, u64), u64> = HashMap::new();
        for facts in self.look.values().filter(|facts| facts.links > 1) {
            *names.entry(facts.identity()).or_default() += 1;
        }
        let mut touched = Vec::new();
        for (path, facts) in self.look.iter().filter(|(path, facts)| differs(path, facts)) {
            let mut before = before(&self.store, facts);
            let is_same = now.get(path).is_some_and(|after| after.identity() == facts.identity());
            if let Before::File { elsewhere, .. } = &mut before {
                *elsewhere = is_same && names.get(&facts.identity()).is_some_and(|count| facts.links > *count);
            }
            touched.push(Kept { path: FilePath::new(path), before, bearing: None, owner: facts.owner });
        }
        // What could not be seen before is not new because it can be seen now.
        let was_hidden = |path: &Path| path.ancestors().skip(1).any(|above| self.closed.contains(above));
        let new = now.keys().filter(|path| !self.look.contains_key(*path) && !was_hidden(path));
        let absent = |path| Kept { path: FilePath::new(path), before: Before::Absent, bearing: None, owner: None };
        touched.extend(new.map(absent));
        touched.sort_by(|a, b| a.path.cmp(&b.path));
        kept::changes(touched)
    }
}

/// What stood there. A file's content, and where a link led, are in the copy.
fn before(store: &Path, facts: &Facts) -> Before {
    let copy = store.join(name_of(facts));
    let mode = facts.mode & 0o7777;
    if facts.is_dir() {
        Before::Directory { mode }
    } else if facts.is_symlink() {
        fs::read_link(copy).map_or(Before::Special, |target| Before::Symlink { target: FilePath::new(target) })
    } else if facts.is_file() {
        let content = if copy.exists() { Saved::At(FilePath::new(copy)) } else { Saved::Lost };
        let modified = u32::try_from(facts.modified.1).ok().and_then(|rest| FileTime::new(facts.modified.0, rest));
        Before::File { mode, modified, identity: facts.identity(), content, elsewhere: false }
    } else {
        Before::Special
    }
}

/// A name that changes whenever the file does.
fn name_of(facts: &Facts) -> OsString {
    let Facts { device, inode, size, modified, changed, .. } = facts;
    let [modified, changed] = [modified, changed].map(|(seconds, rest)| format!("{seconds:x}.{rest:x}"));
    format!("{device:x}-{inode:x}-{size:x}-{modified}-{changed}").into()
}

fn is_changed(before: &Facts, after: &Facts) -> bool {
    if before.is_dir() && after.is_dir() {
        return before.mode != after.mode || before.owner != after.owner;
    }
    before.mode != after.mode || name_of(before) != name_of(after)
}

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            device: metadata.dev(),
            inode: metadata.ino(),
            owner: Some((metadata.uid(), metadata.gid())),
            links: metadata.nlink(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// What tells a file from all others.
    fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    fn is_symlink(&self) -> bool {
        self.kind() == FileType::Symlink
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

/// Copies a file or a link to a store, under a name that appears when it is whole. A file that had to be opened for that
/// bears another time since.
fn copy(from: &Path, facts: &mut Facts, store: &Path) -> io::Result<()> {
    if facts.is_symlink() {
        let target = opened::passing(from, || fs::read_link(from))?;
        return std::os::unix::fs::symlink(target, store.join(name_of(facts)));
    }
    let beside = store.join(format!("new.{}", std::process::id()));
    let copied = opened::reading(from, |_| fs::copy(from, &beside))
        .and_then(|_| fs::set_permissions(&beside, Permissions::from_mode(0o600)))
        .and_then(|()| {
            bearing::hand_on(from, &beside);
            let now = Facts::of(&opened::facts(from)?);
            if now == (Facts { changed: now.changed, ..*facts }) {
                *facts = now;
            }
            fs::rename(&beside, store.join(name_of(facts)))
        });
    copied.inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Everything in the roots, by path, and the directories of others whose entries cannot be seen.
fn look(roots: &[PathBuf], left_out: &[PathBuf]) -> io::Result<(Look, HashSet<PathBuf>)> {
    let (mut look, mut closed) = (Look::new(), HashSet::new());
    let mut todo = Vec::new();
    for root in roots {
        match opened::facts(root) {
            Ok(facts) => todo.push((root.clone(), facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    while let Some((path, facts)) = todo.pop() {
        if left_out.contains(&path) {
            continue;
        }
        if facts.is_dir() {
            match opened::entries(&path) {
                Ok(entries) => todo.extend(entries),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => drop(closed.insert(path.clone())),
            }
        }
        look.insert(path, Facts::of(&facts));
    }
    Ok((look, closed))
}
