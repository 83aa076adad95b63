//! Makes everything that lies ready durable, before anything is moved.
//!
//! A small change lies whole in the journal: one sync of the journal is enough. A large one is synced
//! with its file systems. A power cut then loses at most the last moments, never half a change.

use super::unit::Unit;
use crate::disk;
use crate::journal::Intent;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

pub(super) fn barrier(intent: &Intent, units: &[Unit], journal: &File) -> io::Result<()> {
    let is_inline = !units.iter().any(|unit| unit.brings()) || !intent.meta.contents.is_empty();
    if !is_inline {
        let mut synced = HashSet::new();
        for parent in units.iter().filter_map(|unit| unit.path().parent()) {
            let directory = File::open(parent)?;
            if synced.insert(directory.metadata()?.dev()) {
                disk::sync_file_system(&directory)?;
            }
        }
        if synced.contains(&journal.metadata()?.dev()) {
            return Ok(());
        }
    }
    disk::sync(journal)
}
