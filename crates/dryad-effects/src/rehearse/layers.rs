//! The directories that rehearsals write to: made, locked while somebody uses them, removed.
//!
//! ```text
//! <base>/1234-0.lock   held by the dryad that rehearses; the kernel lets go of it when that dies
//! <base>/1234-0/       mount/  0/upper  0/work  1/upper  …
//! ```
//!
//! The lock is there before its directory and goes after it, so that a directory nobody holds is always one that
//! nobody uses: whoever starts next sweeps it away. One with a [`NOTE`] in it holds what a command has really
//! overwritten or deleted; it is swept by nobody, and waits for somebody who [takes it over](Claim::take_over).

use crate::apart::lay_apart;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The file that says that a claim's directory must not be swept, and what its command was.
const NOTE: &str = "note.json";

/// One rehearsal's directory. Dropping it removes everything in it, unless there is a note.
#[derive(Debug)]
pub(super) struct Claim {
    directory: PathBuf,
    lock_path: PathBuf,
    base: Base,
    _lock: File,
}

/// Whose directory claims are made in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Base {
    /// The caller's, which stays.
    Given,
    /// One among everybody's temporary files, which goes with the last claim in it.
    Borrowed,
}

impl Claim {
    /// Makes a directory in `base`, which is made as well if it is not there and must belong to this user alone.
    pub(super) fn new(base: &Path, whose: Base) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            make_base(base)?;
            let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let lock_path = base.join(format!("{name}.lock"));
            let lock = match try_lock(&lock_path) {
                Ok(Some(lock)) => lock,
                Ok(None) => continue,
                // The last claim of somebody else took the base with it.
                Err(error) if whose == Base::Borrowed && error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let claim = Self { directory: base.join(name), lock_path, base: whose, _lock: lock };
            // The same number may have been given to a process that died.
            if claim.has_note() {
                continue;
            }
            remove_tree(&claim.directory)?;
            private_directory(&claim.directory)?;
            private_directory(&claim.mount_point())?;
            return Ok(claim);
        }
    }

    /// Those in `base` with a note whose dryad is gone.
    pub(super) fn take_over(base: &Path) -> Vec<Self> {
        let take = |name: String| {
            let (directory, lock_path) = (base.join(&name), base.join(format!("{name}.lock")));
            directory.join(NOTE).exists().then_some(())?;
            let lock = try_lock(&lock_path).ok()??;
            let claim = Self { directory, lock_path, base: Base::Given, _lock: lock };
            claim.has_note().then_some(claim)
        };
        names_in(base).into_iter().filter_map(take).collect()
    }

    /// Has it outlive this process, with a note on what it is.
    pub(super) fn leave_note(&self, note: &[u8]) -> io::Result<()> {
        self.put(NOTE, note)
    }

    /// The note.
    pub(super) fn note(&self) -> io::Result<Vec<u8>> {
        self.get(NOTE)
    }

    /// Puts a file into it, whole or not at all.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.directory.join(format!("{name}.new"));
        fs::write(&fresh, bytes)?;
        fs::rename(fresh, self.directory.join(name))
    }

    /// What was put into it.
    pub(super) fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join(name))
    }

    /// Whether one in `base` has a note.
    pub(super) fn any_note(base: &Path) -> bool {
        names_in(base).iter().any(|name| base.join(name).join(NOTE).exists())
    }

    /// Takes the note away: nobody needs what is in here any longer than this lives.
    pub(super) fn settle(&self) {
        fs::remove_file(self.directory.join(NOTE)).ok();
    }

    pub(super) fn has_note(&self) -> bool {
        self.directory.join(NOTE).exists()
    }

    /// An empty directory to mount things on.
    pub(super) fn mount_point(&self) -> PathBuf {
        self.directory.join("mount")
    }

    /// The directory itself.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directories of layer `index`, for a tree with these facts.
    pub(super) fn layer(&self, index: usize, tree: &Metadata) -> io::Result<PathBuf> {
        let layer = self.directory.join(index.to_string());
        private_directory(&layer)?;
        private_directory(&layer.join("work"))?;
        let upper = layer.join("upper");
        private_directory(&upper)?;
        // One's own directory cannot always be given away; whoever cannot is seen as the owner inside.
        if upper.symlink_metadata()?.uid() != tree.uid() || upper.symlink_metadata()?.gid() != tree.gid() {
            std::os::unix::fs::chown(&upper, Some(tree.uid()), Some(tree.gid())).ok();
        }
        fs::set_permissions(&upper, Permissions::from_mode(tree.mode() & 0o7777))?;
        Ok(layer)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.has_note() {
            return;
        }
        // What stays is swept by the next start.
        if remove_tree(&self.directory).is_ok() {
            fs::remove_file(&self.lock_path).ok();
        }
        if let (Base::Borrowed, Some(base)) = (self.base, self.lock_path.parent()) {
            // It stays for as long as it holds others.
            fs::remove_dir(base).ok();
        }
    }
}

