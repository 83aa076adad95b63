//! How `grep` and `find` go through a tree: on all cores, past `.git`, by the same ignore rules.

use ignore::{DirEntry, WalkBuilder};
use std::path::Path;

/// Which files a walk leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkRules {
    /// Leave out what ignore files name, inside repositories and outside.
    pub(crate) ignore_files: bool,
    /// Leave out names that begin with a dot.
    pub(crate) skip_hidden: bool,
}

/// A walk below `root`, with one thread per core.
pub(crate) fn walk(root: &Path, rules: WalkRules) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(rules.ignore_files)
        .hidden(rules.skip_hidden)
        .require_git(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from))
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    builder
}

/// Whether an entry is a regular file; a FIFO or a device must not be opened.
pub(crate) fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}
