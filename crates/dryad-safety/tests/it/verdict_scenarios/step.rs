//! What can be done to a path, in a scenario's words. Dryad and the user have the same ones.

use serde::Deserialize;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// One thing done to one path, as `{"path": …, "<deed>": …}`.
#[derive(Deserialize)]
pub(super) struct Step {
    path: PathBuf,
    #[serde(flatten)]
    deed: Deed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Deed {
    /// A file with this text; one that is there keeps its mode.
    Write(String),
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// Permission bits in octal.
    Mode(String),
    /// A link to this target.
    Symlink(PathBuf),
    /// An empty directory.
    Directory(()),
    /// A socket: something that can be neither read nor kept.
    Socket(()),
    /// Another name in the same tree.
    Rename(PathBuf),
    /// It goes, with everything in it.
    Delete(()),
}

impl Step {
    /// Takes the step in the tree below `root`. Directories above the path are made when they are missing.
    pub(super) fn take(&self, root: &Path) {
        let path = root.join(&self.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match &self.deed {
            Deed::Write(text) => write(&path, text.as_bytes()),
            Deed::Bytes(bytes) => write(&path, bytes),
            Deed::Mode(octal) => {
                let mode = u32::from_str_radix(octal, 8).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            Deed::Symlink(target) => {
                delete(&path);
                symlink(target, &path).unwrap();
            }
            Deed::Directory(()) => {
                delete(&path);
                fs::create_dir(&path).unwrap();
            }
            Deed::Socket(()) => {
                delete(&path);
                drop(UnixListener::bind(&path).unwrap());
            }
            Deed::Rename(name) => fs::rename(&path, root.join(name)).unwrap(),
            Deed::Delete(()) => assert!(delete(&path), "{} is not there", path.display()),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        delete(path);
    }
    fs::write(path, bytes).unwrap();
}

/// Whether there was something.
fn delete(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Err(_) => return false,
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
    }
    true
}
