//! The change set of many files, and what applying a few costs.

use crate::place::{Place, milliseconds, share};
use dryad_safety::oplog::users_own;
use dryad_safety::workspace::Workspace;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const FILES: usize = 10_000;

/// Rounds of a small change.
const ROUNDS: usize = 15;

pub(crate) async fn measure(place: &Place, figures: &mut Map<String, Value>) {
    let root = tree(place);
    let request = place.request("for d in d*; do sed -i 's/content/other/' $d/*; done", &root);
    let before = peak_kilobytes();
    let (elapsed, rehearsed) = place.rehearse(&request).await;
    assert_eq!(rehearsed.changes.len(), FILES);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of one command")]
    let captured = elapsed - rehearsed.outcome.duration_ms as f64;
    figures.insert("capture".to_owned(), json!(captured));
    figures.insert("capture_megabytes".to_owned(), json!((peak_kilobytes() - before) / 1024.0));
    rehearsed.discard();
    few(place, figures).await;
}

/// The files, made once: a file system without a journal is slow for minutes after many were deleted.
fn tree(place: &Place) -> PathBuf {
    let (root, ready) = (place.kept.join("many"), place.kept.join("many-ready"));
    if !ready.exists() {
        for number in 0..FILES {
            let directory = root.join(format!("d{}", number % 100));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(number.to_string()), format!("content of {number}\n").repeat(8)).unwrap();
        }
        fs::write(ready, "").unwrap();
    }
    root
}

/// Twenty files, applied with the barrier.
async fn few(place: &Place, figures: &mut Map<String, Value>) {
    let root = place.work.join("few");
    fs::create_dir_all(&root).unwrap();
    (0..20).for_each(|number| fs::write(root.join(number.to_string()), format!("{number}\n")).unwrap());
    let workspace = Workspace::with_id(&place.home, "bench");
    let (mut applied, mut by_hand) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        by_hand.push(written_by_hand(&root, round));
        let request = place.request(&format!("for f in *; do echo {round} >> $f; done"), &root);
        let (_, rehearsed) = place.rehearse(&request).await;
        let head = users_own("bench", "");
        let started = Instant::now();
        workspace.apply_rehearsed(&head, &rehearsed).unwrap();
        applied.push(milliseconds(started));
    }
    figures.insert("apply_few".to_owned(), json!(share(applied, 0.5)));
    figures.insert("apply_few_by_hand".to_owned(), json!(share(by_hand, 0.5)));
}

/// The same files written anew, made durable each and moved in place.
fn written_by_hand(root: &Path, round: usize) -> f64 {
    let started = Instant::now();
    for number in 0..20 {
        let (fresh, place) = (root.with_extension("fresh"), root.join(number.to_string()));
        fs::write(&fresh, format!("{number} in round {round}\n")).unwrap();
        fs::File::open(&fresh).unwrap().sync_all().unwrap();
        fs::rename(&fresh, &place).unwrap();
    }
    milliseconds(started)
}

/// The most memory that this process has had.
fn peak_kilobytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}
