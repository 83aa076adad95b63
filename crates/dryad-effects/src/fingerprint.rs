//! What stands at a path right now, as an image.
//!
//! Files are hashed as they are read, a piece at a time: their size does not matter.

use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// How much of a file is held in memory at once.
const PIECE: usize = 128 * 1024;

/// Names these bytes by their hash.
pub fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::from_hash(*blake3::hash(bytes).as_bytes())
}

/// What stands at `path`, links not followed.
pub fn image_at(path: &Path) -> io::Result<Image> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // A component that is a file means that nothing can stand below it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Image::Absent);
        }
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    if kind.is_symlink() {
        Ok(Image::Symlink { target: FilePath::new(fs::read_link(path)?) })
    } else if kind.is_dir() {
        Ok(Image::Directory { mode: metadata.permissions().mode() & PERMISSIONS })
    } else if kind.is_file() {
        file_image(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file, a directory nor a link"))
    }
}

/// The image of a file with these bytes and this metadata.
pub fn image_of_bytes(bytes: &[u8], metadata: &Metadata) -> Image {
    Image::File(FileImage {
        blob: blob_id(bytes),
        size: bytes.len() as u64,
        mode: metadata.permissions().mode() & PERMISSIONS,
        modified: modified(metadata),
    })
}

fn file_image(path: &Path) -> io::Result<Image> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut hasher = blake3::Hasher::new();
    // One byte more than the file is said to have: most are read whole by the first call.
    let said = usize::try_from(metadata.len()).unwrap_or(PIECE).saturating_add(1);
    let mut piece = vec![0; said.min(PIECE)];
    let mut size = 0;
    loop {
        let count = file.read(&mut piece)?;
        let Some(read) = piece.get(..count).filter(|read| !read.is_empty()) else { break };
        hasher.update(read);
        size += count as u64;
    }
    Ok(Image::File(FileImage {
        blob: BlobId::from_hash(*hasher.finalize().as_bytes()),
        size,
        mode: metadata.permissions().mode() & PERMISSIONS,
        modified: modified(&metadata),
    }))
}

/// When it was modified; nothing for a file system that tells nonsense.
pub(crate) fn modified(metadata: &Metadata) -> Option<FileTime> {
    u32::try_from(metadata.mtime_nsec()).ok().and_then(|nanoseconds| FileTime::new(metadata.mtime(), nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_modification_time_is_exact_to_the_nanosecond() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789)).unwrap();
        let Image::File(image) = image_at(&path).unwrap() else { panic!("a file has the image of a file") };
        assert_eq!(image.modified, FileTime::new(1_700_000_000, 123_456_789));
    }
}
