//! Changes on a file system that does not tell upper from lower case.
//!
//! The file system is a real one, mounted in a mount namespace of the test's own thread: it is served by another
//! thread ([`server`]), which also notes whether anybody asked for a change. Mounting takes privileges that not
//! every machine gives; where it is refused the test says so.

mod server;

use dryad_effects::apply::{Applier, ApplyError, Request};
use dryad_effects::bearings::Borne;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use server::Server;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory where `README` and `readme` are one, and the state of a workspace elsewhere.
struct OneCase {
    home: TempDir,
    server: Server,
}

impl OneCase {
    /// Mounts it for this thread only; nothing where that is not allowed.
    fn mount() -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let device = File::options().read(true).write(true).open("/dev/fuse").ok()?;
        alone().ok()?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        mount("one-case", &root, "fuse", MountFlags::empty(), options.as_c_str()).ok()?;
        Some(Self { home, server: Server::start(device) })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("root").join(name)
    }

    /// Has a file written at each of these names, as a tool would plan it.
    fn write(&self, names: [&str; 2]) -> Result<(), ApplyError> {
        let mut contents = Contents::default();
        let changes = names.map(|name| {
            let text = format!("for {name}\n").into_bytes();
            let (size, blob) = (text.len() as u64, contents.insert(text));
            let after = Image::File(FileImage { blob, size, mode: 0o644, modified: None });
            Change { path: FilePath::new(self.at(name)), before: image_at(&self.at(name)).unwrap(), after }
        });
        apply(self.home.path(), &ChangeSet::new(changes), &contents)
    }
}

impl Drop for OneCase {
    fn drop(&mut self) {
        unmount(self.at(""), UnmountFlags::DETACH).ok();
    }
}

/// A mount namespace for this thread: nobody else sees what it mounts.
#[expect(unsafe_code, reason = "the call is marked unsafe for what else it can take apart")]
fn alone() -> rustix::io::Result<()> {
    // SAFETY: only the mount namespace and the working directory are taken from the other threads, no memory.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS)? };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

fn apply(home: &Path, changes: &ChangeSet, contents: &Contents) -> Result<(), ApplyError> {
    let vault = Vault::open(home.join("vault")).unwrap();
    let request = Request { changes, contents, borne: &Borne::default(), record: "the record" };
    Applier::new(home.join("journal"), home.join("log"), vault).apply(&request, &mut |_| Ok(())).map(drop)
}

#[test]
fn two_names_of_one_file_are_refused_before_anything_is_touched() {
    let Some(tree) = OneCase::mount() else {
        eprintln!("skipped: this machine does not let the test mount a file system");
        return;
    };
    assert_eq!(fs::read(tree.at("ReadMe")).unwrap(), fs::read(tree.at("README")).unwrap(), "case does not count");
    for names in [["README", "readme"], ["new", "New"], ["empty/a", "empty/A"], ["empty/a", "EMPTY/a"]] {
        let error = tree.write(names).unwrap_err();
        let [one, other] = names.map(|name| tree.at(name));
        let told = format!(
            "nothing was changed: {} and {} are one file here, where upper and lower case are the same",
            one.display(),
            other.display()
        );
        assert_eq!(error.to_string(), told);
        assert_eq!(tree.server.changes_asked_for(), [0; 0], "{names:?}");
    }
    // Two files are two files: what fails here is the file system, which takes no change at all.
    let error = tree.write(["README", "other"]).unwrap_err();
    assert!(matches!(error, ApplyError::Io { .. }), "{error:?}");
    assert!(!tree.server.changes_asked_for().is_empty());
}

#[test]
fn names_that_differ_in_case_are_two_files_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("LINKED"), "one content, two names\n").unwrap();
    fs::hard_link(root.join("LINKED"), root.join("linked")).unwrap();
    let mut contents = Contents::default();
    let changes = ["README", "readme", "LINKED", "linked", "new/a", "new/A"].map(|name| {
        let text = format!("for {name}\n").into_bytes();
        let (size, blob) = (text.len() as u64, contents.insert(text));
        let after = Image::File(FileImage { blob, size, mode: 0o644, modified: None });
        Change { path: FilePath::new(root.join(name)), before: image_at(&root.join(name)).unwrap(), after }
    });
    let new = FilePath::new(root.join("new"));
    let directory = Change { path: new, before: Image::Absent, after: Image::Directory { mode: 0o755 } };
    apply(home.path(), &ChangeSet::new(changes.into_iter().chain([directory])), &contents).unwrap();
    for name in ["README", "readme", "LINKED", "linked", "new/a", "new/A"] {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), format!("for {name}\n"));
    }
}
