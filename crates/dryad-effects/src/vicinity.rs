//! Neighbours: files that are looked up in the directory that the one before them was found in.
//!
//! A change of ten thousand files names them in order, so that most lie beside the one before. The kernel walks the whole
//! path of each anew, and that is a good part of what a look or a rename takes. Here a directory is opened once its second
//! file is asked for, and those that follow are found by their names alone.
//!
//! What is found is what the path led to when its directory was opened. Where that matters, a vicinity is made anew for
//! every part of the work: who moves directories about between a change and its proof is noticed by the proof.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The directory that something was looked up in last.
#[derive(Debug, Default)]
pub(crate) struct Vicinity {
    directory: PathBuf,
    opened: Option<OwnedFd>,
}

impl Vicinity {
    /// Where a path is looked up, and by which name: the whole path, unless its directory is open.
    pub(crate) fn find<'v>(&'v mut self, path: &'v Path) -> (BorrowedFd<'v>, &'v Path) {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return (CWD, path) };
        if directory.as_os_str() != self.directory.as_os_str() {
            *self = Self { directory: directory.to_owned(), opened: None };
            return (CWD, path);
        }
        if self.opened.is_none() {
            self.opened =
                openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
        }
        self.opened.as_ref().map_or((CWD, path), |opened| (opened.as_fd(), Path::new(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{AtFlags, statat};
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_file_is_found_whichever_way_it_is_looked_up() {
        let root = tempfile::tempdir().unwrap();
        let mut vicinity = Vicinity::default();
        let mut short = 0;
        for (directory, name) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("a", "1"), ("a", "4"), ("b", "2")] {
            let path = root.path().join(directory).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let (at, name) = vicinity.find(&path);
            short += usize::from(name.parent() == Some(Path::new("")));
            let found = statat(at, name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            assert_eq!(found.st_ino, fs::metadata(&path).unwrap().ino());
        }
        assert_eq!(short, 3, "the second and the third of one directory, and the second of another turn");
    }

    #[test]
    fn what_has_no_directory_is_looked_up_as_it_is() {
        let mut vicinity = Vicinity::default();
        for path in ["/", "/", "/no/such/file", "/no/such/file"] {
            let (_, name) = vicinity.find(Path::new(path));
            assert_eq!(name, Path::new(path));
        }
    }
}
