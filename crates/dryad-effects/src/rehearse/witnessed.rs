//! Runs a command for real with a witness at its side; this part runs in the helper process.
//!
//! There is no namespace that would take everybody along when the command is over: the helper adopts whoever loses his
//! parent, and ends them all. Without it their watched calls would fail anyway.

use super::Network;
use super::calls::{self, Everybody};
use super::first::{self, Crowd};
use super::message::{Answer, Failure, Play};
use super::notify::Watch;
use super::quota::Quota;
use super::shell::Bounds;
use super::witness::Witness;
use crate::landlock::Floor;
use crate::opened;
use dryad_protocol::path::FilePath;
use std::os::fd::OwnedFd;

/// Where a witnessed command works.
pub(super) struct Places<'p> {
    /// Where changes are expected.
    pub(super) roots: &'p [FilePath],
    /// Where else files may be deleted.
    pub(super) deletable: &'p [FilePath],
    /// Where before-images go.
    pub(super) store: &'p FilePath,
    /// Bytes that copies may take.
    pub(super) room: u64,
    /// Where it is noted what is open for a moment.
    pub(super) notes: Option<&'p FilePath>,
    /// Whether the network may be used.
    pub(super) network: Network,
}

/// Runs a command and saves what it changes before it does.
pub(super) fn perform(places: &Places<'_>, play: &Play, control: &OwnedFd) -> Result<Answer, Failure> {
    if let Some(notes) = places.notes {
        opened::keep_in(notes.as_path());
    }
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| Failure::of("adopt processes", error))?;
    let all = |paths: &[FilePath]| paths.iter().map(|path| path.as_path().to_owned()).collect::<Vec<_>>();
    let roots = all(places.roots);
    let floor = Floor::new(&[roots.clone(), all(places.deletable)].concat());
    let mut witness = Witness::new(roots, places.store.as_path().to_owned(), places.room)
        .map_err(|error| Failure::of("list what is saved", error))?;
    let crowd = Crowd { everybody: Everybody::Descendants, sees: false, quota: Quota::new(u64::MAX, Vec::new()) };
    let bounds =
        Bounds { processes: None, watch: Watch::Changes { network: places.network }, floor: floor.as_ref().ok() };
    let mut ended = first::accompany(play, &bounds, crowd, Some(&mut witness), control)?;
    if let Some(reason) = ended.unwatched {
        return Err(Failure::of("watch system calls", reason));
    }
    ended.written = match witness.testify() {
        Ok(written) => written,
        // A failure that is told means that nothing was run. This one has run, and what is listed of it is found.
        Err(_) => calls::exit_now(1),
    };
    Ok(Answer::Ended(ended))
}
