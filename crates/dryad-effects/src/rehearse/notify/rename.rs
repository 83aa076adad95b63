//! Renames that the overlay refuses, done piece by piece.
//!
//! The kernel is asked first, on behalf of whoever called: its answer holds, unless it says that the two names
//! lie on different devices where outside they do not.

use super::super::calls::act_as;
use super::super::permit::Permit;
use super::super::stage::Covered;
use super::Verdict;
use super::task::{self, Place};
use crate::rehearse::move_tree::{Entry, move_entry};
use rustix::fs::{AtFlags, RenameFlags, fstat, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::OsString;

/// Does what an overlay refuses.
#[derive(Debug)]
pub(super) struct Mover {
    /// Trees with a layer.
    trees: Vec<Covered>,
    /// Whether callers may be somebody else than this process.
    is_root: bool,
}

impl Mover {
    pub(super) fn new(trees: Vec<Covered>) -> Self {
        Self { trees, is_root: rustix::process::geteuid().is_root() }
    }

    /// Answers a rename from one place to another; both are a directory's descriptor and the address of a path.
    pub(super) fn rename(&self, process: u32, from: (u64, u64), to: (u64, u64), flags: u32) -> Verdict {
        let places = task::find(process, from).and_then(|from| Ok((from, task::find(process, to)?)));
        let Ok((from, to)) = places else { return Verdict::GoOn };
        if let Some(refusal) = self.refusal(&from).or_else(|| self.refusal(&to)) {
            return Verdict::Done(Err(refusal.raw_os_error()));
        }
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

    /// Why a name must stay as it is: it lies in a root that protects it, and whose layer does not.
    fn refusal(&self, place: &Place) -> Option<Errno> {
        if self.trees.iter().all(|tree| tree.permit == Permit::All) {
            return None;
        }
        let parent = fstat(&place.parent).ok()?;
        let is_root = |tree: &&Covered| (tree.device, tree.inode) == (parent.st_dev, parent.st_ino);
        let permit = self.trees.iter().find(is_root)?.permit;
        let owner = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|facts| facts.st_uid);
        let refusal = if permit == Permit::None { Errno::ACCESS } else { Errno::PERM };
        (!permit.allows(owner)).then_some(refusal)
    }

    /// Whether it is a rename that works outside and not inside.
    fn concerns(&self, from: &Place, to: &Place, flags: u32) -> bool {
        let mount_of = |place: &Place| {
            let device = fstat(&place.parent).ok()?.st_dev;
            let tree = self.trees.iter().find(|tree| tree.device == device)?;
            Some((device, tree.mount))
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
    // Once it lies beside its place the rest is a rename that the overlay knows.
    let rest = Place { parent: rustix::io::dup(&to.parent)?, name: free_name(to) };
    if flags.contains(RenameFlags::EXCHANGE) {
        return exchange(from, to, &rest);
    }
    if flags.contains(RenameFlags::NOREPLACE) && Entry::look(&to.parent, &to.name).is_some() {
        return Err(Errno::EXIST);
    }
    relocate(from, &rest)?;
    let renamed = renameat_with(&rest.parent, &rest.name, &to.parent, &to.name, flags);
    renamed.inspect_err(|_| {
        relocate(&rest, from).ok();
    })
}

/// Lets two entries change places by way of a third place; where that fails both are back where they were.
fn exchange(one: &Place, other: &Place, rest: &Place) -> Result<(), Errno> {
    relocate(other, rest)?;
    relocate(one, other).inspect_err(|_| {
        relocate(rest, other).ok();
    })?;
    relocate(rest, one).inspect_err(|_| {
        relocate(other, one).ok();
        relocate(rest, other).ok();
    })
}

fn relocate(from: &Place, to: &Place) -> Result<(), Errno> {
    move_entry((&from.parent, &from.name), (&to.parent, &to.name))
}

/// A name beside a place that nobody uses.
fn free_name(place: &Place) -> OsString {
    let name = |number: u32| OsString::from(format!(".dryad-{number}"));
    let is_free = |name: &OsString| statat(&place.parent, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
    (0..).map(name).find(is_free).unwrap_or_default()
}
