//! Which workspace a directory belongs to.
//!
//! A workspace has an id file, `.dryad/workspace-id`, so that its log follows when the directory is
//! moved. Without one, the workspace is the git repository around the directory, or the directory. Where
//! no id file can be made, the id is made from the path: the log is then bound to that place.
//!
//! A copy of a workspace has its id, too. The note `<state>/root` lists the places where the id was seen, so that each
//! of them can tell of the others; what is gone, or has got another id, drops out when the next one looks.

use crate::disk;
use crate::fingerprint::blob_id;
use crate::record_file::make_private_directory;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
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
            let twin = twins(root, &id, &states.join(&id)).into_iter().next();
            return Ok(Some(Identity { twin, root: root.to_owned(), id }));
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

/// Where the workspace of this state was seen last; of several copies the one that was seen first.
pub fn last_seen(state: &Path) -> Option<PathBuf> {
    places(state).into_iter().next()
}

/// Whether the directory is there and carries this id. One that takes no id file carries the one of its place.
pub(crate) fn has_id(root: &Path, id: &str) -> bool {
    match read(root) {
        Ok(Some(found)) => found == id,
        Ok(None) => root.is_dir() && bound_to(root).id == id,
        Err(_) => false,
    }
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

/// The places where this workspace was seen. No path has a zero byte, so that one stands between two.
fn places(state: &Path) -> Vec<PathBuf> {
    let note = fs::read(state.join("root")).unwrap_or_default();
    let paths = note.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect()
}

/// The other places that still have the id.
fn twins(root: &Path, id: &str, state: &Path) -> Vec<PathBuf> {
    let has_id = |place: &PathBuf| read(place).is_ok_and(|found| found.as_deref() == Some(id));
    places(state).into_iter().filter(|place| !is_one_place(place, root) && has_id(place)).collect()
}

/// Whether two paths lead to one directory, which may be mounted twice.
fn is_one_place(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    one == other || identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Notes where this workspace lies now, beside its copies. Of these the one that was seen first stays the first.
fn remember(identity: &Identity, states: &Path) -> io::Result<()> {
    let state = states.join(&identity.id);
    make_private_directory(&state)?;
    let root = &identity.root;
    let known = places(&state);
    if known.first() == Some(root) && known.len() == 1 {
        return Ok(());
    }
    let twins = twins(root, &identity.id, &state);
    let stays = |place: &&PathBuf| twins.contains(place) || is_one_place(place, root);
    let mut now: Vec<PathBuf> = known.iter().filter(stays).cloned().collect();
    if !now.iter().any(|place| is_one_place(place, root)) {
        now.push(root.clone());
    }
    if now == known {
        return Ok(());
    }
    match write_places(&state, &now) {
        // Where nothing may be written the log can be read all the same.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            Ok(())
        }
        other => other,
    }
}

fn write_places(state: &Path, places: &[PathBuf]) -> io::Result<()> {
    let note: Vec<&[u8]> = places.iter().map(|place| place.as_os_str().as_bytes()).collect();
    // Of two processes that come first at once, neither takes the other's.
    let fresh = state.join(format!("root.{}.new", std::process::id()));
    fs::remove_file(&fresh).ok();
    write_new(&fresh, &note.join(&0))?;
    disk::rename_over(&fresh, &state.join("root"))
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

    /// Two copies of one workspace, each of which was used; and where their states lie.
    fn copies(root: &Path) -> [PathBuf; 3] {
        let [first, second, states] = ["first", "second", "states"].map(|name| root.join(name));
        fs::create_dir(&first).unwrap();
        find_or_make(&first, &states, ID).unwrap();
        copy(&first, &second);
        find_or_make(&second, &states, ID).unwrap();
        [first, second, states]
    }

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to.join(".dryad")).unwrap();
        fs::copy(from.join(".dryad/workspace-id"), to.join(".dryad/workspace-id")).unwrap();
    }

    #[test]
    fn each_of_two_copies_tells_of_the_other() {
        let root = tempfile::tempdir().unwrap();
        let [first, second, states] = copies(root.path());
        for _ in 0..2 {
            assert_eq!(find_or_make(&first, &states, ID).unwrap().twin.as_ref(), Some(&second));
            assert_eq!(find_or_make(&second, &states, ID).unwrap().twin.as_ref(), Some(&first));
        }
        assert_eq!(last_seen(&states.join(ID)), Some(first));
    }

    #[test]
    fn a_copy_that_goes_moves_or_gets_an_id_of_its_own_is_no_copy_any_more() {
        let other = "f".repeat(32);
        for (name, left) in [("gone", false), ("moved", false), ("renamed", true)] {
            let root = tempfile::tempdir().unwrap();
            let [first, second, states] = copies(root.path());
            match name {
                "gone" => fs::remove_dir_all(&second).unwrap(),
                "moved" => fs::rename(&second, root.path().join("third")).unwrap(),
                _ => fs::write(second.join(".dryad/workspace-id"), &other).unwrap(),
            }
            assert_eq!(find_or_make(&first, &states, ID).unwrap().twin, None, "{name}");
            assert_eq!(places(&states.join(ID)), [first.as_path()], "{name}");
            if left {
                assert_eq!(find_or_make(&second, &states, ID).unwrap().twin, None, "{name}");
            }
        }
    }

    #[test]
    fn what_takes_the_place_of_the_first_copy_is_the_first() {
        let root = tempfile::tempdir().unwrap();
        let [first, second, states] = copies(root.path());
        let third = root.path().join("third");
        fs::rename(&first, &third).unwrap();
        assert_eq!(find_or_make(&third, &states, ID).unwrap().twin.as_ref(), Some(&second));
        assert_eq!(find_or_make(&second, &states, ID).unwrap().twin.as_ref(), Some(&third));
        fs::remove_dir_all(&third).unwrap();
        assert_eq!(find_or_make(&second, &states, ID).unwrap().twin, None);
        assert_eq!(last_seen(&states.join(ID)), Some(second));
    }

    #[test]
    fn one_directory_under_two_names_is_no_copy() {
        let root = tempfile::tempdir().unwrap();
        let (place, name, states) = (root.path().join("place"), root.path().join("name"), root.path().join("states"));
        fs::create_dir(&place).unwrap();
        find_or_make(&place, &states, ID).unwrap();
        std::os::unix::fs::symlink(&place, &name).unwrap();
        assert_eq!(find_or_make(&name, &states, ID).unwrap().twin, None);
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
