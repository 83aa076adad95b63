//! What a tree holds, so that two of them can be compared to the byte.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Path → kind and bits, modification time of files, bytes or target. Marks of the workspace itself are left out.
pub(crate) type Print = BTreeMap<PathBuf, (u32, i64, Vec<u8>)>;

pub(crate) fn print_of(root: &Path) -> Print {
    let mut print = Print::new();
    add(root, root, &mut print);
    print
}

fn add(root: &Path, path: &Path, print: &mut Print) {
    let name = path.strip_prefix(root).unwrap().to_owned();
    if name == Path::new(".dryad") {
        return;
    }
    let facts = fs::symlink_metadata(path).unwrap();
    let kind = facts.file_type();
    let (time, bytes) = if kind.is_symlink() {
        (0, fs::read_link(path).unwrap().into_os_string().into_encoded_bytes())
    } else if kind.is_fifo() || kind.is_socket() {
        (0, Vec::new())
    } else if kind.is_dir() {
        opened(path, &facts, || {
            fs::read_dir(path).unwrap().for_each(|entry| add(root, &entry.unwrap().path(), print));
        });
        (0, Vec::new())
    } else {
        (facts.mtime_nsec() + facts.mtime() * 1_000_000_000, opened(path, &facts, || fs::read(path).unwrap()))
    };
    let mode = if kind.is_symlink() { facts.mode() & !0o7777 } else { facts.mode() };
    print.insert(name, (mode, time, bytes));
}

/// Looks at something that its owner may have closed to himself.
fn opened<T>(path: &Path, facts: &Metadata, look: impl FnOnce() -> T) -> T {
    let needed = if facts.is_dir() { 0o500 } else { 0o400 };
    let is_closed = facts.mode() & needed != needed;
    if is_closed {
        fs::set_permissions(path, Permissions::from_mode(facts.mode() | needed)).unwrap();
    }
    let seen = look();
    if is_closed {
        fs::set_permissions(path, facts.permissions()).unwrap();
    }
    seen
}
