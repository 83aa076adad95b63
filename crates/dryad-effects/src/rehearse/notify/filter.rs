//! The filter that makes the kernel ask.

use super::super::calls::{checked, own};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// How the kernel names this machine's own system calls.
#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xc000_00f3;

/// The calls that are asked about.
#[cfg(target_arch = "x86_64")]
const WATCHED: [libc::c_long; 4] = [libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_connect];
#[cfg(target_arch = "aarch64")]
const WATCHED: [libc::c_long; 3] = [libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_connect];
#[cfg(target_arch = "riscv64")]
const WATCHED: [libc::c_long; 2] = [libc::SYS_renameat2, libc::SYS_connect];

/// Where the kernel lays the call's number and its kind of machine.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;

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
pub(in super::super) fn watch_me() -> io::Result<OwnedFd> {
    let mut program = program();
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

/// Asks about the watched calls, refuses the queues that would go round them, lets the rest pass.
fn program() -> Vec<libc::sock_filter> {
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let give = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    let no_such_call = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    // Each of these is one comparison, and if it holds, the return two instructions later is reached.
    let mut program = vec![load(MACHINE), skip_if(NATIVE, 1), give(libc::SECCOMP_RET_ALLOW), load(NUMBER)];
    for number in WATCHED {
        program.extend([skip_unless(number as u32, 1), give(libc::SECCOMP_RET_USER_NOTIF)]);
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
