//! What a command reads from and writes to, as it is seen inside.
//!
//! A file or directory that somebody opened outside leads past every layer: by its name in `/proc/self/fd` it can be opened
//! again, to be written to. So it is opened anew by its path, where the mounts of the rehearsal hold. Pipes stay, and so does
//! a file that has no name any more, such as a shell makes for a long text: nobody else can have it.
//!
//! A terminal has no name inside, where terminals are counted anew. It gets that of a machine's own, so that programs which
//! ask for the name of theirs are answered.

use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, fstat, openat, seek};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use rustix::termios::isatty;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// What the terminal is called in `/dev`.
pub(super) const TERMINAL: &str = "console";

/// Where the terminal of this process is found outside.
pub(super) fn terminal() -> Option<PathBuf> {
    let stream = [stdin(), stdout(), stderr()].into_iter().find(|stream| isatty(stream))?;
    fs::read_link(super::mounts::path_of(stream)).ok().filter(|path| path.starts_with("/dev"))
}

/// Opens the standard streams anew, where they lead outside.
pub(super) fn see_inside() -> io::Result<()> {
    read_inside()?;
    let place = Path::new("/dev").join(TERMINAL);
    // Without its name a terminal is one all the same.
    let Ok(named) = openat(CWD, place, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()) else {
        return Ok(());
    };
    let number = fstat(&named)?.st_rdev;
    let is_it = |stream: BorrowedFd<'_>| isatty(stream) && fstat(stream).is_ok_and(|facts| facts.st_rdev == number);
    if is_it(stdin()) {
        dup2_stdin(&named)?;
    }
    if is_it(stdout()) {
        dup2_stdout(&named)?;
    }
    if is_it(stderr()) {
        dup2_stderr(&named)?;
    }
    Ok(())
}

fn read_inside() -> io::Result<()> {
    let facts = fstat(stdin())?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    if !(kind.is_file() || kind.is_dir()) || facts.st_nlink == 0 {
        return Ok(());
    }
    let path = fs::read_link(super::mounts::path_of(stdin()))?;
    let position = if kind.is_file() { seek(stdin(), SeekFrom::Current(0))? } else { 0 };
    let inside = openat(CWD, &path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    seek(&inside, SeekFrom::Start(position))?;
    Ok(dup2_stdin(&inside)?)
}
