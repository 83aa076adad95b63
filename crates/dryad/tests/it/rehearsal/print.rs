//! What a tree holds, so that two of them can be compared to the byte.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Path → kind and bits, modification time of files, bytes or target. Marks of the workspace itself are left out.
pub(crate) type Print = BTreeMap<PathBuf, (u32, i64, Vec<u8>)>;

pub(crate) fn print_of(root: &Path) -> Print {
    let mut print = Print::new();
    let mut todo = vec![root.to_owned()];
    while let Some(path) = todo.pop() {
        let name = path.strip_prefix(root).unwrap().to_owned();
        if name == Path::new(".dryad") {
            continue;
        }
        let facts = std::fs::symlink_metadata(&path).unwrap();
        let (time, bytes) = if facts.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            (0, Vec::new())
        } else if facts.is_symlink() {
            (0, std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
        } else {
            (facts.mtime_nsec() + facts.mtime() * 1_000_000_000, std::fs::read(&path).unwrap())
        };
        let mode = if facts.is_symlink() { facts.mode() & !0o7777 } else { facts.mode() };
        print.insert(name, (mode, time, bytes));
    }
    print
}
