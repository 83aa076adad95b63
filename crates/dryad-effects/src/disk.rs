//! Every step that changes a disk, in one place.
//!
//! What this crate writes, renames, links or removes for good goes through here. So a test can ask how
//! many steps a change takes, and let the process die, or the disk fail, at each of them in turn: a
//! step that is added later is tested without anybody having to think of it.
//!
//! `DRYAD_FAULT` arms it ([`fault`]); `DRYAD_NO_EXCHANGE` makes every file system one that cannot exchange two
//! names in one step.

mod fault;

use crate::vicinity::Vicinity;
use fault::step;
use rustix::fs::{CWD, RenameFlags, XattrFlags, lremovexattr, lsetxattr, renameat_with};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dryad_protocol::time::FileTime;

/// What the name of a file begins with that shall have none; the process id follows.
const NAMELESS: &str = ".nameless-";

/// Makes a new file that only its owner can read, and fails if the name is taken.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    create_with(path, 0o600)
}

/// Makes a new file of this mode, as far as the user's mask lets it be, and fails if the name is taken.
pub(crate) fn create_with(path: &Path, mode: u32) -> io::Result<File> {
    step()?;
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
}

/// Makes a file without a name on the file system of this directory: it is gone once it is closed.
pub(crate) fn create_nameless(directory: &Path) -> io::Result<File> {
    step()?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(directory) {
        Ok(file) => Ok(file),
        // Not every file system can: then the name goes as soon as the file is there.
        Err(_) => {
            let path = directory.join(format!("{NAMELESS}{}", std::process::id()));
            sweep_nameless(directory);
            let file = options.create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        }
    }
}

/// Removes the names that were left between both steps, by who has died there.
fn sweep_nameless(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(NAMELESS)).and_then(|id| id.parse().ok());
        if owner.is_some_and(|owner| !crate::process::is_running(owner)) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Opens a file to append to it, and makes it if it is not there.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    let file = open_journal(path)?;
    may_be_lost(path, &file);
    Ok(file)
}

/// The same for a file that is synced before anything relies on it.
pub(crate) fn open_journal(path: &Path) -> io::Result<File> {
    step()?;
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// From here on a power cut may take what is appended to a file, until it is synced.
pub(crate) fn may_be_lost(path: &Path, file: &File) {
    fault::appended(path, file);
}

/// Writes all bytes.
pub(crate) fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    step()?;
    file.write_all(bytes)
}

/// Writes all bytes at this place of a file.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    step()?;
    file.write_all_at(bytes, offset)
}

/// Cuts a file to this length.
pub(crate) fn truncate(file: &File, length: u64) -> io::Result<()> {
    step()?;
    file.set_len(length)?;
    fault::truncated(file, length);
    Ok(())
}

/// Waits until a file and everything its file system had promised before it are on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    step()?;
    file.sync_all()?;
    fault::synced(file);
    Ok(())
}

/// The same for the file at this path, if it is there.
pub(crate) fn sync_existing(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => sync(&file?),
    }
}

/// Writes a file's data out, without making its name or length durable: the next sync of any file on the
/// same file system does that, where [`commits_in_order`].
pub(crate) fn write_out(file: &File) -> io::Result<()> {
    step()?;
    sync_range(
        file,
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER,
    )?;
    fault::written_out(file);
    Ok(())
}

/// Begins to write a file's data out and does not wait. What fails here fails again where it is waited for.
pub(crate) fn begin_write_out(file: &File) {
    sync_range(file, libc::SYNC_FILE_RANGE_WRITE).ok();
}

#[expect(unsafe_code, reason = "there is no safe wrapper of this call")]
fn sync_range(file: &File, flags: libc::c_uint) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether syncing one file commits everything that its file system was told before: ext4 and XFS keep
/// one log for all of them.
pub(crate) fn commits_in_order(file: &File) -> io::Result<bool> {
    const EXT: u32 = 0xef53;
    const XFS: u32 = 0x5846_5342;
    let kind = rustix::fs::fstatfs(file)?.f_type;
    Ok([EXT, XFS].iter().any(|known| i64::from(*known) == kind))
}

