//! Sees every change a command is about to make and saves what stands there first.
//!
//! The kernel asks before each system call that changes a file, a directory or a name; the answer is always that it
//! may go on, once the before-image is safe. What only loses a name is kept under a second one, which costs nothing;
//! what loses its bytes is copied. Only the first change of a path counts.
//!
//! Limitations: paths are read twice, by us and then by the kernel, so a program that wants to cheat can. Programs
//! for another kind of machine are refused, because their calls have other numbers.

mod calls;

pub(super) use calls::FCHMODAT2;

use super::kept::{Before, Saved};
use super::list::List;
use super::message::Written;
use super::notify::ledger::Ledger;
use super::notify::{Judge, Verdict};
use crate::bearing;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Writes outside the roots that are told.
const MOST_OUTSIDE: usize = 1000;

/// Places where nothing lasts.
const FLEETING: [&str; 2] = ["/dev", "/proc"];

/// What has been seen and saved.
#[derive(Debug)]
pub(super) struct Witness {
    roots: Vec<PathBuf>,
    store: PathBuf,
    /// Bytes that copies may still take.
    room: u64,
    next: u64,
    kept: HashMap<PathBuf, Before>,
    /// Files kept under a second name only, by device and inode.
    linked: HashMap<(u64, u64), PathBuf>,
    outside: Vec<Written>,
    ledger: Ledger,
    list: List,
}

impl Witness {
    /// Saves what stands in these roots into this directory, copies up to so many bytes.
    pub(super) fn new(roots: Vec<PathBuf>, store: PathBuf, room: u64) -> io::Result<Self> {
        Ok(Self {
            roots,
            list: List::begin(&store)?,
            store,
            room,
            next: 0,
            kept: HashMap::new(),
            linked: HashMap::new(),
            outside: Vec::new(),
            ledger: Ledger::default(),
        })
    }

    /// What was written outside the roots; what was saved is on the list.
    pub(super) fn testify(&mut self) -> io::Result<Vec<Written>> {
        self.list.finish()?;
        Ok(std::mem::take(&mut self.outside))
    }

    /// Something may come where nothing stands.
    fn comes(&mut self, path: &Path) {
        if fs::symlink_metadata(path).is_err() && self.concerns(path, true) {
            self.remember(path, Before::Absent);
        }
    }

    /// Bits or times of what stands there may change.
    fn dressed(&mut self, path: &Path) {
        let Ok(facts) = fs::symlink_metadata(path) else { return };
        if self.concerns(path, false)
            && !self.kept.contains_key(path)
            && let Ok(before) = Before::look(path, &facts, Saved::InPlace)
        {
            self.remember(path, before);
        }
    }

    /// Bytes of the file there may change.
    fn rewritten(&mut self, path: &Path) {
        let Ok(facts) = fs::symlink_metadata(path) else { return };
        if !facts.is_file() {
            return;
        }
        self.part_from_links(&facts);
        if self.concerns(path, false) {
            self.save(path, &facts, |witness| witness.copy(path, facts.len()));
        }
    }

    /// The name there may go, with everything below it.
    fn goes(&mut self, path: &Path) {
        let Ok(facts) = fs::symlink_metadata(path) else { return };
        if !self.concerns(path, false) {
            return;
        }
        self.save(path, &facts, |witness| witness.link(path, &facts));
        if facts.is_dir() {
            for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
                self.goes(&entry.path());
            }
        }
    }

    /// What lies at `from` may come to lie at `to`.
    fn moves(&mut self, from: &Path, to: &Path) {
        self.goes(to);
        self.comes(to);
        self.goes(from);
        let mut todo = vec![from.to_owned()];
        while let Some(path) = todo.pop() {
            if !fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir()) {
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok) {
                let below = entry.path();
                if let Ok(rest) = below.strip_prefix(from) {
                    self.comes(&to.join(rest));
                }
                todo.push(below);
            }
        }
    }

    /// Notes what stands at a path, and a file's content in the way `keep` says, unless that is saved already.
    fn save(&mut self, path: &Path, facts: &Metadata, keep: impl FnOnce(&mut Self) -> io::Result<PathBuf>) {
        let is_bare = |before: &Before| matches!(before, Before::File { content: Saved::InPlace, .. });
        if self.kept.get(path).is_some_and(|before| !is_bare(before)) {
            return;
        }
        let saved = match facts.is_file() {
            true => keep(self).map_or(Saved::Lost, |slot| Saved::At(FilePath::new(slot))),
            false => Saved::InPlace,
        };
        if let Some(before) = self.kept.get_mut(path) {
            if let Before::File { content, .. } = before {
                *content = saved;
            }
            self.list.add(path, before);
        } else if let Ok(before) = Before::look(path, facts, saved) {
            self.remember(path, before);
        }
    }

    fn remember(&mut self, path: &Path, before: Before) {
        if !self.kept.contains_key(path) {
            self.list.add(path, &before);
            self.kept.insert(path.to_owned(), before);
        }
    }

    /// Whether a path lies in a root. What is written elsewhere is noted.
    fn concerns(&mut self, path: &Path, created: bool) -> bool {
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return !path.starts_with(&self.store);
        }
        let is_known = self.outside.iter().any(|written| written.path.as_path() == path);
        if !is_known && self.outside.len() < MOST_OUTSIDE && !FLEETING.iter().any(|place| path.starts_with(place)) {
            self.outside.push(Written { path: FilePath::new(path), created });
        }
        false
    }

    fn slot(&mut self) -> PathBuf {
        self.next += 1;
        self.store.join(self.next.to_string())
    }

    fn copy(&mut self, path: &Path, size: u64) -> io::Result<PathBuf> {
        self.room = self.room.checked_sub(size).ok_or(io::ErrorKind::QuotaExceeded)?;
        let slot = self.slot();
        fs::copy(path, &slot)?;
        fs::set_permissions(&slot, Permissions::from_mode(0o600))?;
        bearing::hand_on(path, &slot);
        Ok(slot)
    }

    /// Keeps a file under a second name; where that cannot be, as a copy.
    fn link(&mut self, path: &Path, facts: &Metadata) -> io::Result<PathBuf> {
        let slot = self.slot();
        if facts.nlink() > 1 || fs::hard_link(path, &slot).is_err() {
            return self.copy(path, facts.len());
        }
        self.linked.insert((facts.dev(), facts.ino()), slot.clone());
        Ok(slot)
    }

    /// Makes a copy of what is kept under a second name, before the file itself is written to.
    fn part_from_links(&mut self, facts: &Metadata) {
        let Some(slot) = self.linked.remove(&(facts.dev(), facts.ino())) else { return };
        if let Ok(copy) = self.copy(&slot, facts.len()) {
            fs::rename(copy, slot).ok();
        } else {
            // Better nothing than something else.
            fs::remove_file(slot).ok();
        }
    }
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
