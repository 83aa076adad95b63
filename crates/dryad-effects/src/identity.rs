//! Which workspace a directory belongs to.
//!
//! A workspace has an id file, `.dryad/workspace-id`, so that its log follows when the directory is
//! moved. Without one, the workspace is the git repository around the directory, or the directory.

use crate::disk;
use crate::record_file::make_private_directory;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
    Ok(None)
}

/// The workspace around `directory`; `fresh` is the id of a new one. Its state is `states/<id>`.
pub fn find_or_make(directory: &Path, states: &Path, fresh: &str) -> io::Result<Identity> {
    let identity = match find(directory, states)? {
        Some(identity) => identity,
        None => make(repository_around(directory), fresh)?,
    };
    remember(&identity, states)?;
    Ok(identity)
}

fn make(root: &Path, id: &str) -> io::Result<Identity> {
    let folder = root.join(".dryad");
    fs::create_dir_all(&folder)?;
    write_new(&folder.join("workspace-id"), &format!("{id}\n"))?;
    // The id is this machine's business, not the repository's.
    write_new(&folder.join(".gitignore"), "workspace-id\n.gitignore\n")?;
    Ok(Identity { root: root.to_owned(), id: read(root)?.unwrap_or_else(|| id.to_owned()), twin: None })
}

/// Writes a small file unless it is there.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    match disk::create(path) {
        Ok(mut file) => disk::write(&mut file, text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
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
    let known = PathBuf::from(fs::read_to_string(states.join(id).join("root")).ok()?);
    (known != root && read(&known).ok()?.as_deref() == Some(id)).then_some(known)
}

/// Notes where this workspace lies now. Of two copies the first keeps the note.
fn remember(identity: &Identity, states: &Path) -> io::Result<()> {
    let state = states.join(&identity.id);
    make_private_directory(&state)?;
    let note = state.join("root");
    let root = identity.root.to_string_lossy();
    if identity.twin.is_some() || fs::read_to_string(&note).is_ok_and(|known| known == root) {
        return Ok(());
    }
    let fresh = state.join("root.new");
    fs::remove_file(&fresh).ok();
    write_new(&fresh, &root)?;
    disk::rename_over(&fresh, &note)
}
