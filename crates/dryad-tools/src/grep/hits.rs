//! Which of all matches are shown, however many threads find them in whatever order.
//!
//! All matches are thought to stand in one sequence: the first match of every file in the order of
//! their paths, then the second of every file, and so on. A page is a piece of that sequence, so a
//! file with a thousand matches does not hide the others, and pages neither overlap nor leave gaps.
//!
//! Only what may still become part of the page is kept. With `wanted` matches needed, no file beyond
//! the first `wanted` matters, and no match beyond a level that only falls as more files are found:
//! the lowest `l` at which the first `l` matches of every file make up `wanted`. What is passed over
//! on these grounds could not have been shown, so stopping early does not change the answer.

use super::file::FileHits;
use super::{Around, Page};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Takes the matches of files as they are found.
pub(super) struct Hits {
    page: Page,
    around: Around,
    files: Mutex<Files>,
    /// Matches per file that may still matter.
    level: AtomicUsize,
    /// There are as many files as can matter.
    full: AtomicBool,
}

#[derive(Default)]
struct Files {
    by_path: BTreeMap<PathBuf, FileHits>,
    held: usize,
}

/// What is to be shown.
pub(super) struct Found {
    pub(super) files: Vec<FoundFile>,
    pub(super) around: Around,
    /// The limit, when there is more.
    pub(super) limit_reached: Option<usize>,
    /// Files that could not be read.
    pub(super) unread: usize,
}

/// One file of the page: its matches `from..to`.
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) hits: FileHits,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Page {
    /// Matches needed to fill the page and to know whether there is more.
    fn wanted(self) -> usize {
        self.offset + self.limit.get() + 1
    }
}

impl Hits {
    pub(super) fn new(page: Page, around: Around) -> Self {
        let level = AtomicUsize::new(page.wanted());
        Self { page, around, files: Mutex::default(), level, full: AtomicBool::new(false) }
    }

    /// Matches of one file that may be shown at most.
    pub(super) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    /// Whether a match in this file could still be shown.
    pub(super) fn may_matter(&self, path: &Path) -> bool {
        if !self.full.load(Ordering::Relaxed) {
            return true;
        }
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.by_path.last_key_value().is_none_or(|(last, _)| path <= last.as_path())
    }

    /// Takes the matches of one file.
    pub(super) fn insert(&self, path: PathBuf, hits: FileHits) {
        if hits.count() == 0 {
            return;
        }
        let wanted = self.page.wanted();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.held += hits.count();
        if let Some(twice) = files.by_path.insert(path, hits) {
            files.held -= twice.count();
        }
        if files.by_path.len() > wanted
            && let Some((_, beyond)) = files.by_path.pop_last()
        {
            files.held -= beyond.count();
        }
        self.full.store(files.by_path.len() >= wanted, Ordering::Relaxed);
        if files.held > 4 * wanted {
            self.level.store(files.trim(wanted, self.around), Ordering::Relaxed);
        }
    }

    /// The page, once everything was searched.
    pub(super) fn finish(self, unread: usize) -> Found {
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (from, to) = (self.page.offset, self.page.offset + self.page.limit.get());
        let before_page = files.level_of(from);
        let before_end = files.level_of(to);
        let limit_reached = (files.held > to).then_some(self.page.limit.get());
        let counts = files.by_path.into_iter().enumerate();
        let found = counts.filter_map(|(position, (path, hits))| {
            let (from, to) = (before_page.of(position, hits.count()), before_end.of(position, hits.count()));
            (from < to).then_some(FoundFile { path, hits, from, to })
        });
        Found { files: found.collect(), around: self.around, limit_reached, unread }
    }
}

/// How far the first matches of the sequence reach into each file: all files up to `level`, and of
/// those that have more, the ones before `position` by one.
struct Reach {
    level: usize,
    position: usize,
}

impl Reach {
    fn of(&self, position: usize, count: usize) -> usize {
        count.min(self.level + usize::from(position < self.position))
    }
}

impl Files {
    /// Forgets what cannot be shown, and returns how many matches of a file can.
    fn trim(&mut self, wanted: usize, around: Around) -> usize {
        let level = self.level_of(wanted).level + 1;
        for hits in self.by_path.values_mut().filter(|hits| hits.count() > level) {
            hits.keep_first(level, around);
        }
        self.held = self.by_path.values().map(FileHits::count).sum();
        level
    }

    /// How far the first `count` matches of the sequence reach.
    fn level_of(&self, count: usize) -> Reach {
        let up_to = |level: usize| self.by_path.values().map(|hits| hits.count().min(level)).sum::<usize>();
        // The highest level that is wholly among the first `count`.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if up_to(middle) <= count { low = middle } else { high = middle - 1 }
        }
        let mut left = count - up_to(low);
        let mut position = 0;
        for (at, hits) in self.by_path.values().enumerate() {
            if left == 0 {
                break;
            }
            if hits.count() > low {
                left -= 1;
            }
            position = at + 1;
        }
        Reach { level: low, position }
    }
}
