//! `dryad gc`: removes kept contents that nothing recent needs, if they take too much room.
//!
//! The vault is shared by all workspaces, so all of their logs are read first. What an operation of the
//! last 30 days, or one of a workspace's last 500, found or left is kept in any case. A log that cannot be
//! read means that nothing is removed: what it needs is not known.

use super::changes::{from_workspace, print_notices};
use crate::args::WayArguments;
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use crate::wiring::Workshop;
use dryad_effects::lock::Lock;
use dryad_effects::record_file::RecordFile;
use dryad_effects::texts::Texts;
use dryad_effects::vault::{Collection, Vault};
use dryad_protocol::image::BlobId;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::time::Timestamp;
use dryad_safety::clock::Clock;
use dryad_safety::oplog::{Damage, DamageKind, FileLog, LogError};
use dryad_safety::workspace::Workspace;
use serde_json::json;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Operations younger than this keep what they need.
const KEPT_MILLISECONDS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Between two collections that nobody asked for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// So many of the newest operations of a workspace keep what they need, however old they are.
const KEPT_OPERATIONS: usize = 500;

/// Collects, or tells what a collection would do.
///
/// # Errors
///
/// When a log cannot be read, an interrupted change cannot be recovered, or the vault refuses.
pub(super) fn run(arguments: &WayArguments) -> Result<Exit, Failure> {
    let workshop = Workshop::open(&options::workdir(None)?)?;
    let quota = workshop.settings.vault.quota_bytes;
    let collection = collect(workshop.home.root(), quota, arguments.dry_run)?;
    print(&collection, quota, arguments)?;
    Ok(Exit::Done)
}

/// Collects once a day, after a run: the vault keeps to its quota without anybody thinking of it.
pub(super) fn collect_daily(workshop: &Workshop) {
    let home = workshop.home.root();
    let vault = home.join("vault");
    let note = RecordFile::new(vault.join("collections"));
    let is_recent = |at: SystemTime| at.elapsed().is_ok_and(|age| age < DAY);
    let collected = std::fs::metadata(note.path()).and_then(|metadata| metadata.modified());
    if !vault.is_dir() || collected.is_ok_and(is_recent) {
        return;
    }
    // What goes wrong goes wrong again, and is told, when somebody collects by hand.
    if let Ok(collection) = collect(home, workshop.settings.vault.quota_bytes, false) {
        let line = format!("{} removed {}\n", Clock::System.now().as_millis(), collection.removed.len());
        note.append(line.as_bytes()).ok();
    }
}

fn collect(home: &Path, quota: u64, dry_run: bool) -> Result<Collection, Failure> {
    let now = Clock::System.now();
    let needed = needed_everywhere(home, now)?;
    if !dry_run {
        collect_texts(home, &needed)?;
    }
    let place = home.join("vault");
    let vault = Vault::open(&place).map_err(|error| Failure::failed(format!("{}: {error}", place.display())))?;
    let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(0));
    vault
        .collect_arrived_before(since, &|id| needed.contains(id), quota, dry_run)
        .map_err(|error| Failure::failed(error.to_string()))
}

/// Every content that an operation of any workspace needs.
fn needed_everywhere(home: &Path, now: Timestamp) -> Result<HashSet<BlobId>, Failure> {
    let mut needed = HashSet::new();
    for state in states(&home.join("workspaces"))? {
        recover(home, &state)?;
        add_needed(&state, now, &mut needed).map_err(|problem| {
            Failure::failed(format!("nothing was removed: {}: {problem}", state.display()))
                .hint("What this workspace still needs cannot be told. `dryad verify` in it says more.")
        })?;
    }
    Ok(needed)
}

/// Removes what was written over texts by operations that are not kept.
fn collect_texts(home: &Path, needed: &HashSet<BlobId>) -> Result<(), Failure> {
    let names: HashSet<String> = needed.iter().map(BlobId::to_string).collect();
    for state in states(&home.join("workspaces"))? {
        let texts = Texts::new(state.join("texts"));
        texts
            .collect(&|name| names.contains(name))
            .map_err(|error| Failure::failed(format!("cannot tidy {}: {error}", state.display())))?;
    }
    Ok(())
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

fn states(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
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
fn add_needed(state: &Path, now: Timestamp, needed: &mut HashSet<BlobId>) -> Result<(), Unknown> {
    let _lock = Lock::acquire(&state.join("lock"))?;
    let log = FileLog::open(state)?;
    if let Some(damage) = log.verify(|_, _| {})?.first_damage.filter(|damage| damage.what != DamageKind::Torn) {
        return Err(Unknown::Damage(damage));
    }
    for (age, entry) in log.newest_first().enumerate() {
        let entry = entry?;
        if age >= KEPT_OPERATIONS && now.since(entry.head.timestamp) > KEPT_MILLISECONDS {
            continue;
        }
        match log.operation(&entry)?.effect {
            OperationEffect::Files { changes } => {
                needed.extend(changes.iter().flat_map(|change| [change.before.blob(), change.after.blob()]).flatten());
            }
            OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing => {}
        }
    }
    Ok(())
}

fn print(collection: &Collection, quota: u64, arguments: &WayArguments) -> Result<(), Failure> {
    let removed_bytes: u64 = collection.removed.iter().map(|(_, bytes)| bytes).sum();
    if arguments.json {
        let removed = collection.removed.iter().map(|(blob, bytes)| json!({"blob": blob, "bytes": bytes}));
        return output::print_json(&json!({
            "dryRun": arguments.dry_run,
            "removed": removed.collect::<Vec<_>>(),
            "removedBytes": removed_bytes,
            "keptBytes": collection.kept_bytes,
            "quotaBytes": quota,
            "overQuota": collection.over_quota,
            "swept": collection.swept,
        }));
    }
    let verb = if arguments.dry_run { "would remove" } else { "removed" };
    let mut text = format!("{verb} {} contents, {removed_bytes} bytes", collection.removed.len());
    if collection.swept > 0 {
        write!(text, ", and {} unfinished files", collection.swept).ok();
    }
    writeln!(text, "\nkept {} bytes of at most {quota}", collection.kept_bytes).ok();
    if collection.over_quota {
        writeln!(
            text,
            "the rest is needed by operations of the last 30 days, or by the last {KEPT_OPERATIONS} of a workspace"
        )
        .ok();
    }
    output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_effects::fingerprint::blob_id;
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
        add_needed(state.path(), now, &mut needed).unwrap();
        let kept: Vec<usize> = (0..3 + KEPT_OPERATIONS).filter(|number| needed.contains(&blob(*number))).collect();
        let expected: Vec<usize> = [1].into_iter().chain(3..3 + KEPT_OPERATIONS).collect();
        assert_eq!(kept, expected);
    }
}
