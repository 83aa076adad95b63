//! Where the paths of a log lie: below the workspace's root, wherever that is now.
//!
//! A path below the root is recorded relative to it. So when the workspace is moved its log still means the same
//! files, and in a copy it means the copy's. Other paths are recorded as they are.

use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::path::FilePath;
use std::path::{Path, PathBuf};

/// The operation as the log keeps it.
pub(super) fn to_relative(operation: &Operation, root: &Path) -> Operation {
    with_paths(operation.clone(), |path| match path.as_path().strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => FilePath::new(below),
        Ok(_) | Err(_) => path,
    })
}

/// The operation as it is meant here. Without a root, nobody knows where the workspace lies.
pub(super) fn to_absolute(operation: Operation, root: Option<&PathBuf>) -> Operation {
    match root {
        Some(root) => with_paths(operation, |path| FilePath::new(root.join(path.as_path()))),
        None => operation,
    }
}

fn with_paths(operation: Operation, place: impl Fn(FilePath) -> FilePath) -> Operation {
    let effect = match operation.effect {
        OperationEffect::Files { changes } => {
            let placed = changes.iter().map(|change| Change { path: place(change.path.clone()), ..change.clone() });
            OperationEffect::Files { changes: ChangeSet::new(placed) }
        }
        other @ (OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing) => other,
    };
    Operation { head: operation.head, effect }
}
