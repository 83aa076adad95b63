//! Which system call changes what.

use super::Witness;
use crate::rehearse::notify::task;
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Links in a row that are followed.
const MOST_LINKS: usize = 40;

/// Whether a call follows a link at the end of its path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Last {
    Followed,
    Itself,
}

impl Witness {
    /// Saves what a call is about to change.
    pub(super) fn see(&mut self, call: &libc::seccomp_notif) {
        let [a, b, c, d, e, _] = call.data.args;
        let process = call.pid;
        let here = libc::AT_FDCWD as u64;
        let number = libc::c_long::from(call.data.nr);
        #[cfg(target_arch = "x86_64")]
        match number {
            libc::SYS_open => return self.open(process, (here, a), b),
            libc::SYS_creat => return self.open(process, (here, a), CREATE),
            libc::SYS_unlink | libc::SYS_rmdir => return self.at(process, (here, a), Last::Itself, Self::goes),
            libc::SYS_rename => return self.rename(process, (here, a), (here, b), 0),
            libc::SYS_mkdir | libc::SYS_mknod => return self.at(process, (here, a), Last::Itself, Self::comes),
            libc::SYS_symlink | libc::SYS_link => return self.at(process, (here, b), Last::Itself, Self::comes),
            libc::SYS_chmod | libc::SYS_utime | libc::SYS_utimes => {
                return self.at(process, (here, a), Last::Followed, Self::dressed);
            }
            libc::SYS_futimesat => return self.at(process, (a, b), Last::Followed, Self::dressed),
            _ => {}
        }
        match number {
            libc::SYS_openat => self.open(process, (a, b), c),
            libc::SYS_openat2 => {
                let mut flags = [0; 8];
                // What cannot be read is taken for the worst.
                let read = task::read_memory(process, c, &mut flags);
                self.open(process, (a, b), if read.is_ok() { u64::from_ne_bytes(flags) } else { CREATE });
            }
            libc::SYS_unlinkat => self.at(process, (a, b), Last::Itself, Self::goes),
            libc::SYS_renameat2 => self.rename(process, (a, b), (c, d), e),
            #[cfg(not(target_arch = "riscv64"))]
            libc::SYS_renameat => self.rename(process, (a, b), (c, d), 0),
            libc::SYS_mkdirat | libc::SYS_mknodat => self.at(process, (a, b), Last::Itself, Self::comes),
            libc::SYS_symlinkat => self.at(process, (b, c), Last::Itself, Self::comes),
            libc::SYS_linkat => self.at(process, (c, d), Last::Itself, Self::comes),
            libc::SYS_truncate => self.at(process, (here, a), Last::Followed, Self::rewritten),
            libc::SYS_fchmod => self.descriptor(process, a),
            libc::SYS_fchmodat | FCHMODAT2 => self.at(process, (a, b), Last::Followed, Self::dressed),
            libc::SYS_utimensat if b == 0 => self.descriptor(process, a),
            libc::SYS_utimensat if d & libc::AT_SYMLINK_NOFOLLOW as u64 == 0 => {
                self.at(process, (a, b), Last::Followed, Self::dressed);
            }
            _ => {}
        }
    }

    fn at(&mut self, process: u32, place: (u64, u64), last: Last, change: impl FnOnce(&mut Self, &Path)) {
        if let Ok(path) = resolve(process, place, last) {
            change(self, &path);
        }
    }

    fn descriptor(&mut self, process: u32, descriptor: u64) {
        if let Ok(path) = fs::read_link(format!("/proc/{process}/fd/{descriptor}")) {
            self.dressed(&path);
        }
    }

    fn open(&mut self, process: u32, place: (u64, u64), flags: u64) {
        let has = |flag: i32| flags & flag as u64 != 0;
        let writes = flags & libc::O_ACCMODE as u64 != libc::O_RDONLY as u64 || has(libc::O_TRUNC);
        let is_new = has(libc::O_CREAT) && has(libc::O_EXCL);
        let last = if has(libc::O_NOFOLLOW) || is_new { Last::Itself } else { Last::Followed };
        self.at(process, place, last, |witness, path| {
            if writes {
                witness.rewritten(path);
            }
            if has(libc::O_CREAT) {
                witness.comes(path);
            }
        });
    }

    fn rename(&mut self, process: u32, from: (u64, u64), to: (u64, u64), flags: u64) {
        let paths =
            resolve(process, from, Last::Itself).and_then(|from| Ok((from, resolve(process, to, Last::Itself)?)));
        let Ok((from, to)) = paths else { return };
        self.moves(&from, &to);
        if flags & u64::from(libc::RENAME_EXCHANGE) != 0 {
            self.moves(&to, &from);
        }
    }
}

/// The flags that `creat` stands for.
const CREATE: u64 = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64;

/// Newer than the constants at hand, and the same number everywhere.
pub(in crate::rehearse) const FCHMODAT2: libc::c_long = 452;

/// The path that a process means, with no link in it but perhaps the last name.
fn resolve(process: u32, place: (u64, u64), last: Last) -> io::Result<PathBuf> {
    let found = match task::find(process, place) {
        // The path ends in a dot: it names a directory that is there.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return task::find_existing(process, place),
        other => other?,
    };
    let parent = fs::read_link(format!("/proc/self/fd/{}", found.parent.as_raw_fd()))?;
    let mut path = parent.join(&found.name);
    if last == Last::Itself {
        return Ok(path);
    }
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        let next = path.parent().unwrap_or(Path::new("/")).join(target);
        let (Some(above), Some(name)) = (next.parent(), next.file_name()) else { return next.canonicalize() };
        path = above.canonicalize()?.join(name);
    }
    Err(io::ErrorKind::InvalidInput.into())
}
