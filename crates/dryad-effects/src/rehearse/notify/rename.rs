//! Renames that the overlay refuses, done piece by piece.
//!
//! The kernel is asked first, on behalf of whoever called: its answer holds, unless it says that the two names
//! lie on different devices where outside they do not.

use super::super::calls::act_as;
use super::Verdict;
use super::task::{self, Place};
use crate::rehearse::move_tree::{Entry, move_entry};
use rustix::fs::{AtFlags, RenameFlags, fstat, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::OsString;

/// Does what an overlay refuses.
#[derive(Debug)]
pub(super) struct Mover {
    /// Trees with a layer: the device inside, the mount outside.
    trees: Vec<(u64, u64)>,
    /// Whether callers may be somebody else than this process.
    is_root: bool,
}

impl Mover {
    pub(super) fn new(trees: Vec<(u64, u64)>) -> Self {
        Self { trees, is_root: rustix::process::geteuid().is_root() }
    }

    /// Answers a rename from one place to another; both are a directory's descriptor and the address of a path.
    pub(super) fn rename(&self, process: u32, from: (u64, u64), to: (u64, u64), flags: u32) -> Verdict {
        let places = task::find(process, from).and_then(|from| Ok((from, task::find(process, to)?)));
        let Ok((from, to)) = places else { return Verdict::GoOn };
        if !self.concerns(&from, &to, flags) {
            return Verdict::GoOn;
        }
        let who = if self.is_root { task::identity(process).ok() } else { None };
        if let Some((user, group)) = who {
            act_as(user, group);
        }
        let result = rename_or_move(&from, &to, RenameFlags::from_bits_retain(flags));
        if who.is_some() {
            act_as(0, 0);
        }
        Verdict::Done(result.map_err(Errno::raw_os_error))
    }

    /// Whether it is a rename that works outside and not inside.
    fn concerns(&self, from: &Place, to: &Place, flags: u32) -> bool {
        let mount_of = |place: &Place| {
            let device = fstat(&place.parent).ok()?.st_dev;
            let (_, mount) = self.trees.iter().find(|(inside, _)| *inside == device)?;
            Some((device, *mount))
        };
        let (Some((from_device, from_mount)), Some((to_device, to_mount))) = (mount_of(from), mount_of(to)) else {
            return false;
        };
        let exchanges = flags & RenameFlags::EXCHANGE.bits() != 0;
        from_mount == to_mount && (from_device != to_device || is_directory(from) || (exchanges && is_directory(to)))
    }
}

fn is_directory(place: &Place) -> bool {
    Entry::look(&place.parent, &place.name).is_some_and(|entry| entry.is_directory())
}

fn rename_or_move(from: &Place, to: &Place, flags: RenameFlags) -> Result<(), Errno> {
    match renameat_with(&from.parent, &from.name, &to.parent, &to.name, flags) {
        Err(Errno::XDEV) => {}
        other => return other,
    }
    if flags.contains(RenameFlags::EXCHANGE) {
        let rest = Place { parent: rustix::io::dup(&to.parent)?, name: free_name(to) };
        relocate(to, &rest)?;
        relocate(from, to)?;
        return relocate(&rest, from);
    }
    make_room(from, to, flags)?;
    relocate(from, to)
}

fn relocate(from: &Place, to: &Place) -> Result<(), Errno> {
    move_entry((&from.parent, &from.name), (&to.parent, &to.name))
}

/// Takes away what a rename replaces, by the rules of a rename.
fn make_room(from: &Place, to: &Place, flags: RenameFlags) -> Result<(), Errno> {
    let Some(there) = Entry::look(&to.parent, &to.name) else { return Ok(()) };
    if flags.contains(RenameFlags::NOREPLACE) {
        return Err(Errno::EXIST);
    }
    match (is_directory(from), there.is_directory()) {
        (true, true) => rustix::fs::unlinkat(&to.parent, &to.name, AtFlags::REMOVEDIR),
        (true, false) => Err(Errno::NOTDIR),
        (false, true) => Err(Errno::ISDIR),
        (false, false) => rustix::fs::unlinkat(&to.parent, &to.name, AtFlags::empty()),
    }
}

/// A name beside a place that nobody uses.
fn free_name(place: &Place) -> OsString {
    let name = |number: u32| OsString::from(format!(".dryad-{number}"));
    let is_free = |name: &OsString| statat(&place.parent, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
    (0..).map(name).find(is_free).unwrap_or_default()
}
