//! Looks the tree up ahead of the command, as long as it runs.
//!
//! What is looked up through a layer for the first time takes the kernel two lookups and a new inode; a command that walks
//! a large tree spends half of its time on that. The helper has nothing to do but to wait for the command's end, so it
//! walks the working directory meanwhile, on another processor and only while that is idle, and the command finds most of it
//! known. Only names and attributes are asked for, through the command's own layers; no file is opened, no link
//! followed, nothing changed. A command that is over soon never meets it.

use super::calls::run_idly;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A command that is over by then needs no help.
const SOON: Duration = Duration::from_millis(10);

/// So many entries are looked up at most: each takes a kilobyte of the kernel's memory.
const MOST: usize = 100_000;

/// Walks what `inside`, the first process of the namespaces, sees at `root`, until it ends.
pub(super) fn while_running(inside: Pid, root: &Path) {
    let Ok(process) = pidfd_open(inside, PidfdFlags::empty()) else { return };
    let is_over = |after: Duration| {
        let after = Timespec { tv_sec: 0, tv_nsec: after.subsec_nanos().into() };
        // Who cannot tell whether it runs had better stop.
        !matches!(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&after)), Ok(0))
    };
    if thread::available_parallelism().is_ok_and(|count| count.get() > 1) && !is_over(SOON) {
        run_idly();
        let seen = PathBuf::from(format!("/proc/{}/root", inside.as_raw_nonzero()));
        let root = seen.join(root.strip_prefix("/").unwrap_or(root));
        walk(root, MOST, || is_over(Duration::ZERO));
    }
}

/// Looks up everything below a directory, in the order in which commands come by, until enough was or it is over; how
/// much that was.
fn walk(root: PathBuf, most: usize, is_over: impl Fn() -> bool) -> usize {
    let (mut waiting, mut count) = (vec![root], 0);
    while let Some(directory) = waiting.pop().filter(|_| count < most && !is_over()) {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        let entries: Vec<DirEntry> = entries.take(most - count).collect();
        count += entries.len();
        let is_directory = |entry: &&DirEntry| entry.metadata().is_ok_and(|metadata| metadata.is_dir());
        let directories: Vec<PathBuf> = entries.iter().filter(is_directory).map(DirEntry::path).collect();
        waiting.extend(directories.into_iter().rev());
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Three directories with ten files each, and a link out of them to many more.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for directory in ["a", "b", "b/c"] {
            fs::create_dir(root.path().join(directory)).unwrap();
            (0..10).for_each(|file| fs::write(root.path().join(directory).join(file.to_string()), "").unwrap());
        }
        std::os::unix::fs::symlink("/", root.path().join("a/link")).unwrap();
        root
    }

    #[test]
    fn all_of_a_tree_is_looked_up_and_nothing_behind_a_link() {
        assert_eq!(walk(tree().path().to_owned(), MOST, || false), 3 + 3 * 10 + 1);
        assert_eq!(walk("/no/such/place".into(), MOST, || false), 0);
    }

    #[test]
    fn it_ends_when_enough_was_looked_up_or_nobody_is_there_any_more() {
        let tree = tree();
        assert_eq!(walk(tree.path().to_owned(), 17, || false), 17);
        let asked = Cell::new(0);
        let count = walk(tree.path().to_owned(), MOST, || asked.replace(asked.get() + 1) == 2);
        assert!((1..34).contains(&count), "{count}");
    }
}
