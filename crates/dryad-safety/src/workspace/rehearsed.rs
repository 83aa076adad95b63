//! What a command has changed in a rehearsal, or for real with its before-images kept, becomes one operation.

use super::{Workspace, WorkspaceError, append_files, recorded, unusable};
use dryad_effects::contents::Contents;
use dryad_effects::identity;
use dryad_effects::rehearse::Rehearsed;
use dryad_protocol::operation::{OperationHead, Outcome};

/// Larger texts are not merged, so they are not read.
const LARGEST_TEXT: u64 = 256 * 1024;

/// So many bytes of texts are read for the sake of a merge.
const TEXTS: u64 = 32 * 1024 * 1024;

impl Workspace {
    /// Applies what a command has changed in a rehearsal, and records it. The command does not run again.
    ///
    /// Blocking, and not to be interrupted. An error says that nothing was changed, as with
    /// [`apply`](Workspace::apply); the rehearsal cannot be applied a second time.
    pub fn apply_rehearsed(&self, head: &OperationHead, rehearsed: &Rehearsed) -> Result<(), WorkspaceError> {
        self.opened()?;
        let (changes, texts) = (rehearsed.changes_beside_mark(), texts(rehearsed));
        let changes = changes.as_ref();
        self.apply_with(head, changes, &rehearsed.gifts(), &|kept| kept.keep(&head.id, changes, &texts))
    }

    /// Records what a command has really changed, so that it can be taken back: its before-images go to the vault.
    ///
    /// It is not synced, as [`record`](Workspace::record) is not. What is killed on the way, or fails, is found by the next
    /// start ([`recover_commands`](crate::rehearsal::recover_commands)) and not recorded twice.
    pub fn record_rehearsed(&self, head: &OperationHead, rehearsed: &Rehearsed) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        let log = self.log()?;
        log.require_known_version()?;
        self.restore_mark();
        self.recover_locked(log)?;
        if log.contains_recent(&head.id)? {
            rehearsed.settle();
            return Ok(());
        }
        let texts = texts(rehearsed);
        let changes = rehearsed.changes_beside_mark();
        rehearsed.announce(head, &changes).map_err(unusable(log.path()))?;
        // Kept even if the rest fails: whoever comes again finds the files themselves in the vault.
        let bearings = self.bearings()?;
        let borne = bearings.saved(&rehearsed.borne, rehearsed.saved(), &changes);
        bearings.keep(&head.id, &borne, recorded(log)).map_err(unusable(log.path()))?;
        rehearsed.hand_over(self.vault()?)?;
        let kept = self.texts()?;
        let recorded = kept
            .keep(&head.id, &changes, &texts)
            .and_then(|has_texts| append_files(log, head, &changes, Outcome::Applied, has_texts))
            .map_err(unusable(log.path()));
        match recorded {
            Ok(()) => rehearsed.settle(),
            Err(_) => kept.forget(&head.id),
        }
        recorded
    }
}

impl Workspace {
    /// Brings back what undo finds the workspace by, if the command has removed it.
    fn restore_mark(&self) {
        let Ok(opened) = self.opened() else { return };
        if let (Some(root), Some(id)) = (opened.log.root(), opened.state.file_name()) {
            identity::restore(root, &id.to_string_lossy());
        }
    }
}

fn texts(rehearsed: &Rehearsed) -> Contents {
    rehearsed.texts(LARGEST_TEXT, TEXTS)
}
