//! Cuts a change set into units, each of which is carried out by one rename.
//!
//! A new or a deleted tree is one unit, however large: it is built or kept beside its place and moved
//! as a whole. Units never overlap, so their order is free but for permission bits: what opens a
//! directory comes first, what closes one comes last. What only gets another owner, group or attributes is a unit
//! as well; the journal says what they are, since a change set does not know of them.

use super::ApplyError;
use super::slots::Berth;
use crate::bearing::Bearing;
use crate::bearings::Listed;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What an owner needs to change what is in a directory.
const CHANGE: u32 = 0o300;

/// One rename's worth of a change set.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// What is done.
    pub(crate) step: Step,
    /// The change of the unit's own path, then those of everything below it.
    pub(crate) changes: Vec<Change>,
    /// Where the new content lies before, and the old content after.
    pub(crate) slot: PathBuf,
    /// What kind of place that is.
    pub(crate) berth: Berth,
    /// What is borne by that which stays at the path, if that changes.
    pub(crate) bearing: Option<Rebears>,
}

/// What something bears before and after.
#[derive(Clone, Debug)]
pub(crate) struct Rebears {
    pub(crate) before: Bearing,
    pub(crate) after: Bearing,
}

/// What is done to a unit's path. The order is the order of execution.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Step {
    /// Permission bits are widened.
    Open,
    /// Something comes where nothing stood.
    Create,
    /// Something else takes the place.
    Replace,
    /// What stood there goes.
    Remove,
    /// What stands there gets another owner, group or attributes, and keeps its bits.
    Bear,
    /// Permission bits are narrowed.
    Close,
}

impl Unit {
    /// The unit's own change.
    pub(crate) fn own(&self) -> Option<&Change> {
        self.changes.first()
    }

    /// The unit's own path.
    pub(crate) fn path(&self) -> &Path {
        self.own().map_or(Path::new(""), |change| change.path.as_path())
    }

    /// Where a path of this unit lies when the unit is in its slot.
    pub(crate) fn in_slot(&self, path: &Path) -> PathBuf {
        // Mostly it is the unit's own, and that is told without taking paths apart.
        if path.as_os_str() == self.path().as_os_str() {
            return self.slot.clone();
        }
        match path.strip_prefix(self.path()) {
            Ok(rest) if !rest.as_os_str().is_empty() => self.slot.join(rest),
            _ => self.slot.clone(),
        }
    }

    /// Whether something is moved into place.
    pub(crate) fn brings(&self) -> bool {
        matches!(self.step, Step::Create | Step::Replace)
    }

    /// Whether this is a directory that is closed, and stays so or gets other bits at the end; until then it has to be open.
    pub(crate) fn is_door(&self) -> bool {
        let is_closed = |own: &Change| match (&own.before, &own.after) {
            (Image::Directory { mode }, Image::Directory { .. }) => mode & CHANGE != CHANGE,
            _ => false,
        };
        self.step == Step::Close && self.own().is_some_and(is_closed)
    }

    /// Whether something is moved out.
    pub(crate) fn takes(&self) -> bool {
        matches!(self.step, Step::Replace | Step::Remove)
    }
}

/// One path of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'u> {
    pub(crate) unit: &'u Unit,
    pub(crate) change: &'u Change,
}

impl Item<'_> {
    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.change.path.as_path()
    }

    /// Where it lies when its unit is in its slot.
    pub(crate) fn place(&self) -> PathBuf {
        self.unit.in_slot(self.path())
    }

    /// Whether this is the unit's own path.
    pub(crate) fn is_own(&self) -> bool {
        self.unit.own().is_some_and(|own| std::ptr::eq(own, self.change))
    }
}

