//! The newest files of all that were found, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::SystemTime;

/// Keeps the newest files; of equally old ones, those whose paths come first.
pub(super) struct Newest {
    limit: usize,
    /// The one to be dropped next is on top.
    kept: BinaryHeap<(Reverse<SystemTime>, PathBuf)>,
    dropped: bool,
}

impl Newest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new(), dropped: false }
    }

    pub(super) fn insert(&mut self, modified: SystemTime, path: PathBuf) {
        let file = (Reverse(modified), path);
        if self.kept.len() < self.limit {
            self.kept.push(file);
            return;
        }
        self.dropped = true;
        if let Some(mut oldest) = self.kept.peek_mut()
            && file < *oldest
        {
            *oldest = file;
        }
    }

    /// Whether there were more than are kept.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped
    }

    /// What is kept, the newest first.
    pub(super) fn sorted(&self) -> Vec<&PathBuf> {
        let mut kept: Vec<&(Reverse<SystemTime>, PathBuf)> = self.kept.iter().collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, path)| path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_newest_are_kept_and_ties_go_by_path() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut newest = Newest::new(3);
        for (seconds, path) in [(1, "old"), (5, "b"), (5, "c"), (9, "new")] {
            newest.insert(at(seconds), PathBuf::from(path));
        }
        assert!(newest.has_dropped());
        assert_eq!(newest.sorted(), [&PathBuf::from("new"), &PathBuf::from("b"), &PathBuf::from("c")]);
        newest.insert(at(5), PathBuf::from("a"));
        assert_eq!(newest.sorted(), [&PathBuf::from("new"), &PathBuf::from("a"), &PathBuf::from("b")]);
    }
}
