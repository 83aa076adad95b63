//! Gives every unit its slot: where the new content lies before the swap, and the old one after it.
//!
//! Mostly that is a name beside the path, from which the before-image is moved into the vault. Files that are replaced
//! in a large change have their slots in the vault from the start ([`Berth::New`]); and what an undo or redo brings
//! back lies in such a slot already ([`Berth::Kept`]). Both cost one exchange and nothing else.
//!
//! A slot in the vault must be on the path's file system, and the file must have no other name: what lies in the vault
//! is changed by nobody. Where the file system refuses the exchange all the same, the change is made again without.

use super::unit::{Step, Unit};
use crate::beside::free_beside;
use crate::contents::Contents;
use crate::parallel::in_parts;
use crate::vault::{NewBatch, Pair, Vault};
use dryad_protocol::image::Image;
use std::collections::HashSet;
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A change that replaces so many files is large.
const MANY: usize = 256;

/// The owner may read.
const OWNER_READS: u32 = 0o400;

/// Where a unit's slot lies, and so what happens to the before-image.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Berth {
    /// Beside the path: the before-image is moved into the vault.
    #[default]
    Beside,
    /// In a batch of this change: the before-image stays there.
    New,
    /// In a batch of an earlier change, which holds what is wanted. The before-image stays there.
    Kept,
}

/// Whether slots may lie in the vault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum InVault {
    Allowed,
    /// The file system would not have it.
    Refused,
}

/// What a unit's file may change places with.
#[derive(Debug)]
struct Chance {
    pair: Pair,
    /// Slots that hold the wanted content.
    kept: Vec<PathBuf>,
}

/// Gives every unit a slot; the batch that has to be made for them, if there is one.
pub(super) fn give(
    units: &mut [Unit],
    contents: &Contents,
    vault: &Vault,
    owner: &str,
    in_vault: InVault,
) -> Option<NewBatch> {
    let is_worth_it = in_vault == InVault::Allowed && is_worth_it(units, contents);
    let batch = is_worth_it.then(|| berth(units, contents, vault, owner));
    let find = |part: &[Unit]| {
        let slots = part.iter().map(|unit| (unit.berth == Berth::Beside).then(|| free_slot(unit.path())));
        Ok::<_, Infallible>(slots.collect::<Vec<_>>())
    };
    let Ok(slots) = in_parts(units, find);
    for (unit, slot) in units.iter_mut().zip(slots.into_iter().flatten()) {
        unit.slot = slot.unwrap_or(std::mem::take(&mut unit.slot));
    }
    batch.filter(|batch| !batch.is_empty())
}

/// What kind of slot this is, of a change that made this batch.
pub(super) fn berth_of(slot: &Path, vault: &Vault, batch: Option<&Path>) -> Berth {
    match vault.has_slot(slot) {
        true if batch.is_some_and(|batch| slot.starts_with(batch)) => Berth::New,
        true => Berth::Kept,
        false => Berth::Beside,
    }
}

/// Whether there may be slots in the vault for some: the change is large, or takes contents from there.
fn is_worth_it(units: &[Unit], contents: &Contents) -> bool {
    let pairs = || units.iter().filter_map(pair);
    pairs().count() >= many() || pairs().any(|pair| !contents.has(pair.after))
}

/// Gives slots in the vault to those units that can have one.
fn berth(units: &mut [Unit], contents: &Contents, vault: &Vault, owner: &str) -> NewBatch {
    let device = vault.device();
    let look = |part: &[Unit]| {
        let chance = |unit: &Unit| {
            let pair = pair(unit)?;
            if let Some(slot) = opposite(unit, contents, vault, owner) {
                return Some(Chance { pair, kept: vec![slot.to_owned()] });
            }
            if !is_movable(unit.path(), device) {
                return None;
            }
            let is_here = contents.has(pair.after);
            let kept = if is_here { Vec::new() } else { vault.slots_for(owner, pair.after, pair.before) };
            (is_here || !kept.is_empty()).then_some(Chance { pair, kept })
        };
        Ok::<_, Infallible>(part.iter().map(chance).collect::<Vec<_>>())
    };
    let Ok(chances) = in_parts(units, look);
    let chances: Vec<Option<Chance>> = chances.into_iter().flatten().collect();
    let is_large = chances.iter().flatten().filter(|chance| chance.kept.is_empty()).count() >= many();
    let (mut batch, mut used) = (vault.new_batch(owner), HashSet::new());
    for (unit, chance) in units.iter_mut().zip(chances) {
        let Some(chance) = chance else { continue };
        if let Some(slot) = chance.kept.into_iter().find(|slot| used.insert(slot.clone().into_os_string())) {
            (unit.berth, unit.slot) = (Berth::Kept, slot);
        } else if is_large
            && contents.has(chance.pair.after)
            && let Some(slot) = batch.add(chance.pair)
        {
            (unit.berth, unit.slot) = (Berth::New, slot);
        }
    }
    batch
}

/// The slot of the owner that was seen to hold what the unit wants: it was exchanged with this very file before.
fn opposite<'c>(unit: &Unit, contents: &'c Contents, vault: &Vault, owner: &str) -> Option<&'c Path> {
    let slot = contents.opposite(&unit.own()?.path)?.slot.as_path();
    vault.is_slot_of(owner, slot).then_some(slot)
}

/// The contents of a unit that puts one file in the place of another, each of which its owner may read.
fn pair(unit: &Unit) -> Option<Pair> {
    let own = unit.own().filter(|_| unit.step == Step::Replace)?;
    match (&own.before, &own.after) {
        (Image::File(before), Image::File(after)) if before.mode & after.mode & OWNER_READS != 0 => {
            Some(Pair { before: before.blob, after: after.blob })
        }
        _ => None,
    }
}

/// Whether a file can be moved into the vault, and nobody else has it then.
fn is_movable(path: &Path, device: Option<u64>) -> bool {
    let metadata = fs::symlink_metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.nlink() == 1 && Some(metadata.dev()) == device)
}

/// `<path>.edit.tmp`, or the first free of `<path>.edit.tmp.1`, ….
fn free_slot(path: &Path) -> PathBuf {
    free_beside(path, ".edit.tmp", |slot| {
        slot.symlink_metadata().is_err() && crate::disk::resting_place(slot).symlink_metadata().is_err()
    })
}

/// How many files make a change large; `DRYAD_BATCH_FROM` says otherwise, for tests.
fn many() -> usize {
    static MANY_FILES: OnceLock<usize> = OnceLock::new();
    *MANY_FILES.get_or_init(|| {
        let told = std::env::var("DRYAD_BATCH_FROM").ok();
        told.and_then(|number| number.parse().ok()).unwrap_or(MANY)
    })
}
