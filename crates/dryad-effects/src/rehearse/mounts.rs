//! Mounts by descriptor, and the two file systems every rehearsal has for itself: `/proc` and `/dev`.

use super::{calls, streams};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, mkdirat, openat, statx, symlinkat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// Devices that do no harm.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Parts of `/proc` through which a process with the user id 0 could change the machine.
const MACHINE: [&str; 5] = ["proc/sys", "proc/sysrq-trigger", "proc/irq", "proc/bus", "proc/fs"];

/// Which shared memory a command sees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Memory {
    /// Its own.
    Own,
    /// That of the machine, to be read, because a tree that gets a layer lies in it.
    Real,
}

/// `STATX_MNT_ID`.
const MOUNT_ID: u32 = 0x1000;

/// A new file system, mounted nowhere yet. What the kernel says against it becomes part of the error.
pub(super) fn file_system(
    kind: &CStr,
    options: &[(&str, &str)],
    flags: &[&CStr],
    attributes: MountAttrFlags,
) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    let make = || -> rustix::io::Result<OwnedFd> {
        for (key, value) in options {
            fsconfig_set_string(&context, *key, *value)?;
        }
        for flag in flags {
            fsconfig_set_flag(&context, *flag)?;
        }
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    make().map_err(|errno| explained(&context, errno))
}

/// The error together with the last thing the kernel wrote about it.
fn explained(context: &OwnedFd, errno: rustix::io::Errno) -> io::Error {
    let mut words = [0; 512];
    let error = io::Error::from(errno);
    match rustix::io::read(context, &mut words) {
        Ok(count) => {
            let said = String::from_utf8_lossy(words.get(..count).unwrap_or_default()).trim().to_owned();
            io::Error::new(error.kind(), format!("{error} ({said})"))
        }
        Err(_) => error,
    }
}

/// A copy of a mount, mounted nowhere yet.
pub(super) fn clone_of(at: impl AsFd, path: &Path, flags: OpenTreeFlags) -> io::Result<OwnedFd> {
    let flags = flags | OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(at, path, flags)?)
}

/// Mounts it at a path, seen from `at`.
pub(super) fn attach(mount: &OwnedFd, at: impl AsFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(mount, "", at, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A short name for what a descriptor stands for, for as long as it is open.
pub(super) fn path_of(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// The mount something lies on; two with the same device may differ in this.
pub(super) fn mount_id(descriptor: BorrowedFd<'_>) -> io::Result<u64> {
    let facts = statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::from_bits_retain(MOUNT_ID))?;
    Ok(facts.stx_mnt_id)
}

/// Mounts a `/proc` that shows the new namespace alone, and bounds the number of processes where the kernel can.
pub(super) fn mount_proc(tree: &OwnedFd, processes: u32) -> io::Result<()> {
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = file_system(c"proc", &[], &[], attributes)?;
    attach(&proc, tree, Path::new("proc"))?;
    // Kernels that know this limit for one namespace only are recent; for the others there is another one.
    if let Ok(limit) =
        openat(tree, "proc/sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC | OFlags::TRUNC, Mode::empty())
    {
        rustix::io::write(&limit, processes.to_string().as_bytes()).ok();
    }
    for part in MACHINE {
        let Ok(copy) = clone_of(tree, Path::new(part), OpenTreeFlags::empty()) else { continue };
        calls::make_read_only(&copy)?;
        attach(&copy, tree, Path::new(part))?;
    }
    Ok(())
}

/// Mounts a `/dev` with the harmless devices, and terminals and shared memory of its own; the latter unless work is
/// done there.
pub(super) fn mount_dev(tree: &OwnedFd, quota: u64, memory: Memory) -> io::Result<()> {
    let nosuid = MountAttrFlags::MOUNT_ATTR_NOSUID;
    let dev = file_system(c"tmpfs", &[("size", "1048576"), ("mode", "0755")], &[], nosuid)?;
    let harmless = DEVICES.iter().map(|name| (*name, Path::new("/dev").join(name)));
    let terminal = streams::terminal().map(|path| (streams::TERMINAL, path));
    let originals: Vec<(&str, OwnedFd)> = harmless
        .chain(terminal)
        .filter_map(|(name, path)| Some((name, clone_of(CWD, &path, OpenTreeFlags::empty()).ok()?)))
        .collect();
    let shared = match memory {
        Memory::Own => {
            let size = quota.to_string();
            file_system(c"tmpfs", &[("size", &size), ("mode", "1777")], &[], nosuid)?
        }
        Memory::Real => {
            let real = clone_of(CWD, Path::new("/dev/shm"), OpenTreeFlags::AT_RECURSIVE)?;
            calls::make_read_only(&real)?;
            real
        }
    };
    attach(&dev, tree, Path::new("dev"))?;
    for (name, device) in &originals {
        openat(&dev, *name, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        attach(device, &dev, Path::new(name))?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlinkat(target, &dev, name)?;
    }
    for name in ["pts", "shm"] {
        mkdirat(&dev, name, Mode::RWXU | Mode::RWXG | Mode::RWXO)?;
    }
    attach(&shared, &dev, Path::new("shm"))?;
    // A rehearsal without terminals is better than none.
    if let Ok(terminals) = file_system(c"devpts", &[("ptmxmode", "0666"), ("mode", "0620")], &[c"newinstance"], nosuid)
    {
        attach(&terminals, &dev, Path::new("pts"))?;
    }
    Ok(())
}
