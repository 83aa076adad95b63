//! Watched system calls: those that move a name and those that connect a socket.
//!
//! An overlay refuses to rename a directory that it has not made itself, and programs that do not expect that
//! fail. So the first process inside answers these calls: it moves directories piece by piece ([`rename`]),
//! notes connections ([`ledger`]), and lets everything else go on as if nobody had looked.

mod filter;
pub(super) mod ledger;
mod rename;
pub(super) mod task;

pub(super) use filter::{Watch, watch_me};

use super::calls::{self, checked};
use super::stage::Covered;
use ledger::Ledger;
use rename::Mover;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What a watched call is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// The kernel shall do it.
    GoOn,
    /// It was done, or refused with this error.
    Done(Result<(), i32>),
}

/// Decides on watched calls.
pub(super) trait Judge {
    /// Decides on one call.
    fn judge(&mut self, call: &libc::seccomp_notif) -> Verdict;

    /// Hands over the connections seen.
    fn ledger(&mut self) -> Ledger;
}

/// Answers the watched calls of everybody inside.
pub(super) struct Notifier<'j> {
    listener: OwnedFd,
    judge: &'j mut dyn Judge,
}

/// Judges the calls of a rehearsal: does what an overlay refuses, and notes connections.
#[derive(Debug)]
pub(super) struct Usher {
    ledger: Ledger,
    mover: Mover,
}

impl<'j> Notifier<'j> {
    pub(super) fn new(listener: OwnedFd, judge: &'j mut dyn Judge) -> Self {
        filter::wake_on_the_same_core(&listener);
        Self { listener, judge }
    }

    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Whether a [`knock`] of the process at the other end of `link` is heard here, and answers it. Without one the
    /// process goes on, and `link` tells.
    pub(super) fn hears_knock(&mut self, link: &UnixStream) -> bool {
        let listener = self.listener.as_fd();
        let mut events = [PollFd::from_borrowed_fd(listener, PollFlags::IN), PollFd::new(link, PollFlags::IN)];
        while poll(&mut events, None) == Err(Errno::INTR) {}
        // Whoever knocks waits for the answer. So when the other end is closed already, what is heard here is something
        // that the shell does.
        let [heard, gone] = events.map(|event| !event.revents().is_empty());
        if gone || !heard {
            return false;
        }
        receive(&self.listener).and_then(|call| answer(&self.listener, call.id, Verdict::GoOn)).is_ok()
    }

    /// Answers one call that waits.
    pub(super) fn serve(&mut self) {
        let Ok(call) = receive(&self.listener) else { return };
        let verdict = self.judge.judge(&call);
        answer(&self.listener, call.id, verdict).ok();
    }

    /// The connections seen so far.
    pub(super) fn ledger(&mut self) -> Ledger {
        self.judge.ledger()
    }
}

impl Usher {
    /// `trees` are those with a layer.
    pub(super) fn new(trees: Vec<Covered>) -> Self {
        Self { ledger: Ledger::default(), mover: Mover::new(trees) }
    }
}

impl Judge for Usher {
    fn judge(&mut self, call: &libc::seccomp_notif) -> Verdict {
        let [a, b, c, d, e, _] = call.data.args;
        let here = libc::AT_FDCWD as u64;
        let number = libc::c_long::from(call.data.nr);
        if number == libc::SYS_connect {
            self.ledger.note(call.pid, b, c);
            return Verdict::GoOn;
        }
        #[cfg(target_arch = "x86_64")]
        if number == libc::SYS_rename {
            return self.mover.rename(call.pid, (here, a), (here, b), 0);
        }
        #[cfg(not(target_arch = "riscv64"))]
        if number == libc::SYS_renameat {
            return self.mover.rename(call.pid, (a, b), (c, d), 0);
        }
        if number == libc::SYS_renameat2 {
            return self.mover.rename(call.pid, (a, b), (c, d), e as u32);
        }
        let _ = here;
        Verdict::GoOn
    }

    fn ledger(&mut self) -> Ledger {
        std::mem::take(&mut self.ledger)
    }
}

/// Takes one waiting call.
fn receive(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    // SAFETY: the structure is made of numbers, so that zeros are valid, and the kernel wants zeros; it lives
    // until the call returns.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    unsafe {
        let mut call: libc::seccomp_notif = std::mem::zeroed();
        let result = libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call);
        checked(i64::from(result)).map(|_| call)
    }
}

/// Answers a call. One whose process has died meanwhile needs none.
fn answer(listener: &OwnedFd, id: u64, verdict: Verdict) -> io::Result<()> {
    const CONTINUE: u32 = 1;
    let (error, flags) = match verdict {
        Verdict::GoOn => (0, CONTINUE),
        Verdict::Done(Ok(())) => (0, 0),
        Verdict::Done(Err(errno)) => (-errno, 0),
    };
    let mut response = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: the structure lives until the call returns.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
    checked(i64::from(result)).map(drop)
}

/// Makes a connection that sends nothing to anybody. Where another supervisor answers such calls, it is not heard here.
pub(super) fn knock() {
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    if let (Ok(socket), Ok(nobody)) = (socket, SocketAddrUnix::new("/proc/nobody")) {
        // Whether it comes about says nothing.
        connect(&socket, &nobody).ok();
    }
}

/// Finds out whether watching works: a child's call is answered with an error that the kernel would not give.
pub(super) fn try_out() -> io::Result<()> {
    const ODD: i32 = libc::EXDEV;
    let (ours, theirs) = UnixStream::pair()?;
    match calls::split(0)? {
        calls::Twin::Child => {
            let listener =
                rustix::thread::set_no_new_privs(true).map_err(io::Error::from).and_then(|()| watch_me(Watch::Moves));
            let sent = listener.and_then(|listener| super::channel::send(&theirs, &true, &[listener.as_fd()]));
            let renamed = sent.and_then(|()| std::fs::rename("/proc/no such file", "/proc/no such file either"));
            let is_odd = renamed.is_err_and(|error| error.raw_os_error() == Some(ODD));
            calls::exit_now(i32::from(!is_odd));
        }
        calls::Twin::Parent(child) => {
            drop(theirs);
            let mut inbox = super::channel::Inbox::default();
            inbox.wait::<bool>(&ours)?;
            if let Some(listener) = inbox.descriptor() {
                let call = receive(&listener)?;
                answer(&listener, call.id, Verdict::Done(Err(ODD)))?;
            }
            let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())?;
            match status.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                _ => Err(io::Error::other("system calls cannot be watched here")),
            }
        }
    }
}
