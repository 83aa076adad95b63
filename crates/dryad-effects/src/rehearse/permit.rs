//! What an ordinary user may do to the names in the root of a tree.
//!
//! A layer is his, whoever the root of the tree below it belongs to, so that the kernel does not ask there. Below the root
//! it does: there a layer has the owners of the tree. So what the root does not allow is found when the layer is read, and
//! a rename is refused at once: it takes something away from one place to put it where it cannot be.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What may be done to the names in the root of a tree.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Permit {
    /// Anything.
    All,
    /// Some can be made, and one's own removed.
    Own,
    /// Nothing.
    None,
}

impl Permit {
    /// That of the root of a tree with these facts.
    pub(super) fn of(root: &Path, facts: &Metadata) -> Self {
        let user = geteuid();
        // An owner can open it.
        if user.is_root() || facts.uid() == user.as_raw() {
            return Self::All;
        }
        match accessat(CWD, root, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
            Err(_) => Self::None,
            Ok(()) if facts.mode() & 0o1000 != 0 => Self::Own,
            Ok(()) => Self::All,
        }
    }

    /// Whether something else can come in the place of what this user's id, or another's, owns; or of nothing.
    pub(super) fn allows(self, owner: Option<u32>) -> bool {
        match self {
            Self::All => true,
            Self::Own => owner.is_none_or(|owner| owner == geteuid().as_raw()),
            Self::None => false,
        }
    }
}
