//! Journals that were set aside, and when nothing more can come of them.
//!
//! A change that could neither be finished nor taken back is tried again at every start. Once nothing of it lies in its
//! slots any more there is nothing to finish it with and nothing to put back, and its journal is only a burden.
//!
//! Invariant: a journal is given up for what is gone only if its workspace is there. A disk that is not mounted is no
//! loss; and what cannot be looked at is not gone.

use crate::apply::unit::{Step, Unit, units};
use crate::disk;
use crate::identity;
use crate::journal::{Found, Journal, Reading};
use dryad_protocol::path::FilePath;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of the journal in the state of a workspace.
const JOURNAL: &str = "journal";

/// An interrupted change of which nothing more can come.
#[derive(Clone, Debug)]
pub struct GivenUp {
    /// Its journal.
    pub journal: PathBuf,
    /// What the operation log was to say of it.
    pub record: String,
    /// What still lies beside its files, if it is only too old.
    pub left: Vec<FilePath>,
}

/// Whether a change of this state is in flight, or was left half-done.
pub fn is_in_flight(state: &Path) -> bool {
    Journal::new(state.join(JOURNAL)).is_open()
}

/// Whether a change of this state waits to be finished.
pub fn has_unfinished(state: &Path) -> bool {
    is_in_flight(state) || !Journal::new(state.join(JOURNAL)).aside().is_empty()
}

/// The interrupted changes of this state of which nothing is left, or that are older than `oldest`. The caller holds the
/// workspace's lock.
pub fn given_up(state: &Path, oldest: SystemTime) -> Vec<GivenUp> {
    let root = identity::last_seen(state);
    let id = state.file_name().unwrap_or_default().to_string_lossy();
    let is_there = root.as_deref().is_some_and(|root| identity::has_id(root, &id));
    let judge = |journal: Journal| {
        let modified = fs::metadata(journal.path()).and_then(|metadata| metadata.modified()).ok()?;
        let is_old = modified < oldest;
        let found = match journal.find().ok()?? {
            Reading::Found(found) => found.followed(root.as_deref()),
            Reading::Damaged { slots } => return unreadable(&journal, slots, is_old),
            Reading::Nothing | Reading::Newer => return None,
        };
        let is_gone = is_there && is_below(&found, root.as_deref()) && is_nothing_left(&found);
        let left = || found.intent.meta.slots.iter().filter(|slot| stands(slot.as_path())).cloned().collect();
        (is_old || is_gone).then(|| GivenUp {
            journal: journal.path().to_owned(),
            left: left(),
            record: found.intent.meta.record.clone(),
        })
    };
    Journal::new(state.join(JOURNAL)).aside().into_iter().filter_map(judge).collect()
}

/// What cannot be read is given up when it is old, or nothing of what it names is left.
fn unreadable(journal: &Journal, slots: Vec<FilePath>, is_old: bool) -> Option<GivenUp> {
    let is_named = !slots.is_empty();
    let left: Vec<FilePath> = slots.into_iter().filter(|slot| stands(slot.as_path())).collect();
    let (journal, record) = (journal.path().to_owned(), String::new());
    (is_old || (is_named && left.is_empty())).then_some(GivenUp { journal, record, left })
}

impl GivenUp {
    /// Removes the journal. What lies beside files stays there.
    pub fn forget(&self) -> io::Result<()> {
        disk::remove_file(&self.journal)
    }
}

fn is_below(found: &Found, root: Option<&Path>) -> bool {
    found.intent.changes.iter().all(|change| root.is_some_and(|root| change.path.as_path().starts_with(root)))
}

/// Whether nothing can be moved in, put back or set any more.
fn is_nothing_left(found: &Found) -> bool {
    let Ok(units) = units(&found.intent.changes, &found.intent.meta.borne) else { return false };
    let is_gone = |(unit, slot): (&Unit, &FilePath)| match unit.step {
        Step::Open | Step::Bear | Step::Close => !stands(unit.path()),
        Step::Create | Step::Replace | Step::Remove => {
            !stands(slot.as_path()) && !stands(&disk::resting_place(slot.as_path()))
        }
    };
    units.iter().zip(&found.intent.meta.slots).all(is_gone)
}

/// Whether something stands there, or may.
fn stands(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        Ok(_) => true,
    }
}
