//! What the operations of all workspaces still need.

use crate::mode::changes::{from_workspace, print_notices};
use crate::report::Failure;
use dryad_effects::bearings::Bearings;
use dryad_effects::lock::Lock;
use dryad_effects::texts::Texts as KeptTexts;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::time::Timestamp;
use dryad_safety::oplog::{Damage, DamageKind, FileLog, LogError};
use dryad_safety::workspace::Workspace;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Operations younger than this keep what they need.
pub(super) const KEPT_MILLISECONDS: i64 = 30 * 24 * 60 * 60 * 1000;

/// So many of the newest operations of a workspace keep what they need, however old they are.
pub(super) const KEPT_OPERATIONS: usize = 500;

/// What becomes of texts that were kept by operations which are not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Texts {
    /// They go.
    Collected,
    /// It is a dry run.
    Stay,
}

/// Whether an operation keeps what it needs; `age` is how many of its workspace are newer.
pub(in crate::mode) fn is_kept(age: usize, at: Timestamp, now: Timestamp) -> bool {
    age < KEPT_OPERATIONS || now.since(at) <= KEPT_MILLISECONDS
}

/// Every content that an operation of any workspace needs.
pub(super) fn needed_everywhere(home: &Path, now: Timestamp, texts: Texts) -> Result<HashSet<BlobId>, Failure> {
    let mut needed = HashSet::new();
    for state in states(&home.join("workspaces"))? {
        recover(home, &state)?;
        add_needed(&state, now, texts, &mut needed).map_err(|problem| {
            Failure::failed(format!("nothing was removed: {}: {problem}", state.display()))
                .hint("What this workspace still needs cannot be told. `dryad verify` in it says more.")
        })?;
    }
    Ok(needed)
}

