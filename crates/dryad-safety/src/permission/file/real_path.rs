//! Where a path really is, whether or not it exists.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Most links followed; the same number as the kernel's.
const MAX_LINKS: usize = 40;

/// The path with every link resolved that is there, also in its last part; the rest is kept as it is.
pub(in crate::permission) fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut rest = parts(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(&part);
        let is_link = match real.symlink_metadata() {
            Ok(metadata) => metadata.is_symlink(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => false,
            Err(error) => return Err(error),
        };
        if !is_link {
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many links"));
        }
        let target = real.read_link()?;
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            rest.push_front(part);
        }
    }
    Ok(real)
}

/// The path with the links of its directory resolved, its own name kept.
pub(in crate::permission) fn resolve_directory(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.components().next_back()) {
        (Some(directory), Some(Component::Normal(name))) => Ok(resolve(directory)?.join(name)),
        _ => resolve(path),
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_in_the_middle_at_the_end_and_into_nothing() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("real/deep", root.join("link")).unwrap();
        symlink("../gone/file", root.join("real/dangling")).unwrap();
        assert_eq!(resolve(&root.join("link/new/file")).unwrap(), root.join("real/deep/new/file"));
        assert_eq!(resolve(&root.join("link/../x")).unwrap(), root.join("real/x"));
        assert_eq!(resolve(&root.join("real/dangling")).unwrap(), root.join("gone/file"));
        assert_eq!(resolve_directory(&root.join("link")).unwrap(), root.join("link"));
    }

    #[test]
    fn a_circle_of_links_leads_nowhere() {
        let place = tempfile::tempdir().unwrap();
        symlink("b", place.path().join("a")).unwrap();
        symlink("a", place.path().join("b")).unwrap();
        assert!(resolve(&place.path().join("a/x")).is_err());
    }
}
