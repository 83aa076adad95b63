//! Sees every change a command is about to make and saves what stands there first.
//!
//! The kernel asks before each system call that changes a file, a directory or a name; the answer is always that it
//! may go on, once the before-image is safe. What only loses a name is kept under a second one, which costs nothing;
//! what loses its bytes is copied. Owner, group and attributes are read. Only the first change of a path counts. What has
//! several names is changed under all of them.
//!
//! Limitations: paths are read twice, by us and then by the kernel, so a program that wants to cheat can. Programs
//! for another kind of machine are refused, because their calls have other numbers. What cannot be looked at is not
//! noted: the kernel refuses the same to the command.

mod calls;
mod names;
mod spot;
mod store;

pub(super) use calls::{FCHMODAT2, REMOVEXATTRAT, SETXATTRAT};

use super::kept::{Before, Saved};
use super::list::List;
use super::message::Written;
use super::notify::ledger::Ledger;
use super::notify::{Judge, Verdict};
use crate::bearing::Bearing;
use dryad_protocol::path::FilePath;
use names::Names;
use spot::Spot;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use store::Store;

/// Writes outside the roots that are told.
const MOST_OUTSIDE: usize = 1000;

/// Places where nothing lasts.
const FLEETING: [&str; 2] = ["/dev", "/proc"];

/// What has been seen and saved.
#[derive(Debug)]
pub(super) struct Witness {
    roots: Vec<PathBuf>,
    store: Store,
    kept: HashMap<PathBuf, Stood>,
    names: Names,
    /// What may have been written elsewhere, and how it was before.
    outside: Vec<(Written, Option<Appearance>)>,
    ledger: Ledger,
    list: List,
}

/// What stood at a path, and what it bore.
#[derive(Debug)]
struct Stood {
    before: Before,
    bearing: Option<Bearing>,
}

impl Witness {
    /// Saves what stands in these roots into this directory, copies up to so many bytes.
    pub(super) fn new(roots: Vec<PathBuf>, store: PathBuf, room: u64) -> io::Result<Self> {
        Ok(Self {
            roots,
            list: List::begin(&store)?,
            store: Store::new(store, room),
            kept: HashMap::new(),
            names: Names::default(),
            outside: Vec::new(),
            ledger: Ledger::default(),
        })
    }

    /// What was written outside the roots; what was saved is on the list.
    pub(super) fn testify(&mut self) -> io::Result<Vec<Written>> {
        self.list.finish()?;
        // A call that was seen may have been refused.
        let is_changed = |(written, before): &(Written, Option<Appearance>)| look_at(written.path.as_path()) != *before;
        Ok(self.outside.drain(..).filter(is_changed).map(|(written, _)| written).collect())
    }

    /// Something may come where nothing stands.
    fn comes(&mut self, spot: &Spot) {
        self.comes_where(spot, spot.facts());
    }

    fn comes_where(&mut self, spot: &Spot, facts: io::Result<Metadata>) {
        let is_absent = facts.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_absent && self.concerns(&spot.path, true) {
            self.remember(&spot.path, Before::Absent, None);
        }
    }

    /// Bits, times, owner, group or attributes of what stands there may change.
    fn dressed(&mut self, spot: &Spot) {
        let Ok(facts) = spot.facts() else { return };
        if self.concerns(&spot.path, false) {
            self.dressed_as(spot, &facts);
        }
        for other in self.other_names(spot, &facts) {
            self.dressed_as(&other, &facts);
        }
    }

    fn dressed_as(&mut self, spot: &Spot, facts: &Metadata) {
        if !self.kept.contains_key(&spot.path)
            && let Ok(before) = Before::look(spot.reach(), facts, Saved::InPlace)
        {
            self.remember(&spot.path, before, spot.bearing(facts));
        }
    }

    /// Bytes of the file there may change.
    fn rewritten(&mut self, spot: &Spot) {
        let Some(mut facts) = spot.facts().ok().filter(Metadata::is_file) else { return };
        if self.store.part_from_links(&facts) {
            facts = spot.facts().unwrap_or(facts);
        }
        if self.concerns(&spot.path, false) {
            self.save(spot, &facts, |store| store.copy(spot, &facts));
        }
        let others = self.other_names(spot, &facts);
        let mut shared = None;
        for other in &others {
            self.save(other, &facts, |store| match &shared {
                Some(copy) => Ok(PathBuf::clone(copy)),
                None => store.copy(spot, &facts).inspect(|copy| shared = Some(copy.clone())),
            });
        }
        let is_inside = u64::from(self.is_granted(&spot.path));
        if self.links(&facts) > others.len() as u64 + is_inside {
            self.has_names_elsewhere(spot, &others);
        }
    }

    /// How many names a file has, but for those that it is kept under.
    fn links(&self, facts: &Metadata) -> u64 {
        facts.nlink() - u64::from(self.store.is_linked(facts))
    }

    /// The other names of a file in the roots.
    fn other_names(&mut self, spot: &Spot, facts: &Metadata) -> Vec<Spot> {
        let own = u64::from(!spot.path.as_os_str().is_empty());
        if !facts.is_file() || self.links(facts) <= own {
            return Vec::new();
        }
        let mut names = self.names.of(facts, &self.roots, self.store.directory());
        names.retain(|name| name.path != spot.path && self.is_granted(&name.path));
        names
    }

