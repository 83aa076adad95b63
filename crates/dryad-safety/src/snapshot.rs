//! How a tool looks at a file before it plans, and how it writes its plan down.

use crate::tool::PlanContext;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::{image_at, image_of_bytes};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Permission bits of a file that did not exist before.
const NEW_FILE_MODE: u32 = 0o644;

/// Permission bits of a directory that did not exist before.
const NEW_DIRECTORY_MODE: u32 = 0o755;

/// A path as a tool saw it: the image, and a file's bytes.
///
/// Both come from one reading, so the image is exactly what the tool planned upon.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Where it really lies: links are followed, so a change replaces what a link points to.
    pub path: PathBuf,
    /// What stood there.
    pub image: Image,
    /// A file's bytes; empty for everything else.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// Looks at `path`, following links. A path where nothing stands gives an absent image.
    pub fn take(path: &Path) -> io::Result<Self> {
        let path = with_real_parents(&real_path(path)?)?;
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self { path, image: Image::Absent, bytes: Vec::new() });
            }
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Self { image: image_at(&path)?, path, bytes: Vec::new() });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        Ok(Self { image: image_of_bytes(&bytes, &metadata), path, bytes })
    }
}

/// Follows links as far as they lead; the last one may point to nothing yet.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// The same path with every link above it resolved: a change must land where it was planned.
fn with_real_parents(path: &Path) -> io::Result<PathBuf> {
    for above in path.ancestors().skip(1) {
        match above.canonicalize() {
            Ok(real) => return Ok(real.join(path.strip_prefix(above).unwrap_or(path))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path.to_owned())
}

/// Writes down a plan, one path after the other.
#[derive(Debug, Default)]
pub struct ChangeBuilder {
    changes: Vec<Change>,
    contents: Contents,
}

impl ChangeBuilder {
    /// A plan for a call with this context: if it becomes large, its contents are not held in memory.
    pub fn in_context(context: &PlanContext) -> Self {
        let contents = context.scratch.as_ref().map_or_else(Contents::default, Contents::overflowing_into);
        Self { changes: Vec::new(), contents }
    }

    /// The file that was seen shall hold these bytes. Its mode is kept; a new file gets 0644.
    pub fn write(&mut self, seen: &Snapshot, bytes: Vec<u8>) {
        let mode = match &seen.image {
            Image::File(file) => file.mode,
            Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => NEW_FILE_MODE,
        };
        self.make_parents(&seen.path);
        if seen.image.blob().is_some() {
            self.contents.insert(seen.bytes.as_slice());
        }
        let size = bytes.len() as u64;
        let after = Image::File(FileImage { blob: self.contents.insert(bytes), size, mode, modified: None });
        self.changes.push(Change { path: FilePath::new(&seen.path), before: seen.image.clone(), after });
    }

    /// Directories that are not there yet are part of the change, so that undo takes them back, too.
    fn make_parents(&mut self, path: &Path) {
        let is_missing = |above: &&Path| above.symlink_metadata().is_err();
        let missing: Vec<&Path> = path.ancestors().skip(1).take_while(is_missing).collect();
        for directory in missing.into_iter().rev() {
            let (before, after) = (Image::Absent, Image::Directory { mode: NEW_DIRECTORY_MODE });
            self.changes.push(Change { path: FilePath::new(directory), before, after });
        }
    }

    /// The change set and the bytes its images name.
    pub fn finish(self) -> (ChangeSet, Contents) {
        (ChangeSet::new(self.changes), self.contents)
    }
}
