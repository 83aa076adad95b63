//! Where recorded paths lie: below the workspace's root, wherever that is now.
//!
//! A path below the root is recorded relative to it. So when the workspace is moved its log and what is staged still
//! mean the same files, and in a copy they mean the copy's. Other paths are recorded as they are.

use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::path::FilePath;
use std::path::Path;

/// The operation as it is meant here. Without a root, nobody knows where the workspace lies.
pub(super) fn to_absolute(operation: Operation, root: Option<&Path>) -> Operation {
    match root {
        Some(root) => with_changes(operation, |changes| absolute(changes, root)),
        None => operation,
    }
}

/// A path as it is recorded.
pub(crate) fn recorded_path<'p>(path: &'p FilePath, root: Option<&Path>) -> &'p Path {
    match root.map(|root| path.as_path().strip_prefix(root)) {
        Some(Ok(below)) if !below.as_os_str().is_empty() => below,
        Some(Ok(_) | Err(_)) | None => path.as_path(),
    }
}

/// The changes as they are recorded.
pub(crate) fn relative(changes: &ChangeSet, root: &Path) -> ChangeSet {
    with_paths(changes, |path| FilePath::new(recorded_path(path, Some(root))))
}

/// The changes as they are meant here.
pub(crate) fn absolute(changes: &ChangeSet, root: &Path) -> ChangeSet {
    with_paths(changes, |path| FilePath::new(root.join(path.as_path())))
}

fn with_paths(changes: &ChangeSet, place: impl Fn(&FilePath) -> FilePath) -> ChangeSet {
    ChangeSet::new(changes.iter().map(|change| Change { path: place(&change.path), ..change.clone() }))
}

fn with_changes(operation: Operation, place: impl Fn(&ChangeSet) -> ChangeSet) -> Operation {
    let effect = match operation.effect {
        OperationEffect::Files { changes } => OperationEffect::Files { changes: place(&changes) },
        other @ (OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing) => other,
    };
    Operation { head: operation.head, effect }
}
