//! What this kernel offers for keeping commands in check, found out by trying.
//!
//! Commands run directly today; this tells what a safer way of running them would have to work with.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// What was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Probe {
    /// Whether an ordinary process may make user and mount namespaces; else why not.
    pub namespaces: Result<(), String>,
    /// Whether the kernel has overlayfs.
    pub overlay: bool,
    /// The version of landlock, if the kernel has it.
    pub landlock: Option<u32>,
}

/// Tries everything out. Takes a few milliseconds and leaves nothing behind.
pub fn probe() -> Probe {
    let filesystems = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    Probe {
        namespaces: namespaces().map_err(|error| error.to_string()),
        overlay: filesystems.split_whitespace().any(|name| name == "overlay"),
        landlock: landlock(),
    }
}

/// Lets a child make the namespaces and exit.
fn namespaces() -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let make = || {
        // SAFETY: `unshare` takes flags alone and touches no memory of this process.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: `make` makes one system call and allocates nothing, as is required between fork and exec.
    #[expect(unsafe_code, reason = "the child must change itself before it becomes another program")]
    let command = unsafe { command.pre_exec(make) };
    command.status().map(|_| ())
}

/// Asks the kernel for the version of landlock.
fn landlock() -> Option<u32> {
    /// `LANDLOCK_CREATE_RULESET_VERSION`.
    const ASK_VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag, no attributes and no size the call reads nothing and returns a number.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, ASK_VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_probes_agree() {
        assert_eq!(probe(), probe());
    }
}
