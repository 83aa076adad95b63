//! The process that made a watched call: what it points at, and who it is.

use super::super::calls::checked;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Names are no longer than this.
const LONGEST: usize = 4096;

/// Pieces are read up to where the next page begins: it need not be there.
const PAGE: usize = 4096;

/// A name in a directory.
#[derive(Debug)]
pub(in crate::rehearse) struct Place {
    pub(in crate::rehearse) parent: OwnedFd,
    pub(in crate::rehearse) name: OsString,
}

/// Bytes of a process's memory, as many as there are up to `buffer`'s length.
pub(in crate::rehearse) fn read_memory(process: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: buffer.len() };
    let process = libc::pid_t::try_from(process).map_err(io::Error::other)?;
    // SAFETY: the local piece is the buffer, borrowed for the length of the call; the remote one is only looked up
    // in the other process, and the kernel checks it.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let count = unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    checked(count as i64).map(|count| count as usize)
}

/// A path in a process's memory.
pub(in crate::rehearse) fn read_path(process: u32, address: u64) -> io::Result<OsString> {
    let mut path = Vec::new();
    while path.len() < LONGEST {
        let at = address + path.len() as u64;
        let mut piece = [0; PAGE];
        let room = PAGE - at as usize % PAGE;
        let piece = piece.get_mut(..room).unwrap_or_default();
        let count = read_memory(process, at, piece)?;
        let read = piece.get(..count).filter(|read| !read.is_empty()).ok_or(io::ErrorKind::UnexpectedEof)?;
        match memchr::memchr(0, read) {
            Some(end) => {
                path.extend_from_slice(read.get(..end).unwrap_or_default());
                return Ok(OsString::from_vec(path));
            }
            None => path.extend_from_slice(read),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// The directory and the name that a process means by a path, seen from its directory `at`.
pub(in crate::rehearse) fn find(process: u32, (at, address): (u64, u64)) -> io::Result<Place> {
    let path = read_path(process, address)?;
    let trimmed = trim_slashes(path.as_bytes());
    let (above, name) = match memchr::memrchr(b'/', trimmed) {
        Some(slash) => trimmed.split_at(slash + 1),
        None => (&[] as &[u8], trimmed),
    };
    if name.is_empty() || name == b"." || name == b".." {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parent = seen_from(process, at, above);
    let parent = openat(CWD, &parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Place { parent, name: OsStr::from_bytes(name).to_owned() })
}

/// Where we find what a process calls `path`, seen from its directory `at`.
fn seen_from(process: u32, at: u64, path: &[u8]) -> PathBuf {
    let mut base = PathBuf::from(match at as i32 {
        _ if path.first() == Some(&b'/') => format!("/proc/{process}/root"),
        libc::AT_FDCWD => format!("/proc/{process}/cwd"),
        descriptor => format!("/proc/{process}/fd/{descriptor}"),
    });
    let below: Vec<u8> = path.iter().copied().skip_while(|byte| *byte == b'/').collect();
    base.push(OsStr::from_bytes(&below));
    base
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

/// The user and group that the file system takes a process for.
pub(super) fn identity(process: u32) -> io::Result<(u32, u32)> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(3)?.parse().ok()
    };
    field("Uid:").zip(field("Gid:")).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