/// Removes what rehearsals that died have left in `base`; returns how many there were.
pub fn sweep(base: &Path) -> usize {
    let is_swept = |name: &&String| {
        let (directory, lock_path) = (base.join(name), base.join(format!("{name}.lock")));
        let Ok(Some(lock)) = try_lock(&lock_path) else { return false };
        if directory.join(NOTE).exists() {
            return false;
        }
        let stood = directory.symlink_metadata().is_ok();
        let removed = remove_tree(&directory).and_then(|()| fs::remove_file(&lock_path)).is_ok();
        drop(lock);
        stood && removed
    };
    names_in(base).iter().filter(is_swept).count()
}

/// The names of the claims in `base`.
fn names_in(base: &Path) -> Vec<String> {
    let names = fs::read_dir(base).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name());
    let is_ours = |name: &String| name.starts_with(|first: char| first.is_ascii_digit());
    let mut claims: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(is_ours)
        .map(|name| name.trim_end_matches(".lock").to_owned())
        .collect();
    claims.sort();
    claims.dedup();
    claims
}

/// The lock, unless somebody holds it.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        // A sweep may have removed the name between the two calls.
        Ok(()) => {
            let is_named = fs::symlink_metadata(path).is_ok_and(|named| {
                file.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (named.dev(), named.ino()))
            });
            Ok(is_named.then_some(file))
        }
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn make_base(base: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    let facts = base.symlink_metadata()?;
    let is_ours = facts.is_dir() && facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o022 == 0;
    let refusal = || io::Error::new(io::ErrorKind::PermissionDenied, format!("others may write in {}", base.display()));
    is_ours.then_some(()).ok_or_else(refusal)?;
    lay_apart(base);
    Ok(())
}

/// Makes a directory anew, empty.
pub(super) fn renew(path: &Path) -> io::Result<()> {
    remove_tree(path)?;
    private_directory(path)
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Removes a directory and everything in it, whatever its permission bits say.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    let facts = match path.symlink_metadata() {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !facts.is_dir() {
        return fs::remove_file(path);
    }
    // Work directories are closed even to their owner.
    if facts.mode() & 0o700 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { remove_tree(&entry.path())? } else { fs::remove_file(entry.path())? }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_leaves_nothing_and_a_dead_one_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("rehearsals");
        let claim = Claim::new(&base, Base::Given).unwrap();
        let layer = claim.layer(0, &root.path().metadata().unwrap()).unwrap();
        fs::create_dir(layer.join("upper/closed")).unwrap();
        fs::write(layer.join("upper/closed/file"), "").unwrap();
        fs::set_permissions(layer.join("upper/closed"), Permissions::from_mode(0o000)).unwrap();
        assert_eq!(sweep(&base), 0, "it is in use");
        drop(claim);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        fs::create_dir_all(base.join("77-1/0/upper")).unwrap();
        fs::write(base.join("77-1.lock"), "").unwrap();
        fs::create_dir_all(base.join("78-1")).unwrap();
        fs::write(base.join("79-1.lock"), "").unwrap();
        assert_eq!(sweep(&base), 2);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }

    #[test]
    fn a_claim_with_a_note_is_swept_by_nobody_and_taken_over_by_one() {
        let root = tempfile::tempdir().unwrap();
        let claim = Claim::new(root.path(), Base::Given).unwrap();
        claim.leave_note(b"a note").unwrap();
        assert!(Claim::take_over(root.path()).is_empty(), "it is in use");
        fs::write(claim.mount_point().join("saved"), "").unwrap();
        drop(claim);
        assert_eq!(sweep(root.path()), 0);
        let mut found = Claim::take_over(root.path());
        let claim = found.pop().unwrap();
        assert!(found.is_empty() && Claim::take_over(root.path()).is_empty());
        assert_eq!((claim.note().unwrap(), claim.mount_point().join("saved").exists()), (b"a note".to_vec(), true));
        claim.settle();
        drop(claim);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_borrowed_base_goes_with_its_last_claim() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("borrowed");
        let (first, second) = (Claim::new(&base, Base::Borrowed).unwrap(), Claim::new(&base, Base::Borrowed).unwrap());
        drop(first);
        assert!(base.exists());
        drop(second);
        assert!(!base.exists());
    }

    #[test]
    fn a_base_that_others_may_write_to_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(Claim::new(root.path(), Base::Given).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
