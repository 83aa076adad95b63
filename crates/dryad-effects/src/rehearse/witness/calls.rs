//! Which system call changes what.

use super::Witness;
use super::spot::{Last, Spot};
use crate::rehearse::notify::task;

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
            libc::SYS_link => return self.link(process, (here, a), (here, b), 0),
            libc::SYS_symlink => return self.at(process, (here, b), Last::Itself, Self::comes),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
                return self.at(process, (here, a), Last::Followed, Self::dressed);
            }
            libc::SYS_lchown => return self.at(process, (here, a), Last::Itself, Self::dressed),
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
            libc::SYS_linkat => self.link(process, (a, b), (c, d), e),
            libc::SYS_truncate => self.at(process, (here, a), Last::Followed, Self::rewritten),
            libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
                self.descriptor(process, a, Self::dressed);
            }
            libc::SYS_fchownat => self.at(process, (a, b), last_of(e), Self::dressed),
            SETXATTRAT | REMOVEXATTRAT => self.at(process, (a, b), last_of(c), Self::dressed),
            libc::SYS_setxattr | libc::SYS_removexattr => self.at(process, (here, a), Last::Followed, Self::dressed),
            libc::SYS_lsetxattr | libc::SYS_lremovexattr => self.at(process, (here, a), Last::Itself, Self::dressed),
            libc::SYS_fchmodat | FCHMODAT2 => self.at(process, (a, b), Last::Followed, Self::dressed),
            libc::SYS_bind => self.bind(process, b, c),
            libc::SYS_utimensat if b == 0 => self.descriptor(process, a, Self::dressed),
            libc::SYS_utimensat if d & libc::AT_SYMLINK_NOFOLLOW as u64 == 0 => {
                self.at(process, (a, b), Last::Followed, Self::dressed);
            }
            _ => {}
        }
    }

    fn at(&mut self, process: u32, place: (u64, u64), last: Last, change: impl FnOnce(&mut Self, &Spot)) {
        if let Ok(spot) = Spot::find(process, place, last) {
            change(self, &spot);
        }
    }

    fn descriptor(&mut self, process: u32, descriptor: u64, change: impl FnOnce(&mut Self, &Spot)) {
        if let Ok(spot) = Spot::descriptor(process, descriptor) {
            change(self, &spot);
        }
    }

    fn open(&mut self, process: u32, place: (u64, u64), flags: u64) {
        let has = |flag: i32| flags & flag as u64 != 0;
        let writes = flags & libc::O_ACCMODE as u64 != libc::O_RDONLY as u64 || has(libc::O_TRUNC);
        let is_new = has(libc::O_CREAT) && has(libc::O_EXCL);
        let last = if has(libc::O_NOFOLLOW) || is_new { Last::Itself } else { Last::Followed };
        self.at(process, place, last, |witness, spot| {
            if writes {
                witness.rewritten(spot);
            }
            if has(libc::O_CREAT) {
                witness.comes(spot);
            }
        });
    }

    fn link(&mut self, process: u32, from: (u64, u64), to: (u64, u64), flags: u64) {
        let last = if flags & libc::AT_SYMLINK_FOLLOW as u64 == 0 { Last::Itself } else { Last::Followed };
        let Ok(to) = Spot::find(process, to, Last::Itself) else { return };
        match Spot::find(process, from, last) {
            Ok(from) => self.gets_name(&from, &to),
            // A file that was made without a name has none to be found under.
            Err(_) => self.comes(&to),
        }
    }

    /// A socket may get a name.
    fn bind(&mut self, process: u32, address: u64, length: u64) {
        let mut family = [0; 2];
        let is_read = task::read_memory(process, address, &mut family).is_ok_and(|count| count == family.len());
        // A name that begins with a zero is no path but a word that the kernel keeps; that is an empty path to us.
        if is_read && i32::from(u16::from_ne_bytes(family)) == libc::AF_UNIX && length > family.len() as u64 {
            let path = (libc::AT_FDCWD as u64, address + family.len() as u64);
            self.at(process, path, Last::Itself, Self::comes);
        }
    }

    fn rename(&mut self, process: u32, from: (u64, u64), to: (u64, u64), flags: u64) {
        let find = |place: (u64, u64)| Spot::find(process, place, Last::Itself);
        let (Ok(from), Ok(to)) = (find(from), find(to)) else { return };
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
pub(in crate::rehearse) const SETXATTRAT: libc::c_long = 463;
pub(in crate::rehearse) const REMOVEXATTRAT: libc::c_long = 466;

/// What flags of a call say of a link at the end of its path.
fn last_of(flags: u64) -> Last {
    if flags & libc::AT_SYMLINK_NOFOLLOW as u64 == 0 { Last::Followed } else { Last::Itself }
}
