//! What stands at a path right now, as an image.
//!
//! Files are hashed as they are read, a piece at a time: their size does not matter.
//!
//! Who has read a file keeps a [`Sighting`] of it. As long as the file's identity and both of its times are those
//! of that moment nobody has written to it, and it need not be read again.

mod both;
mod stamp;

pub(crate) use both::{are_alike, see_both};
pub(crate) use stamp::{Stamp, is_written_long_ago};

use crate::opened;
use crate::vicinity::Vicinity;
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use rustix::fs::{Mode, OFlags, openat};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// How much of a file is held in memory at once.
const PIECE: usize = 128 * 1024;

/// Two writes that lie this far apart have different times: file systems take them from a clock that ticks.
pub(crate) const YOUNG: Duration = Duration::from_millis(100);

/// A file as it was read, and how to tell that nobody has written to it since.
#[derive(Clone, Debug)]
pub struct Sighting {
    image: Image,
    stamp: Option<Stamp>,
    /// Whether a later write must bear another time: the file was not too young for that.
    is_lasting: bool,
    opposite: Option<Opposite>,
}

/// A slot in the vault that was seen to hold what a file was exchanged for.
#[derive(Clone, Debug)]
pub(crate) struct Opposite {
    pub(crate) slot: PathBuf,
    pub(crate) inode: u64,
    /// Its bits and its time.
    dress: (u32, Option<FileTime>),
}

impl Opposite {
    /// The slot that was looked at so.
    pub(crate) fn new(slot: PathBuf, stamp: &Stamp) -> Self {
        Self { slot, inode: stamp.inode(), dress: (stamp.mode(), stamp.modified()) }
    }

    /// Whether what lies there has the bits and the time of this image already.
    pub(crate) fn is_dressed(&self, image: &FileImage) -> bool {
        let (mode, modified) = self.dress;
        mode == image.mode && (image.modified.is_none() || modified == image.modified)
    }
}

/// Names these bytes by their hash.
pub fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::from_hash(*blake3::hash(bytes).as_bytes())
}

/// What stands at `path`, links not followed. What is one's own is seen whatever its bits say.
pub fn image_at(path: &Path) -> io::Result<Image> {
    opened::reading(path, |mode| Ok(look(path)?.with_mode(mode).image))
}

/// What stands at `path`, where this is expected: a file is opened without looking first.
pub fn see(path: &Path, expected: &Image) -> io::Result<Sighting> {
    see_near(&mut Vicinity::default(), path, expected)
}

/// The same for one of many.
pub(crate) fn see_near(vicinity: &mut Vicinity, path: &Path, expected: &Image) -> io::Result<Sighting> {
    let place = vicinity.find(path);
    opened::reading(path, |mode| Ok(see_as_it_is(path, place, expected)?.with_mode(mode)))
}

fn see_as_it_is(path: &Path, (at, name): (BorrowedFd<'_>, &Path), expected: &Image) -> io::Result<Sighting> {
    if !matches!(expected, Image::File(_)) {
        return look(path);
    }
    // A link is not followed, and a pipe is not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = openat(at, name, OFlags::RDONLY | flags, Mode::empty()) else { return look(path) };
    let file = File::from(file);
    let metadata = file.metadata()?;
    if metadata.is_file() { read(file, &metadata) } else { look(path) }
}

fn look(path: &Path) -> io::Result<Sighting> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // A component that is a file means that nothing can stand below it; nothing has a name that is too long.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
            ) =>
        {
            return Ok(Sighting::of(Image::Absent));
        }
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    let image = if kind.is_symlink() {
        Image::Symlink { target: FilePath::new(fs::read_link(path)?) }
    } else if kind.is_dir() {
        Image::Directory { mode: metadata.permissions().mode() & PERMISSIONS }
    } else if kind.is_file() {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        return read(file, &metadata);
    } else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file, a directory nor a link"));
    };
    Ok(Sighting::of(image))
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

/// Reads a file from its start; `metadata` is from before that.
fn read(mut file: File, metadata: &Metadata) -> io::Result<Sighting> {
    let mut hasher = blake3::Hasher::new();
    // One byte more than the file is said to have: most are read whole by the first call.
    let said = usize::try_from(metadata.len()).unwrap_or(PIECE).saturating_add(1);
    let mut piece = vec![0; said.min(PIECE)];
    let stamp = Stamp::of(metadata);
    let is_lasting = stamp.is_some_and(|stamp| stamp.is_old());
    let mut size = 0;
    loop {
        let count = file.read(&mut piece)?;
        hasher.update(piece.get(..count).unwrap_or_default());
        size += count as u64;
        if is_end(count, piece.len(), size, metadata.len()) {
            break;
        }
    }
    let image = Image::File(FileImage {
        blob: BlobId::from_hash(*hasher.finalize().as_bytes()),
        size,
        mode: metadata.permissions().mode() & PERMISSIONS,
        modified: modified(metadata),
    });
    Ok(Sighting { image, stamp, is_lasting, opposite: None })
}

