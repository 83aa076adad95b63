//! What a command has changed in a rehearsal, or for real with its before-images kept, becomes one operation.

use super::{Workspace, WorkspaceError, append_files, unusable};
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
    /// It is not synced, as [`record`](Workspace::record) is not.
    pub fn record_rehearsed(&self, head: &OperationHead, rehearsed: &Rehearsed) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        let log = self.log()?;
        log.require_known_version()?;
        self.restore_mark();
        self.recover_locked(log)?;
        let texts = texts(rehearsed);
        let vault = self.vault()?;
        rehearsed.hand_over(vault)?;
        let kept = self.texts()?;
        let recorded = kept
            .keep(&head.id, &rehearsed.changes, &texts)
            .and_then(|()| append_files(log, head, &rehearsed.changes, Outcome::Applied))
            .map_err(unusable(log.path()));
        if recorded.is_err() {
            kept.forget(&head.id);
            rehearsed.take_back(vault);
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
