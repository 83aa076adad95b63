//! What a command reads from, as it is seen inside.
//!
//! A file or directory that somebody opened outside leads past every layer: by its name in `/proc/self/fd` it can be opened
//! again, to be written to. So it is opened anew by its path, where the mounts of the rehearsal hold. Pipes and terminals
//! stay, and so does a file that has no name any more, such as a shell makes for a long text: nobody else can have it.

use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, fstat, openat, seek};
use rustix::stdio::{dup2_stdin, stdin};
use std::fs;
use std::io;

/// Opens standard input anew, if that is a file or a directory.
pub(super) fn see_inside() -> io::Result<()> {
    let facts = fstat(stdin())?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    if !(kind.is_file() || kind.is_dir()) || facts.st_nlink == 0 {
        return Ok(());
    }
    let path = fs::read_link("/proc/self/fd/0")?;
    let position = if kind.is_file() { seek(stdin(), SeekFrom::Current(0))? } else { 0 };
    let inside = openat(CWD, &path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    seek(&inside, SeekFrom::Start(position))?;
    Ok(dup2_stdin(&inside)?)
}
