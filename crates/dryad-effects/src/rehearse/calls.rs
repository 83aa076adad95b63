//! System calls that have no safe wrapper elsewhere, each behind one.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// What a process becomes when it splits in two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Twin {
    /// The new one.
    Child,
    /// The old one, told the id of the new one.
    Parent(rustix::process::Pid),
}

/// Splits this process; the child lives in new namespaces of the kinds in `namespaces`.
///
/// The older of the two calls for this is used on purpose: the filters of containers know it, and pretend that the
/// newer one does not exist.
pub(super) fn split(namespaces: libc::c_int) -> io::Result<Twin> {
    let flags = libc::c_ulong::try_from(namespaces | libc::SIGCHLD).map_err(io::Error::other)?;
    // SAFETY: without a stack and without shared memory this is a fork. The caller is the helper, which has
    // one thread, so that the child may go on as if nothing had happened.
    #[expect(unsafe_code, reason = "namespaces are made by a raw system call")]
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match i32::try_from(checked(result)?) {
        Ok(0) => Ok(Twin::Child),
        Ok(id) => rustix::process::Pid::from_raw(id).map(Twin::Parent).ok_or_else(|| io::ErrorKind::Other.into()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Ends this process here and now, without running anything that the twin will run.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    #[expect(unsafe_code, reason = "a forked process must not run its parent's exit handlers")]
    unsafe {
        libc::_exit(code)
    }
}

/// Has this thread run only while a processor has nothing else to do, and give way at once. Who cannot have that goes on
/// as it is.
pub(super) fn run_idly() {
    let least = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter outlives the call, which only reads it; 0 means the calling thread.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const least);
    }
}

/// Who is meant by everybody.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Everybody {
    /// All processes of the namespace but its first, the caller.
    Namespace,
    /// All that descend from the caller, who adopts those whose parents are gone.
    Descendants,
}

impl Everybody {
    /// Sends them a signal.
    pub(super) fn signal(self, signal: libc::c_int) {
        match self {
            Self::Namespace => signal_all(signal),
            Self::Descendants => {
                for process in descendants() {
                    // SAFETY: passes two numbers.
                    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
                    unsafe {
                        libc::kill(process, signal);
                    }
                }
            }
        }
    }
}

/// Everybody whose parents, or theirs, lead to this process.
fn descendants() -> Vec<libc::pid_t> {
    let parent_of = |process: libc::pid_t| -> Option<libc::pid_t> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // `pid (name) state parent …`, and the name may hold anything.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: std::collections::HashMap<libc::pid_t, libc::pid_t> =
        processes.filter_map(|process| Some((process, parent_of(process)?))).collect();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let leads_here = |process: &libc::pid_t| {
        std::iter::successors(Some(*process), |process| parents.get(process).copied())
            .skip(1)
            .take(parents.len())
            .any(|above| above == own)
    };
    parents.keys().copied().filter(leads_here).collect()
}

/// Sends a signal to everybody in this process namespace but the caller.
fn signal_all(signal: libc::c_int) {
    // SAFETY: passes two numbers.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    unsafe {
        libc::kill(-1, signal);
    }
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Closes every descriptor from this one on.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: passes three numbers. Whoever calls this has no use for what is closed.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0_u32) };
    if checked(result).is_ok() {
        return Ok(());
    }
    // A filter of a container may not know the call.
    let entries = fs::read_dir("/proc/self/fd")?.filter_map(Result::ok);
    let open: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|number| u32::try_from(*number).is_ok_and(|number| number >= first)) {
        // SAFETY: as above; that of the listing itself is closed already, which is an error without a consequence.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        unsafe {
            libc::close(descriptor);
        }
    }
    Ok(())
}

/// Makes a tree of mounts read-only, everything mounted in it included.
pub(super) fn make_read_only(tree: impl AsFd) -> io::Result<()> {
    const READ_ONLY: u64 = 1;
    let attributes = MountAttributes { set: READ_ONLY, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a literal, the attributes live until the call returns, and their size is told.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    checked(result).map(drop)
}

/// A descriptor that becomes readable when a child ends. The signal is blocked from now on.
pub(super) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by the first call and lives until the last returns.
    #[expect(unsafe_code, reason = "system calls without safe wrappers")]
    let descriptor = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    own(i64::from(descriptor))
}

/// Pays no heed to the keys of a terminal, which are meant for the command, nor to its end or to a word for the whole
/// group: dryad's end of the channel says when it is over, and what was seen must be told until then.
pub(super) fn ignore_keys() {
    let keys = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTOU, libc::SIGTTIN];
    for signal in keys.into_iter().chain([libc::SIGHUP, libc::SIGTERM]) {
        // SAFETY: ignoring a signal installs no code that could be called.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// Pays no heed to the quitting key for as long as it lives. Whoever is started meanwhile pays none either.
pub(super) struct Unquit {
    former: libc::sighandler_t,
}

impl Unquit {
    /// From now on.
    pub(super) fn new() -> Self {
        // SAFETY: ignoring a signal installs no code that could be called.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let former = unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
        Self { former }
    }
}

impl Drop for Unquit {
    fn drop(&mut self) {
        if self.former == libc::SIG_ERR {
            return;
        }
        // SAFETY: what is installed is what was there before.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        unsafe {
            libc::signal(libc::SIGQUIT, self.former);
        }
    }
}

/// Does something to the terminal that only those in the foreground may do without being stopped for it.
pub(super) fn from_background(work: impl FnOnce()) {
    // SAFETY: the sets are initialised before they are used and live until the last call returns; only this thread's
    // mask is changed, and then restored.
    #[expect(unsafe_code, reason = "system calls without safe wrappers")]
    unsafe {
        let (mut stopping, mut former) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut stopping);
        libc::sigaddset(&raw mut stopping, libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const stopping, &raw mut former);
        work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const former, std::ptr::null_mut());
    }
}

/// Makes the process with no network but its own loopback able to use that.
pub(super) fn raise_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: the request is a plain structure of which all bytes are valid; it lives until the call returns.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request)
    };
    checked(i64::from(result)).map(drop)
}

/// Lets the file system judge this process as if it were that user.
pub(super) fn act_as(user: u32, group: u32) {
    // SAFETY: passes numbers.
    #[expect(unsafe_code, reason = "system calls without safe wrappers")]
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// Takes over a descriptor that a system call has just returned.
pub(super) fn own(result: i64) -> io::Result<OwnedFd> {
    let descriptor = RawFd::try_from(checked(result)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it, for us alone.
    #[expect(unsafe_code, reason = "a descriptor from a raw system call")]
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A system call's result, or what it complained about.
pub(super) fn checked(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
