//! Builds the place a command is rehearsed in; runs as the first process of the new namespaces.
//!
//! ```text
//! /                 everything as it is, read-only           (one recursive bind)
//! ├─ granted root   writable: what is written goes to a layer (one overlay each), unless it is only looked at
//! ├─ proc, dev      its own
//! └─ dryad's state  empty; control sockets answer nobody
//! ```
//!
//! Invariant: nothing that the command can reach leads to a writable part of the real tree. All paths go through
//! descriptors, so that neither their length nor what they are made of matters.

use super::calls;
use super::memory::Memory;
use super::message::{Failure, Overlay, Stage};
use super::mounts;
use super::permit::Permit;
use super::quota::Layer;
use dryad_protocol::path::FilePath;
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, fstat, fstatvfs, openat};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, OpenTreeFlags, UnmountFlags, mount_change, unmount};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The place, built and entered.
#[derive(Debug)]
pub(super) struct Entered {
    /// The directories that the layers fill.
    pub(super) layers: Vec<Layer>,
    /// The trees with a layer.
    pub(super) trees: Vec<Covered>,
    /// Why processes are seen as outside, if they are.
    pub(super) shared_processes: Option<String>,
    /// Trees that stay read-only although they were wanted, and why.
    pub(super) read_only: Vec<(FilePath, String)>,
}

/// A tree with a layer, as it is known inside.
#[derive(Debug)]
pub(super) struct Covered {
    /// Its root.
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The mount it really lies on.
    pub(super) mount: u64,
    /// What may be done to the names in its root.
    pub(super) permit: Permit,
}

/// The three directories of an overlay.
struct Parts {
    lower: OwnedFd,
    upper: OwnedFd,
    work: OwnedFd,
}

/// Builds the place and moves in. Where layers are in memory, `control` gets a descriptor of theirs, and what `earlier`
/// ones hold comes into them.
pub(super) fn enter(stage: &Stage, earlier: Option<&OwnedFd>, control: BorrowedFd<'_>) -> Result<Entered, Failure> {
    let alone = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("keep mounts apart", mount_change("/", alone).map_err(io::Error::from))?;
    let memory = step("keep layers in memory", Memory::of(stage, earlier, control))?;
    let parts: Vec<io::Result<Parts>> =
        stage.overlays.iter().enumerate().map(|(index, overlay)| open_parts(overlay, index, memory.as_ref())).collect();
    let passed: Vec<(&FilePath, OwnedFd)> = stage
        .passed
        .iter()
        .filter_map(|path| Some((path, mounts::clone_of(CWD, path.as_path(), OpenTreeFlags::empty()).ok()?)))
        .collect();
    let tree = step("clone the tree", mounts::clone_of(CWD, Path::new("/"), OpenTreeFlags::AT_RECURSIVE))?;
    step("make the tree read-only", calls::make_read_only(&tree))?;
    step("mount the tree", mounts::attach(&tree, CWD, stage.mount_point.as_path()))?;
    let mut entered = Entered { layers: Vec::new(), trees: Vec::new(), shared_processes: None, read_only: Vec::new() };
    entered.shared_processes = mounts::mount_proc(&tree, stage.processes).err().map(|error| error.to_string());
    let in_memory = stage.overlays.iter().any(|overlay| overlay.root.as_path().starts_with("/dev/shm"));
    let memory = if in_memory { mounts::Memory::Real } else { mounts::Memory::Own };
    step("make devices", mounts::mount_dev(&tree, stage.quota, memory))?;
    for (overlay, parts) in stage.overlays.iter().zip(parts) {
        match parts.and_then(|parts| mount_overlay(overlay, parts, &tree)) {
            Ok((directory, covered)) => {
                entered.layers.push(Layer { directory, in_memory: overlay.layer.is_none() });
                entered.trees.push(covered);
            }
            Err(error) if overlay.needed => {
                return Err(Failure::of(format!("put a layer over {}", overlay.root), error));
            }
            Err(error) => entered.read_only.push((overlay.root.clone(), error.to_string())),
        }
    }
    for path in &stage.unlayered {
        step(&format!("show {path}"), show(&tree, path.as_path()))?;
    }
    for path in &stage.hidden {
        step(&format!("hide {path}"), hide(&tree, path.as_path()))?;
    }
    for (path, file) in passed {
        // Who passes it on may do without it.
        mounts::attach(&file, &tree, relative(path.as_path())).ok();
    }
    for path in &stage.silenced {
        step(&format!("silence {path}"), silence(&tree, path.as_path()))?;
    }
    step("move into the tree", move_in(&tree))?;
    if !stage.network {
        step("raise the loopback", calls::raise_loopback())?;
    }
    Ok(entered)
}

