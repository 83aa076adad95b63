//! Which workspace a directory belongs to.
//!
//! A workspace has an id file, `.dryad/workspace-id`, so that its log follows when the directory is
//! moved. Without one, the workspace is the git repository around the directory, or the directory. Where
//! no id file can be made, the id is made from the path: the log is then bound to that place.

use crate::disk;
use crate::fingerprint::blob_id;
use crate::record_file::make_private_directory;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The folder in the root of a workspace that holds its id.
pub(crate) const FOLDER: &str = ".dryad";

/// What lies in it besides the user's own settings.
pub(crate) const OWN_FILES: [&str; 2] = ["workspace-id", ".gitignore"];

/// A workspace: its root and its id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The root of its tree.
    pub root: PathBuf,
    /// Names its state; 32 hexadecimal digits.
    pub id: String,
    /// Another directory that carries the same id: one is a copy of the other.
    pub twin: Option<PathBuf>,
}

/// The workspace around `directory`, if it has an id already.
pub fn find(directory: &Path, states: &Path) -> io::Result<Option<Identity>> {
    for root in directory.ancestors() {
        if let Some(id) = read(root)? {
            return Ok(Some(Identity { twin: twin(root, &id, states), root: root.to_owned(), id }));
        }
    }
    let bound = bound_to(repository_around(directory));
    Ok(states.join(&bound.id).is_dir().then_some(bound))
}

/// The workspace around `directory`; `fresh` is the id of a new one. Its state is `states/<id>`.
pub fn find_or_make(directory: &Path, states: &Path, fresh: &str) -> io::Result<Identity> {
    let identity = match find(directory, states)? {
        Some(identity) => identity,
        None => {
            let root = repository_around(directory);
            make(root, fresh).unwrap_or_else(|_| bound_to(root))
        }
    };
    remember(&identity, states).map_err(|error| {
        let state = states.join(&identity.id);
        io::Error::new(error.kind(), format!("its log would lie in {}: {error}", state.display()))
    })?;
    Ok(identity)
}

/// Where the workspace of this state was seen last.
pub fn last_seen(state: &Path) -> Option<PathBuf> {
    fs::read(state.join("root")).ok().map(|root| PathBuf::from(OsString::from_vec(root)))
}

/// Brings the id file back that somebody has removed. Where none can be made there was none.
pub fn restore(root: &Path, id: &str) {
    if root.is_dir() && read(root).is_ok_and(|found| found.is_none()) {
        make(root, id).ok();
    }
}

fn make(root: &Path, id: &str) -> io::Result<Identity> {
    let folder = root.join(".dryad");
    fs::create_dir_all(&folder)?;
    write_new(&folder.join("workspace-id"), format!("{id}\n").as_bytes())?;
    // The id is this machine's business, not the repository's.
    write_new(&folder.join(".gitignore"), b"workspace-id\n.gitignore\n")?;
    Ok(Identity { root: root.to_owned(), id: read(root)?.unwrap_or_else(|| id.to_owned()), twin: None })
}

/// The identity of a place that takes no id file.
fn bound_to(root: &Path) -> Identity {
    let id = blob_id(root.as_os_str().as_bytes()).to_string().chars().take(32).collect();
    Identity { root: root.to_owned(), id, twin: None }
}

/// Writes a small file whole, unless it is there.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_added_extension(format!("{}.tmp", std::process::id()));
    fs::remove_file(&fresh).ok();
    let mut file = disk::create(&fresh)?;
    let named = disk::write(&mut file, bytes).and_then(|()| disk::rename_new(&fresh, path));
    if named.is_err() {
        fs::remove_file(&fresh).ok();
    }
    match named {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn read(root: &Path) -> io::Result<Option<String>> {
    let path = root.join(".dryad/workspace-id");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let id = text.trim();
    match id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(Some(id.to_owned())),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} does not hold a workspace id; remove it to start a new log", path.display()),
        )),
    }
}

fn repository_around(directory: &Path) -> &Path {
    directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(directory)
}

/// Where the state says this workspace was seen last, if that is another place that still has the id.
fn twin(root: &Path, id: &str, states: &Path) -> Option<PathBuf> {
    let known = last_seen(&states.join(id))?;
    (known != root && read(&known).ok()?.as_deref() == Some(id)).then_some(known)
}

/// Notes where this workspace lies now. Of two copies the first keeps the note.
fn remember(identity: &Identity, states: &Path) -> io::Result<()> {
    let state = states.join(&identity.id);
    make_private_directory(&state)?;
    let note = state.join("root");
    let root = &identity.root;
    if identity.twin.is_some() || last_seen(&state).as_ref() == Some(root) {
        return Ok(());
    }
    // Of two processes that come first at once, neither takes the other's.
    let fresh = state.join(format!("root.{}.new", std::process::id()));
    fs::remove_file(&fresh).ok();
    write_new(&fresh, root.as_os_str().as_bytes())?;
    disk::rename_over(&fresh, &note)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn the_repository_is_the_workspace_and_is_found_again_from_below() {
        let root = tempfile::tempdir().unwrap();
        let (project, states) = (root.path().join("project"), root.path().join("states"));
        fs::create_dir_all(project.join("src/deep")).unwrap();
        fs::create_dir(project.join(".git")).unwrap();
        assert_eq!(find(&project.join("src/deep"), &states).unwrap(), None);
        let made = find_or_make(&project.join("src/deep"), &states, ID).unwrap();
        assert_eq!((made.root.as_path(), made.id.as_str()), (project.as_path(), ID));
        let other = "f".repeat(32);
        assert_eq!(find_or_make(&project.join("src"), &states, &other).unwrap(), made);
        let names: Vec<_> =
            fs::read_dir(project.join(".dryad")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn a_moved_workspace_keeps_its_log_and_a_copy_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let (first, second, states) =
            (root.path().join("first"), root.path().join("second"), root.path().join("states"));
        fs::create_dir(&first).unwrap();
        find_or_make(&first, &states, ID).unwrap();
        fs::rename(&first, &second).unwrap();
        let moved = find_or_make(&second, &states, ID).unwrap();
        assert_eq!((moved.id.as_str(), moved.twin), (ID, None));
        fs::create_dir_all(first.join(".dryad")).unwrap();
        fs::copy(second.join(".dryad/workspace-id"), first.join(".dryad/workspace-id")).unwrap();
        assert_eq!(find_or_make(&first, &states, ID).unwrap().twin, Some(second));
    }

    #[test]
    fn a_place_that_takes_no_id_file_has_a_log_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let (project, states) = (root.path().join("project"), root.path().join("states"));
        fs::create_dir(&project).unwrap();
        fs::write(project.join(".dryad"), "in the way").unwrap();
        assert_eq!(find(&project, &states).unwrap(), None);
        let made = find_or_make(&project, &states, ID).unwrap();
        assert_ne!(made.id, ID);
        assert_eq!(find(&project, &states).unwrap(), Some(made.clone()));
        assert_eq!(find_or_make(&project, &states, ID).unwrap(), made);
    }

    #[test]
    fn a_garbled_id_is_refused_with_the_way_out() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".dryad")).unwrap();
        fs::write(root.path().join(".dryad/workspace-id"), "../../etc").unwrap();
        let error = find_or_make(root.path(), &root.path().join("states"), ID).unwrap_err();
        assert!(error.to_string().contains("remove it to start a new log"), "{error}");
    }
}
