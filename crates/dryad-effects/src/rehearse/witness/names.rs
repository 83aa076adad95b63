//! The names of files that have several: who writes to one of them changes what stands at all.
//!
//! The roots are walked when that is first asked, once. Names that come later are noted as they come; whether one still
//! means the file is looked up when it matters.

use super::spot::Spot;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A file's device and inode.
type Identity = (u64, u64);

/// What is known of names.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Identity, HashSet<PathBuf>>,
    has_walked: bool,
}

impl Names {
    /// Notes that a path is, or is about to become, a name of this file.
    pub(super) fn note(&mut self, facts: &Metadata, path: &Path) {
        self.known.entry(identity(facts)).or_default().insert(path.to_owned());
    }

    /// The names of this file in these roots, but for what lies in `left_out`.
    pub(super) fn of(&mut self, facts: &Metadata, roots: &[PathBuf], left_out: &Path) -> Vec<Spot> {
        if !self.has_walked {
            self.has_walked = true;
            self.walk(identity(facts), roots, left_out);
        }
        let names = self.known.get(&identity(facts)).into_iter().flatten();
        let is_it = |spot: &Spot| spot.facts_behind().is_ok_and(|now| identity(&now) == identity(facts));
        names.cloned().map(Spot::plain).filter(is_it).collect()
    }

    /// Notes the names of all files that have several, and of one that may have lost others.
    fn walk(&mut self, wanted: Identity, roots: &[PathBuf], left_out: &Path) {
        let mut todo: Vec<Spot> = roots.iter().cloned().map(Spot::plain).collect();
        while let Some(place) = todo.pop() {
            for entry in place.entries().into_iter().filter(|entry| entry.path != left_out) {
                match entry.facts_behind() {
                    Ok(facts) if facts.is_dir() => todo.push(entry),
                    Ok(facts) if facts.is_file() && (facts.nlink() > 1 || identity(&facts) == wanted) => {
                        self.note(&facts, &entry.path)
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }
}

fn identity(facts: &Metadata) -> Identity {
    (facts.dev(), facts.ino())
}