fn step<T>(name: &str, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| Failure::of(name, error))
}

fn open_parts(overlay: &Overlay, index: usize, memory: Option<&Memory<'_>>) -> io::Result<Parts> {
    let directory = |at: BorrowedFd<'_>, path: &Path| {
        openat(at, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
    };
    let lower = directory(CWD, overlay.root.as_path())?;
    let layer = match (&overlay.layer, memory) {
        (Some(layer), _) => directory(CWD, layer.as_path())?,
        (None, Some(memory)) => memory.layer(index, &fstat(&lower)?)?,
        (None, None) => return Err(io::ErrorKind::NotFound.into()),
    };
    let (upper, work) = (directory(layer.as_fd(), Path::new("upper"))?, directory(layer.as_fd(), Path::new("work"))?);
    Ok(Parts { lower, upper, work })
}

/// Mounts an overlay in the new tree; returns the layer, and how the tree is known inside.
fn mount_overlay(overlay: &Overlay, parts: Parts, tree: &OwnedFd) -> io::Result<(OwnedFd, Covered)> {
    let named = |descriptor: &OwnedFd| mounts::path_of(descriptor.as_fd());
    let (lower, upper, work) = (named(&parts.lower), named(&parts.upper), named(&parts.work));
    let options =
        [("lowerdir", lower.as_str()), ("upperdir", upper.as_str()), ("workdir", work.as_str()), ("index", "off")];
    let attributes = attributes_of(&parts.lower)?;
    let mount = mounts::file_system(c"overlay", &options, &[c"userxattr", c"volatile"], attributes)?;
    let (facts, outside) = (fstat(&mount)?, mounts::mount_id(parts.lower.as_fd())?);
    mounts::attach(&mount, tree, relative(overlay.root.as_path()))?;
    let covered = Covered { device: facts.st_dev, inode: facts.st_ino, mount: outside, permit: overlay.permit };
    Ok((parts.upper, covered))
}

/// The restrictions of the mount a directory lies on.
fn attributes_of(directory: &OwnedFd) -> io::Result<MountAttrFlags> {
    let flags = fstatvfs(directory)?.f_flag;
    let pairs = [
        (StatVfsMountFlags::RDONLY, MountAttrFlags::MOUNT_ATTR_RDONLY),
        (StatVfsMountFlags::NOSUID, MountAttrFlags::MOUNT_ATTR_NOSUID),
        (StatVfsMountFlags::NODEV, MountAttrFlags::MOUNT_ATTR_NODEV),
        (StatVfsMountFlags::NOEXEC, MountAttrFlags::MOUNT_ATTR_NOEXEC),
    ];
    Ok(pairs.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, attribute)| attribute).collect())
}

/// Puts the real tree back in its place, below a layer over something around it. It can only be read.
fn show(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let real = mounts::clone_of(CWD, path, OpenTreeFlags::AT_RECURSIVE)?;
    calls::make_read_only(&real)?;
    mounts::attach(&real, tree, relative(path))
}

/// Puts an empty directory in a directory's place. What cannot be seen, as in a `/dev` of its own, is hidden.
fn hide(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let empty =
        mounts::file_system(c"tmpfs", &[("size", "4096"), ("mode", "0555")], &[], MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    cover(&empty, tree, path)
}

/// Puts what is no socket in a socket's place. One that went away meanwhile needs no silencing.
fn silence(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    cover(&mounts::clone_of(CWD, Path::new("/dev/null"), OpenTreeFlags::empty())?, tree, path)
}

/// Mounts something over what stands at a path, if anything does.
fn cover(mount: &OwnedFd, tree: &OwnedFd, path: &Path) -> io::Result<()> {
    match mounts::attach(mount, tree, relative(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the new tree the root and lets go of the old one.
fn move_in(tree: &OwnedFd) -> io::Result<()> {
    rustix::process::fchdir(tree)?;
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// A path as seen from the root.
pub(super) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