/// Waits until everything on this directory's file system is on the disk.
pub(crate) fn sync_file_system(directory: &File) -> io::Result<()> {
    step()?;
    rustix::fs::syncfs(directory)?;
    fault::all_synced();
    Ok(())
}

/// Makes a directory.
pub(crate) fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    step()?;
    DirBuilder::new().mode(mode).create(path)
}

/// Makes a symbolic link.
pub(crate) fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    step()?;
    std::os::unix::fs::symlink(target, path)
}

/// Moves what stands at `from` to a name that must be free.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems without that flag: a link never replaces, and for what cannot be linked it is
        // looked first. The workspace's lock keeps other dryads out.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {
            match fs::hard_link(from, to) {
                Ok(()) => fs::remove_file(from).inspect_err(|_| drop(fs::remove_file(to))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
                Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => fs::rename(from, to),
            }
        }
        other => other.map_err(io::Error::from),
    }
}

/// Moves what stands at `from` over `to`.
pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to)
}

/// Lets two names change places, in one step where the file system can.
pub(crate) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Exchanges::default().exchange(a, b)
}

/// Whether no file system shall exchange names in one step.
fn exchanges_by_three() -> bool {
    static PLAIN: OnceLock<bool> = OnceLock::new();
    *PLAIN.get_or_init(|| std::env::var_os("DRYAD_NO_EXCHANGE").is_some())
}

/// Lets many names change places with others.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    a: Vicinity,
    b: Vicinity,
}

impl Exchanges {
    /// The next two.
    pub(crate) fn exchange(&mut self, a: &Path, b: &Path) -> io::Result<()> {
        if exchanges_by_three() {
            return exchange_by_three(a, b);
        }
        step()?;
        let ((at_a, name_a), (at_b, name_b)) = (self.a.find(a), self.b.find(b));
        match renameat_with(at_a, name_a, at_b, name_b, RenameFlags::EXCHANGE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => exchange_by_three(a, b),
            other => other.map_err(io::Error::from),
        }
    }
}

/// Three renames in the place of one exchange. What stood at `b` rests at [`resting_place`] meanwhile.
fn exchange_by_three(a: &Path, b: &Path) -> io::Result<()> {
    let rest = resting_place(a);
    rename_new(b, &rest)?;
    rename_new(a, b)?;
    rename_new(&rest, a)
}

/// Where an exchange in three steps leaves what it has to put down.
pub(crate) fn resting_place(slot: &Path) -> PathBuf {
    let mut name = slot.as_os_str().to_owned();
    name.push(".old");
    PathBuf::from(name)
}

/// Gives a file a second name.
pub(crate) fn link(existing: &Path, name: &Path) -> io::Result<()> {
    step()?;
    fs::hard_link(existing, name)
}

/// Removes a name of a file or a link.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_file(path)
}

/// Removes an empty directory.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_dir(path)
}

/// Sets permission bits.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    step()?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Gives something away to this user and group, links not followed.
pub(crate) fn set_owner(path: &Path, (user, group): (u32, u32)) -> io::Result<()> {
    step()?;
    std::os::unix::fs::lchown(path, Some(user), Some(group))
}

/// Sets an extended attribute, links not followed.
pub(crate) fn set_attribute(path: &Path, name: &[u8], value: &[u8]) -> io::Result<()> {
    step()?;
    lsetxattr(path, name, value, XattrFlags::empty()).map_err(io::Error::from)
}

/// Takes an extended attribute off, links not followed, if it is there.
pub(crate) fn remove_attribute(path: &Path, name: &[u8]) -> io::Result<()> {
    step()?;
    match lremovexattr(path, name) {
        Err(rustix::io::Errno::NODATA) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}

/// Sets permission bits of an open file.
pub(crate) fn set_mode_of(file: &File, mode: u32) -> io::Result<()> {
    step()?;
    file.set_permissions(Permissions::from_mode(mode))
}

/// Sets the time of the last modification, links not followed.
pub(crate) fn set_modified(path: &Path, time: FileTime) -> io::Result<()> {
    use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_OMIT, utimensat};
    step()?;
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let modified = Timespec { tv_sec: time.seconds(), tv_nsec: i64::from(time.nanoseconds()) };
    let times = Timestamps { last_access: omit, last_modification: modified };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)
}