/// Whether a file has been read to its end: nothing came, or less than was asked for, and all that it is said to
/// have. That spares a call that returns nothing.
pub(crate) fn is_end(count: usize, asked: usize, read: u64, said: u64) -> bool {
    count == 0 || (count < asked && read == said)
}

impl Sighting {
    /// What stood there.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// A file of which it is known that it holds this content, as long as this stamp is its own, and what lies opposite.
    pub(crate) fn known(blob: BlobId, stamp: Stamp, opposite: Opposite) -> Self {
        let file = FileImage { blob, size: stamp.size(), mode: stamp.mode(), modified: stamp.modified() };
        Self { image: Image::File(file), stamp: Some(stamp), is_lasting: true, opposite: Some(opposite) }
    }

    /// Something that has to be looked at again.
    fn of(image: Image) -> Self {
        Self { image, stamp: None, is_lasting: false, opposite: None }
    }

    /// What tells the file from how it was before and will be after the next write.
    pub(crate) fn stamp(&self) -> Option<&Stamp> {
        self.stamp.as_ref()
    }

    /// The same with the bits that last, where others were set for the look.
    fn with_mode(self, lasting: Option<u32>) -> Self {
        let Some(lasting) = lasting else { return self };
        let image = match self.image {
            Image::File(file) => Image::File(FileImage { mode: lasting, ..file }),
            Image::Directory { .. } => Image::Directory { mode: lasting },
            other @ (Image::Absent | Image::Symlink { .. }) => other,
        };
        Self::of(image)
    }

    /// What the file was exchanged for, if that was looked at.
    pub(crate) fn opposite(&self) -> Option<&Opposite> {
        self.opposite.as_ref()
    }

    /// What stood there, for who needs no more.
    pub fn into_image(self) -> Image {
        self.image
    }

    /// Whether the same file stands at `path` and nobody can have written to it since; false when that
    /// cannot be told without reading it.
    pub fn holds_at(&self, path: &Path) -> bool {
        self.holds_near(&mut Vicinity::default(), path)
    }

    /// The same for one of many.
    pub(crate) fn holds_near(&self, vicinity: &mut Vicinity, path: &Path) -> bool {
        self.stamp.is_some_and(|stamp| self.is_lasting && Stamp::near(vicinity, path) == Some(stamp))
    }
}

/// When it was modified; nothing for a file system that tells nonsense.
pub(crate) fn modified(metadata: &Metadata) -> Option<FileTime> {
    u32::try_from(metadata.mtime_nsec()).ok().and_then(|nanoseconds| FileTime::new(metadata.mtime(), nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    #[test]
    fn a_modification_time_is_exact_to_the_nanosecond() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789)).unwrap();
        let Image::File(image) = image_at(&path).unwrap() else { panic!("a file has the image of a file") };
        assert_eq!(image.modified, FileTime::new(1_700_000_000, 123_456_789));
    }

    fn see_file(path: &Path) -> io::Result<Sighting> {
        see(path, &Image::File(FileImage { blob: blob_id(b""), size: 0, mode: 0, modified: None }))
    }

    /// A file that was written long enough ago.
    fn old_file(directory: &Path) -> std::path::PathBuf {
        let path = directory.join("file");
        fs::write(&path, "one").unwrap();
        while !see_file(&path).unwrap().holds_at(&path) {
            std::thread::yield_now();
        }
        path
    }

    #[test]
    fn a_sighting_does_not_survive_a_write_that_leaves_size_and_modification_time_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = old_file(directory.path());
        let (seen, time) = (see_file(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        assert!(seen.holds_at(&path));
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert!(!seen.holds_at(&path));
    }

    #[test]
    fn a_sighting_is_of_one_file_and_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = old_file(directory.path());
        let seen = see_file(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(!seen.holds_at(&path));
        fs::remove_file(&path).unwrap();
        assert!(!seen.holds_at(&path));
    }

    #[test]
    fn what_was_written_just_now_is_no_proof_of_anything() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        let changed = fs::metadata(&path).unwrap();
        let seen = see_file(&path).unwrap();
        let age = SystemTime::UNIX_EPOCH + Duration::new(changed.ctime() as u64, changed.ctime_nsec() as u32);
        assert!(!seen.holds_at(&path) || age.elapsed().unwrap() > YOUNG);
    }

    #[test]
    fn where_no_file_stands_it_is_seen_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let absent = directory.path().join("absent");
        for path in [directory.path(), &link, &absent] {
            let seen = see_file(path).unwrap();
            assert_eq!(*seen.image(), image_at(path).unwrap());
            assert!(!seen.holds_at(path));
        }
    }
}
