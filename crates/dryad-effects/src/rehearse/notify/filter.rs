//! The filter that makes the kernel ask.

use super::super::Network;
use super::super::calls::{checked, own};
use super::super::witness;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// How the kernel names this machine's own system calls.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xc000_00f3;

/// What is asked about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Watch {
    /// Moves of names, and connections.
    Moves,
    /// Everything that changes a file, a directory or a name, and connections. Without the network there are only sockets that
    /// stay on this machine.
    Changes { network: Network },
}

/// Moves of names.
#[cfg(target_arch = "x86_64")]
const MOVES: &[libc::c_long] = &[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2];
#[cfg(target_arch = "aarch64")]
const MOVES: &[libc::c_long] = &[libc::SYS_renameat, libc::SYS_renameat2];
#[cfg(target_arch = "riscv64")]
const MOVES: &[libc::c_long] = &[libc::SYS_renameat2];

/// Other changes that every machine knows.
const CHANGES: &[libc::c_long] = &[
    libc::SYS_openat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    witness::FCHMODAT2,
    libc::SYS_utimensat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    witness::SETXATTRAT,
    witness::REMOVEXATTRAT,
    libc::SYS_bind,
];

/// Changes that only old machines have calls for.
#[cfg(target_arch = "x86_64")]
const OLD_CHANGES: &[libc::c_long] = &[
    libc::SYS_creat,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_symlink,
    libc::SYS_link,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CHANGES: &[libc::c_long] = &[];

/// Calls that open files, and which of their arguments says what for.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(libc::c_long, u32)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(libc::c_long, u32)] = &[(libc::SYS_openat, 2)];

/// Whoever opens with one of these may change something.
const WRITING: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// From here on the machine's own calls have second numbers, where a kernel knows them.
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// Where the kernel lays the call's number and its kind of machine.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;

/// Where it lays the first argument, and how far apart they lie; the lower half of each comes first.
const ARGUMENTS: (u32, u32) = (16, 8);

/// Asks that whoever waits be woken on the core that answers: both take turns anyway.
pub(super) fn wake_on_the_same_core(listener: &OwnedFd) {
    const SYNCHRONOUS: u64 = 1;
    // SAFETY: passes a number. Kernels that do not know it refuse, and nothing is lost.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNCHRONOUS);
    }
}

/// Has the watched calls of this process, and of all it will start, asked about on the descriptor returned.
pub(in super::super) fn watch_me(watch: Watch) -> io::Result<OwnedFd> {
    let mut program = program(watch);
    let filter =
        libc::sock_fprog { len: u16::try_from(program.len()).map_err(io::Error::other)?, filter: program.as_mut_ptr() };
    // A signal must not tear a call that is being answered; older kernels cannot promise that.
    let killable = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    install(killable, &filter).or_else(|_| install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter)).and_then(own)
}

fn install(flags: libc::c_ulong, filter: &libc::sock_fprog) -> io::Result<i64> {
    // SAFETY: the program is copied by the kernel before the call returns, and lives until then.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(filter)) };
    checked(result)
}

/// Asks about the watched calls, refuses the queues that would go round them, and sockets that lead to the network where
/// that is not wanted, lets the rest pass.
fn program(watch: Watch) -> Vec<libc::sock_filter> {
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let give = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    let no_such_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    // The calls of another kind of machine have other numbers, so that changes would go unseen.
    let (foreign, changes, opens) = match watch {
        Watch::Moves => (libc::SECCOMP_RET_ALLOW, [&[][..], &[][..]], &[][..]),
        Watch::Changes { .. } => (no_such_call, [CHANGES, OLD_CHANGES], OPENS),
    };
    let mut program = vec![load(MACHINE), skip_if(NATIVE, 1), give(foreign), load(NUMBER)];
    let at_least = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    program.extend([libc::sock_filter { jf: 1, ..statement(at_least, OTHER_NUMBERS) }, give(foreign)]);
    for (number, argument) in opens {
        let jump = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
        program.extend([
            skip_unless(*number as u32, 4),
            load(ARGUMENTS.0 + ARGUMENTS.1 * argument),
            libc::sock_filter { jf: 1, ..statement(jump, WRITING as u32) },
            give(libc::SECCOMP_RET_USER_NOTIF),
            give(libc::SECCOMP_RET_ALLOW),
        ]);
    }
    if watch == (Watch::Changes { network: Network::None }) {
        program.extend([
            skip_unless(libc::SYS_socket as u32, 5),
            load(ARGUMENTS.0),
            skip_if(libc::AF_UNIX as u32, 2),
            skip_if(libc::AF_NETLINK as u32, 1),
            give(libc::SECCOMP_RET_ERRNO | libc::ENETUNREACH as u32),
            give(libc::SECCOMP_RET_ALLOW),
        ]);
    }
    for number in MOVES.iter().chain(changes.into_iter().flatten()).chain(&[libc::SYS_connect]) {
        program.extend([skip_unless(*number as u32, 1), give(libc::SECCOMP_RET_USER_NOTIF)]);
    }
    program.extend([skip_unless(libc::SYS_io_uring_setup as u32, 1), give(no_such_call)]);
    program.push(give(libc::SECCOMP_RET_ALLOW));
    program
}

fn statement(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn skip_if(value: u32, count: u8) -> libc::sock_filter {
    libc::sock_filter { jt: count, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value) }
}

fn skip_unless(value: u32, count: u8) -> libc::sock_filter {
    libc::sock_filter { jf: count, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value) }
}
