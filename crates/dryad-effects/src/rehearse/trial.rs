//! What the probe tries once it is inside: that a layer does what a layer must.

use super::message::{Answer, Ended, Failure, Stage};
use super::notify;
use super::stage::Entered;
use std::fs;
use std::io;

/// Removes a directory that lies below and makes it again: whoever mounts without the right attributes can mount,
/// and fails here. Then it renames one, which needs the watched calls.
pub(super) fn layers(stage: &Stage, entered: &Entered) -> Answer {
    let Some(tree) = stage.overlays.first() else { return answer(Ok(())) };
    let try_out = || -> io::Result<()> {
        let inner = tree.root.as_path().join("directory");
        fs::remove_file(inner.join("file"))?;
        fs::remove_dir(&inner)?;
        fs::create_dir(&inner)?;
        if fs::read_dir(&inner)?.next().is_some() {
            return Err(io::Error::other("what was deleted is still there"));
        }
        fs::write(tree.root.as_path().join("changed"), "after")
    };
    let unwatched = entered.shared_processes.clone().or_else(|| notify::try_out().err().map(|error| error.to_string()));
    match try_out() {
        Ok(()) => Answer::Ended(Ended { unwatched, read_only: entered.read_only.clone(), ..Ended::default() }),
        Err(error) => Answer::Failed(Failure::of("use a layer", error)),
    }
}

/// Success or failure of something that leaves nothing to tell.
pub(super) fn answer(result: io::Result<()>) -> Answer {
    match result {
        Ok(()) => Answer::Ended(Ended::default()),
        Err(error) => Answer::Failed(Failure::of("watch system calls", error)),
    }
}
