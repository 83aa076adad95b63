//! Whether a staged plan is about this place still: a workspace can be moved while something waits in it.

use super::Staged;
use crate::report::Failure;
use dryad_protocol::action::{ActionBody, PendingAction};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use std::path::Path;

impl Staged {
    /// Refuses a plan for files or a directory that are gone together with the place where it was staged.
    ///
    /// Whatever else has changed since, apply itself finds out, and names it.
    ///
    /// # Errors
    ///
    /// When the workspace was moved, or the plan cannot be read.
    pub(in crate::mode) fn require_place(&self, action: &PendingAction) -> Result<(), Failure> {
        let gone = match &action.body {
            ActionBody::Files { .. } => {
                let (changes, _) = self.files_of(action)?;
                let outside = changes.iter().filter(|change| !self.is_inside(change.path.as_path()));
                outside.filter(|change| is_gone(change, &changes)).map(|change| change.path.to_string()).collect()
            }
            ActionBody::Command { command } if !command.cwd.as_path().is_dir() => vec![command.cwd.to_string()],
            ActionBody::Command { .. } | ActionBody::Foreign { .. } | ActionBody::Callback { .. } => Vec::new(),
        };
        if gone.is_empty() {
            return Ok(());
        }
        let (are, short) = (if gone.len() == 1 { "is" } else { "are" }, self.short(&action.id));
        let message = format!("nothing was changed: {} {are} not there any more", gone.join(", "));
        Err(Failure::failed(message).hint(format!(
            "It was staged in another place than {}; it stays pending until `dryad discard {short}` drops it.",
            self.memory.workdir.display()
        )))
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.memory.root().is_some_and(|root| path.starts_with(root))
    }
}

/// Whether a file that would be changed, or the directory that it would be made in, is not there.
fn is_gone(change: &Change, changes: &ChangeSet) -> bool {
    let path = change.path.as_path();
    match &change.before {
        Image::File(_) | Image::Symlink { .. } | Image::Directory { .. } => path.symlink_metadata().is_err(),
        Image::Absent => path.parent().is_some_and(|parent| {
            let is_made = changes.iter().any(|other| other.path.as_path() == parent);
            !is_made && parent.symlink_metadata().is_err()
        }),
    }
}