/// Why it cannot be told what a workspace needs.
#[derive(Debug, Error)]
enum Unknown {
    #[error("{0}")]
    Lock(#[from] std::io::Error),
    #[error("{0}")]
    Log(#[from] LogError),
    #[error("line {} of the log is damaged: {}", .0.line, .0.what)]
    Damage(Damage),
}

pub(super) fn states(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("cannot read {}: {error}", directory.display()));
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(failed)?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

/// A change in flight needs contents that no log tells of yet: it comes to its end first.
fn recover(home: &Path, state: &Path) -> Result<(), Failure> {
    let Some(id) = state.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    let workspace = Workspace::with_id(home, id);
    let recovered = workspace.recover();
    print_notices(&workspace);
    recovered.map_err(|error| {
        let failure = from_workspace(&error);
        Failure { message: format!("nothing was removed: {}", failure.message), ..failure }
    })
}

/// Adds what the operations of one workspace need. Its log must be sound; a torn end is no operation.
///
/// What an operation wrote over texts is kept with it, and as long as an undo of it is kept: that relies on the
/// same texts.
fn add_needed(state: &Path, now: Timestamp, texts: Texts, needed: &mut HashSet<BlobId>) -> Result<(), Unknown> {
    let _lock = Lock::acquire(&state.join("lock"))?;
    let log = FileLog::open(state)?;
    if let Some(damage) = log.verify(|_, _| {})?.first_damage.filter(|damage| damage.what != DamageKind::Torn) {
        return Err(Unknown::Damage(damage));
    }
    let mut remembered: HashSet<String> = HashSet::new();
    for (age, entry) in log.newest_first().enumerate() {
        let entry = entry?;
        let is_kept = is_kept(age, entry.head.timestamp, now);
        if is_kept || remembered.contains(entry.head.id.as_str()) {
            remembered.insert(entry.head.id.to_string());
            remembered.extend(entry.head.undoes.iter().map(OperationId::to_string));
        }
        if !is_kept {
            continue;
        }
        match log.operation(&entry)?.effect {
            OperationEffect::Files { changes } => {
                needed.extend(changes.iter().flat_map(|change| [change.before.blob(), change.after.blob()]).flatten());
            }
            OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing => {}
        }
    }
    match texts {
        // Under the lock: what a change in flight has kept is not in the log yet.
        Texts::Collected => {
            let is_remembered = |name: &str| remembered.contains(name);
            KeptTexts::new(state.join("texts")).collect(&is_remembered)?;
            Bearings::new(state.join("bearings")).collect(&is_remembered)?;
        }
        Texts::Stay => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_effects::fingerprint::blob_id;
    use dryad_effects::record_file::{RecordFile, make_private_directory};
    use dryad_protocol::change_set::{Change, ChangeSet};
    use dryad_protocol::image::{FileImage, Image};
    use dryad_protocol::operation::{Operation, OperationHead, Outcome};
    use dryad_protocol::path::FilePath;
    use dryad_safety::oplog;

    fn blob(number: usize) -> BlobId {
        blob_id(&number.to_le_bytes())
    }

    fn operation(number: usize, timestamp: Timestamp) -> Operation {
        let after = Image::File(FileImage { blob: blob(number), size: 8, mode: 0o644, modified: None });
        let change = Change { path: FilePath::new("/x"), before: Image::Absent, after };
        let head = OperationHead {
            id: oplog::new_id(),
            timestamp,
            session_id: None,
            message_id: None,
            call_id: None,
            tool_name: "write".to_owned(),
            label: String::new(),
            permission: "default".to_owned(),
            outcome: Outcome::Applied,
            undoes: Vec::new(),
            audit: None,
        };
        Operation { head, effect: OperationEffect::Files { changes: ChangeSet::new([change]) } }
    }

    #[test]
    fn the_newest_operations_and_the_young_ones_keep_what_they_need() {
        let state = tempfile::tempdir().unwrap();
        let log = FileLog::open(state.path()).unwrap();
        let now = Timestamp::from_millis(KEPT_MILLISECONDS * 2);
        let old = Timestamp::from_millis(KEPT_MILLISECONDS - 1);
        let young = Timestamp::from_millis(KEPT_MILLISECONDS);
        for (number, timestamp) in [(0, old), (1, young), (2, old)] {
            log.append(&operation(number, timestamp)).unwrap();
        }
        for number in 3..3 + KEPT_OPERATIONS {
            log.append(&operation(number, old)).unwrap();
        }
        let mut needed = HashSet::new();
        add_needed(state.path(), now, Texts::Stay, &mut needed).unwrap();
        let kept: Vec<usize> = (0..3 + KEPT_OPERATIONS).filter(|number| needed.contains(&blob(*number))).collect();
        let expected: Vec<usize> = [1].into_iter().chain(3..3 + KEPT_OPERATIONS).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn texts_go_with_the_last_operation_that_relies_on_them() {
        let state = tempfile::tempdir().unwrap();
        let log = FileLog::open(state.path()).unwrap();
        let now = Timestamp::from_millis(KEPT_MILLISECONDS * 2);
        let (old, young) = (Timestamp::from_millis(0), Timestamp::from_millis(KEPT_MILLISECONDS));
        let [gone, undone, mut undo] =
            [(0, old), (1, old), (2, young)].map(|(number, timestamp)| operation(number, timestamp));
        undo.head.undoes.push(undone.head.id.clone());
        [&gone, &undone, &undo].into_iter().for_each(|operation| log.append(operation).unwrap());
        for number in 3..3 + KEPT_OPERATIONS {
            log.append(&operation(number, old)).unwrap();
        }
        let texts = state.path().join("texts");
        make_private_directory(&texts).unwrap();
        for operation in [&gone, &undone, &undo] {
            RecordFile::new(texts.join(operation.head.id.as_str())).append(b"a pack").unwrap();
        }
        let names = || -> HashSet<String> {
            let entries = std::fs::read_dir(&texts).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        add_needed(state.path(), now, Texts::Stay, &mut HashSet::new()).unwrap();
        assert_eq!(names().len(), 3);
        add_needed(state.path(), now, Texts::Collected, &mut HashSet::new()).unwrap();
        assert_eq!(names(), HashSet::from([undone.head.id.to_string(), undo.head.id.to_string()]));
    }
}
