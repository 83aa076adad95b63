//! `dryad gc`: removes kept contents that nothing recent needs, if they take too much room, pictures that no
//! session names any more, and the journals of interrupted changes of which nothing more can come.
//!
//! The vault is shared by all workspaces, so all of their logs are read first. What an operation of the
//! last 30 days, or one of a workspace's last 500, found or left is kept in any case. A log that cannot be
//! read means that nothing is removed: what it needs is not known.

mod journals;
mod needs;

pub(super) use needs::is_kept;

use super::kept::Sessions;
use crate::args::WayArguments;
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use crate::wiring::Workshop;
use dryad_effects::aside::GivenUp;
use dryad_effects::record_file::RecordFile;
use dryad_effects::vault::{Collection, Vault};
use dryad_safety::clock::Clock;
use dryad_session::blobs::{self, Collected};
use needs::{KEPT_OPERATIONS, Texts, needed_everywhere};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Between two collections that nobody asked for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Collects, or tells what a collection would do.
///
/// # Errors
///
/// When a log cannot be read, an interrupted change cannot be recovered, or the vault refuses.
pub(super) fn run(arguments: &WayArguments) -> Result<Exit, Failure> {
    let workdir = options::workdir(None)?;
    let workshop = Workshop::open(&workdir)?;
    let quota = workshop.settings.vault.quota_bytes;
    let collection = collect(workshop.home.root(), quota, arguments.dry_run)?;
    let sessions = Sessions::new(&workshop.home, &workshop.settings, None, &workdir);
    let pictures = collect_pictures(&sessions, arguments.dry_run)?;
    let journals = journals::forget(workshop.home.root(), arguments.dry_run)?;
    print(&Removed { collection, pictures, journals }, quota, arguments)?;
    Ok(Exit::Done)
}

/// Removes pictures that no session names, or tells which ones it would.
fn collect_pictures(sessions: &Sessions, dry_run: bool) -> Result<Collected, Failure> {
    let way = if dry_run { blobs::Way::DryRun } else { blobs::Way::Remove };
    blobs::collect(&sessions.places, Clock::System.now(), way).map_err(|error| {
        Failure::failed(format!("no picture was removed: {error}"))
            .hint("Which pictures are still needed cannot be told without it: make it readable, or move it away.")
    })
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
    let needed = needed_everywhere(home, now, if dry_run { Texts::Stay } else { Texts::Collected })?;
    let place = home.join("vault");
    let vault = Vault::open(&place).map_err(|error| Failure::failed(format!("{}: {error}", place.display())))?;
    let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(0));
    vault
        .collect_arrived_before(since, &|id| needed.contains(id), quota, dry_run)
        .map_err(|error| Failure::failed(error.to_string()))
}

/// What went, or would go.
struct Removed {
    collection: Collection,
    pictures: Collected,
    journals: Vec<GivenUp>,
}

fn print(removed: &Removed, quota: u64, arguments: &WayArguments) -> Result<(), Failure> {
    let Removed { collection, pictures, journals } = removed;
    let removed_bytes = bytes_of(&collection.removed);
    if arguments.json {
        return output::print_json(&json!({
            "dryRun": arguments.dry_run,
            "removed": named(&collection.removed),
            "removedBytes": removed_bytes,
            "keptBytes": collection.kept_bytes,
            "quotaBytes": quota,
            "overQuota": collection.over_quota,
            "swept": collection.swept,
            "pictures": {
                "removed": named(&pictures.removed),
                "removedBytes": bytes_of(&pictures.removed),
                "keptBytes": pictures.kept_bytes,
            },
            "interrupted": journals::as_json(journals),
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
    writeln!(
        text,
        "{verb} {} pictures that no session names, {} bytes; kept {} bytes",
        pictures.removed.len(),
        bytes_of(&pictures.removed),
        pictures.kept_bytes
    )
    .ok();
    text.push_str(&journals::told(journals, verb));
    output::print(&text)
}

fn bytes_of<T>(removed: &[(T, u64)]) -> u64 {
    removed.iter().map(|(_, bytes)| bytes).sum()
}

fn named(removed: &[(impl Serialize, u64)]) -> Vec<Value> {
    removed.iter().map(|(blob, bytes)| json!({"blob": blob, "bytes": bytes})).collect()
}