    /// Notes of a file that is written to that it has names which cannot be brought back.
    fn has_names_elsewhere(&mut self, spot: &Spot, others: &[Spot]) {
        for path in others.iter().chain([spot]).map(|spot| &spot.path) {
            if let Some(stood) = self.kept.get_mut(path)
                && let Before::File { elsewhere, .. } = &mut stood.before
                && !*elsewhere
            {
                *elsewhere = true;
                self.list.add(path, &stood.before, stood.bearing.as_ref());
            }
        }
    }

    /// The name there may go, with everything below it.
    fn goes(&mut self, spot: &Spot) {
        if let Ok(facts) = spot.facts() {
            self.goes_with(spot, &facts);
        }
    }

    fn goes_with(&mut self, spot: &Spot, facts: &Metadata) {
        if !self.concerns(&spot.path, false) {
            return;
        }
        self.save(spot, facts, |store| store.link(spot, facts));
        if facts.is_dir() {
            for entry in spot.entries() {
                // What lies below goes along, even where the one who moves it cannot look.
                if let Ok(facts) = entry.facts_behind() {
                    self.goes_with(&entry, &facts);
                }
            }
        }
    }

    /// What lies at `from` may come to lie at `to`.
    fn moves(&mut self, from: &Spot, to: &Spot) {
        self.goes(to);
        self.comes(to);
        self.goes(from);
        let mut todo = vec![(from.clone(), to.clone())];
        while let Some((spot, comer)) = todo.pop() {
            let Ok(facts) = spot.facts_behind() else { continue };
            if facts.is_file() && self.links(&facts) > 1 {
                self.names.note(&facts, &comer.path);
            }
            if !facts.is_dir() {
                continue;
            }
            for entry in spot.entries() {
                let Ok(rest) = entry.path.strip_prefix(&from.path) else { continue };
                let comer = to.below(rest);
                self.comes_where(&comer, comer.facts_behind());
                todo.push((entry, comer));
            }
        }
    }

    /// What stands at `from` may get another name.
    fn gets_name(&mut self, from: &Spot, to: &Spot) {
        if let Ok(facts) = from.facts() {
            self.names.note(&facts, &from.path);
            self.names.note(&facts, &to.path);
        }
        self.comes(to);
    }

    /// Notes what stands at a path, and a file's content in the way `keep` says, unless that is saved already.
    fn save(&mut self, spot: &Spot, facts: &Metadata, keep: impl FnOnce(&mut Store) -> io::Result<PathBuf>) {
        let is_bare = |stood: &Stood| matches!(stood.before, Before::File { content: Saved::InPlace, .. });
        if self.kept.get(&spot.path).is_some_and(|stood| !is_bare(stood)) {
            return;
        }
        // What keeps it has to be readable, and may be another's then.
        let bearing = if self.kept.contains_key(&spot.path) { None } else { spot.bearing(facts) };
        let saved = match facts.is_file() {
            true => keep(&mut self.store).map_or(Saved::Lost, |slot| Saved::At(FilePath::new(slot))),
            false => Saved::InPlace,
        };
        if let Some(stood) = self.kept.get_mut(&spot.path) {
            if let Before::File { content, .. } = &mut stood.before {
                *content = saved;
            }
            self.list.add(&spot.path, &stood.before, stood.bearing.as_ref());
        } else if let Ok(before) = Before::look(spot.reach(), facts, saved) {
            self.remember(&spot.path, before, bearing);
        }
    }

    fn remember(&mut self, path: &Path, before: Before, bearing: Option<Bearing>) {
        if !self.kept.contains_key(path) {
            self.list.add(path, &before, bearing.as_ref());
            self.kept.insert(path.to_owned(), Stood { before, bearing });
        }
    }

    /// Whether what is changed at a path can be brought back.
    fn is_granted(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root)) && !path.starts_with(self.store.directory())
    }

    /// Whether a path lies in a root. What is written elsewhere is noted.
    fn concerns(&mut self, path: &Path, created: bool) -> bool {
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return self.is_granted(path);
        }
        if path.as_os_str().is_empty() {
            return false;
        }
        let is_known = self.outside.iter().any(|(written, _)| written.path.as_path() == path);
        if !is_known && self.outside.len() < MOST_OUTSIDE && !FLEETING.iter().any(|place| path.starts_with(place)) {
            self.outside.push((Written { path: FilePath::new(path), created }, look_at(path)));
        }
        false
    }
}

/// What tells that something outside was changed.
type Appearance = ([u64; 3], [i64; 4]);

fn look_at(path: &Path) -> Option<Appearance> {
    let facts = fs::symlink_metadata(path).ok()?;
    let which = [facts.dev(), facts.ino(), facts.len()];
    Some((which, [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()]))
}

impl Judge for Witness {
    fn judge(&mut self, call: &libc::seccomp_notif) -> Verdict {
        if libc::c_long::from(call.data.nr) == libc::SYS_connect {
            self.ledger.note(call.pid, call.data.args[1], call.data.args[2]);
        } else {
            self.see(call);
        }
        Verdict::GoOn
    }

    fn ledger(&mut self) -> Ledger {
        std::mem::take(&mut self.ledger)
    }
}
