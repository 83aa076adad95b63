//! The delete floor: a command that runs directly cannot remove or truncate anything outside the granted roots.
//!
//! Landlock is asked to handle just these rights, so that everything else works as before. Reading, and writing to
//! files that are there, is not its business here. What a thread may not do, the processes it starts may not do either.
//!
//! Under a command that is taken for one that only reads lies a higher one: it can write nothing. Whoever was wrong about
//! it sees it fail instead of finding what cannot be undone.
//!
//! Limitation: a file outside can still be overwritten in place, without being truncated first.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Rights by the bits the kernel gives them.
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_DIRECTORY: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
/// Of devices, directories, files, sockets, pipes and links.
const MAKE: u64 = 0b111_1111 << 6;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;

/// From these versions on the kernel knows the rights above.
const KNOWS_REFER: u32 = 2;
const KNOWS_TRUNCATE: u32 = 3;

/// Places where truncating means nothing, or belongs to the command anyway.
const HARMLESS: [&str; 2] = ["/dev", "/proc"];

/// Why there is no floor.
#[derive(Debug, Error)]
pub enum FloorError {
    /// The kernel has no landlock, or it is switched off.
    #[error("this kernel has no landlock, so nothing keeps a command from deleting files outside the granted roots")]
    Missing,
    /// The kernel refused.
    #[error("cannot protect files outside the granted roots: {0}")]
    Refused(#[from] io::Error),
}

/// A floor, ready to be put under a process.
#[derive(Debug)]
pub struct Floor {
    rules: OwnedFd,
    version: u32,
}

/// The kernel's version of landlock, if it has it.
pub fn version() -> Option<u32> {
    /// `LANDLOCK_CREATE_RULESET_VERSION`.
    const ASK_VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag, no attributes and no size the call reads nothing and returns a number.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, ASK_VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

impl Floor {
    /// A floor on which files can be removed and truncated in these directories alone.
    pub fn new(granted: &[PathBuf]) -> Result<Self, FloorError> {
        let floor = Self::of(REMOVE_DIRECTORY | REMOVE_FILE | REFER | TRUNCATE, granted)?;
        // Whoever restricts anything restricts links and moves between directories, unless told otherwise.
        floor.allow(Path::new("/"), REFER)?;
        HARMLESS.iter().try_for_each(|place| floor.allow(Path::new(place), TRUNCATE))?;
        Ok(floor)
    }

    /// A floor on which nothing can be written but to devices and in these directories. Bits, times and attributes are
    /// not landlock's business.
    pub fn for_reading(scratch: &[PathBuf]) -> Result<Self, FloorError> {
        let floor = Self::of(WRITE_FILE | REMOVE_DIRECTORY | REMOVE_FILE | MAKE | REFER | TRUNCATE, scratch)?;
        floor.allow(Path::new("/dev"), WRITE_FILE | TRUNCATE)?;
        Ok(floor)
    }

    /// A floor that takes these rights away everywhere but in these directories.
    fn of(rights: u64, granted: &[PathBuf]) -> Result<Self, FloorError> {
        let version = version().ok_or(FloorError::Missing)?;
        let floor = Self { rules: make_rules(rights & known(version))?, version };
        granted.iter().try_for_each(|root| floor.allow(root, rights))?;
        Ok(floor)
    }

    /// Whether truncating is prevented as well as removing; old kernels know only the latter.
    pub fn covers_truncation(&self) -> bool {
        self.version >= KNOWS_TRUNCATE
    }

    /// Puts the floor under the calling thread and whatever it starts, for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        // SAFETY: passes two numbers.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn allow(&self, place: &Path, rights: u64) -> io::Result<()> {
        /// `LANDLOCK_RULE_PATH_BENEATH`.
        const BENEATH: libc::c_int = 1;
        let rights = rights & known(self.version);
        if rights == 0 {
            return Ok(());
        }
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let place = rustix::fs::openat(rustix::fs::CWD, place, flags, rustix::fs::Mode::empty())?;
        let rule = Beneath { rights, place: place.as_fd().as_raw_fd() };
        // SAFETY: the rule has the form that the kernel expects for this kind, and lives until the call returns.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let result = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, self.rules.as_raw_fd(), BENEATH, &raw const rule, 0_u32)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The rights that a version of landlock knows.
fn known(version: u32) -> u64 {
    let refer = if version >= KNOWS_REFER { 0 } else { REFER };
    let truncate = if version >= KNOWS_TRUNCATE { 0 } else { TRUNCATE };
    !(refer | truncate)
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    rights: u64,
    place: RawFd,
}

fn make_rules(handled: u64) -> io::Result<OwnedFd> {
    // The structure has grown; its first field is what every version knows.
    // SAFETY: the number lives until the call returns, and its size is told.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size_of::<u64>(), 0_u32) };
    let descriptor = RawFd::try_from(result).map_err(io::Error::other)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, for us alone.
    #[expect(unsafe_code, reason = "a descriptor from a raw system call")]
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