/// Everything of these units that has something on one side: the directories, each after the one that it lies in,
/// and all else.
pub(crate) fn items<'u>(
    units: impl Iterator<Item = &'u Unit>,
    side: impl Fn(&Change) -> &Image,
) -> (Vec<Item<'u>>, Vec<Item<'u>>) {
    let items = units.flat_map(|unit| unit.changes.iter().map(move |change| Item { unit, change }));
    let there = items.filter(|item| !matches!(side(item.change), Image::Absent));
    there.partition(|item| matches!(side(item.change), Image::Directory { .. }))
}

/// The units of a change set in the order of their execution, without slots; `borne` says what is given in place to
/// what stays.
pub(crate) fn units(changes: &ChangeSet, borne: &[Listed]) -> Result<Vec<Unit>, ApplyError> {
    let rebears = |Listed(path, before, after): &Listed| {
        after.clone().map(|after| (path.clone(), Rebears { before: before.clone(), after }))
    };
    let mut borne: HashMap<_, _> = borne.iter().filter_map(rebears).collect();
    let mut sorted: Vec<&Change> = changes.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut units: Vec<Unit> = Vec::new();
    for change in sorted {
        if let Some(tree) = units.last_mut().filter(|unit| is_tree(unit) && is_below(change, unit.path())) {
            tree.changes.push(fits(tree, change)?.clone());
            continue;
        }
        let bearing = borne.remove(&change.path);
        if let Some(step) = step_of(change).or(bearing.as_ref().map(|_| Step::Bear)) {
            let (changes, slot) = (vec![change.clone()], PathBuf::new());
            units.push(Unit { step, changes, slot, berth: Berth::Beside, bearing });
        }
    }
    units.sort_by_cached_key(|unit| (unit.step, rank(unit)));
    Ok(units)
}

/// The deepest first; but a closed directory is opened before those in it can be.
fn rank(unit: &Unit) -> Result<usize, Reverse<usize>> {
    let depth = unit.path().components().count();
    if unit.step == Step::Open { Ok(depth) } else { Err(Reverse(depth)) }
}

fn step_of(change: &Change) -> Option<Step> {
    // What takes something from the owner comes last: until then he needs it.
    let modes = |before: u32, after: u32| match (before, after) {
        _ if before == after => None,
        _ if before & !after & 0o700 == 0 => Some(Step::Open),
        _ => Some(Step::Close),
    };
    match (&change.before, &change.after) {
        (Image::Absent, Image::Absent) => None,
        (Image::Absent, _) => Some(Step::Create),
        (_, Image::Absent) => Some(Step::Remove),
        // Until then it is held open.
        (Image::Directory { .. }, Image::Directory { .. }) if change.is_door() => Some(Step::Close),
        (Image::Directory { mode: before }, Image::Directory { mode: after }) => modes(*before, *after),
        (Image::File(before), Image::File(after)) if before.blob == after.blob => {
            match modes(before.mode, after.mode) {
                // Only the time differs, or nothing: setting it is as harmless as setting bits.
                None if after.modified.is_some() && before.modified != after.modified => Some(Step::Close),
                step => step,
            }
        }
        (before, after) if before.same_content(after) => None,
        _ => Some(Step::Replace),
    }
}

fn is_tree(unit: &Unit) -> bool {
    let directory = |image: &Image| matches!(image, Image::Directory { .. });
    unit.own().is_some_and(|own| directory(&own.before) != directory(&own.after))
}

fn is_below(change: &Change, path: &Path) -> bool {
    change.path.as_path() != path && change.path.as_path().starts_with(path)
}

/// Below a tree that comes nothing can have stood; below one that goes nothing can come.
fn fits<'c>(tree: &Unit, change: &'c Change) -> Result<&'c Change, ApplyError> {
    let comes = tree.own().is_some_and(|own| matches!(own.after, Image::Directory { .. }));
    let wrong = if comes { &change.before } else { &change.after };
    match wrong {
        Image::Absent => Ok(change),
        Image::File(_) | Image::Symlink { .. } | Image::Directory { .. } => {
            Err(ApplyError::Contradiction { path: change.path.clone() })
        }
    }
}
