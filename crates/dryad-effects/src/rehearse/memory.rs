//! Layers in memory, for trees whose file system cannot hold them.
//!
//! They live as long as somebody has a descriptor of theirs: dryad, which reads them when the command is over. Another
//! command goes on with what they hold. Its namespaces are new ones, which cannot mount what belongs to others, so it
//! gets a copy: the earlier layers stay as they are until it is over, also when it never starts.

use super::channel;
use super::message::{Answer, Stage};
use super::mounts;
use super::move_tree::{copy_tree, open_directory};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Stat, Uid, chmodat, chownat, mkdirat};
use rustix::mount::MountAttrFlags;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Room beyond what a command may write. A file that is copied up and does not fit is gone again at once, and nobody has
/// seen that the limit was reached; here it fits, or takes long enough to be seen.
const OVERFLOW: u64 = 512 << 20;

/// Where layers are that are not on the disk.
#[derive(Debug)]
pub(super) struct Memory<'m> {
    layers: OwnedFd,
    /// What an earlier command left.
    earlier: Option<&'m OwnedFd>,
}

impl<'m> Memory<'m> {
    /// Mounts a file system in memory if layers need one, and tells the outside of it, which keeps it alive.
    pub(super) fn of(stage: &Stage, earlier: Option<&'m OwnedFd>, control: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        if stage.overlays.iter().all(|overlay| overlay.layer.is_some()) {
            return Ok(None);
        }
        let size = stage.quota.saturating_add(OVERFLOW).to_string();
        let options = [("size", size.as_str()), ("mode", "0700")];
        let layers = mounts::file_system(c"tmpfs", &options, &[], MountAttrFlags::empty())?;
        mounts::attach(&layers, CWD, stage.mount_point.as_path())?;
        channel::send(control, &Answer::Layer, &[layers.as_fd()])?;
        Ok(Some(Self { layers, earlier }))
    }

    /// Makes layer `index` for a tree with these facts. It holds what the earlier one holds.
    pub(super) fn layer(&self, index: usize, tree: &Stat) -> io::Result<OwnedFd> {
        let name = index.to_string();
        mkdirat(&self.layers, &name, Mode::RWXU)?;
        let layer = open_directory(&self.layers, OsStr::new(&name))?;
        mkdirat(&layer, "work", Mode::RWXU)?;
        mkdirat(&layer, "upper", Mode::RWXU)?;
        // One's own directory cannot always be given away; that is the same as for a layer on the disk.
        let owner = (Some(Uid::from_raw(tree.st_uid)), Some(Gid::from_raw(tree.st_gid)));
        chownat(&layer, "upper", owner.0, owner.1, AtFlags::empty()).ok();
        chmodat(&layer, "upper", Mode::from_raw_mode(tree.st_mode), AtFlags::empty())?;
        if let Some(earlier) = self.earlier {
            let from = open_directory(earlier, OsStr::new(&name))?;
            copy_tree((&from, OsStr::new("upper")), (&layer, OsStr::new("upper")))?;
        }
        Ok(layer)
    }
}
