//! Takes an applied change back, and does it again.
//!
//! Both are ordinary applications of a change set: they refuse when a path is not as they left it, and
//! succeed only when every path has been read again and compared.

pub use dryad_effects::apply::ApplyError;
pub use dryad_effects::contents::Contents;

use dryad_protocol::change_set::ChangeSet;

/// Takes back `changes`; `contents` holds the bytes of their before-images. Blocking.
pub fn undo(changes: &ChangeSet, contents: &Contents) -> Result<(), ApplyError> {
    dryad_effects::apply::apply(&changes.inverse(), contents)
}

/// Does `changes` again; `contents` holds the bytes of their after-images. Blocking.
pub fn redo(changes: &ChangeSet, contents: &Contents) -> Result<(), ApplyError> {
    dryad_effects::apply::apply(changes, contents)
}
