//! Both sides of an exchange with a slot in the vault, as they were left.
//!
//! Looked at right after the exchange, before anything is read. If that is then found to be right, the next exchange
//! can rely on it ([`keep`]); if not, it shows whether somebody has written there since, or whether the slot itself
//! was damaged ([`rotten`]).

use super::slots::Berth;
use super::unit::Unit;
use crate::fingerprint::Stamp;
use crate::parallel::in_parts;
use crate::vault::{Mark, Vault};
use dryad_protocol::path::FilePath;
use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;

/// The files of one unit after the exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    tree: Stamp,
    slot: Stamp,
}

/// Looks at both sides of every unit whose slot lies in the vault.
pub(super) fn look(units: &[Unit]) -> Vec<Option<Sides>> {
    if units.iter().all(|unit| unit.berth == Berth::Beside) {
        return Vec::new();
    }
    let sides = |unit: &Unit| {
        let is_far = unit.berth != Berth::Beside;
        let (tree, slot) = is_far.then(|| Stamp::at(unit.path()).zip(Stamp::at(&unit.slot)))??;
        Some(Sides { tree, slot })
    };
    let Ok(parts) = in_parts(units, |part| Ok::<_, Infallible>(part.iter().map(sides).collect::<Vec<_>>()));
    parts.concat()
}

/// Notes in the vault how everything was left that was found to be right.
pub(super) fn keep(units: &[Unit], sides: &[Option<Sides>], vault: &Vault) {
    let mark = |unit: &Unit, sides: Option<Sides>| {
        let (content, sides) = unit.own()?.before.blob().zip(sides)?;
        Some(Mark::new(content, &sides.slot, &sides.tree))
    };
    let marks = units.iter().zip(sides).filter_map(|(unit, sides)| Some((unit.slot.as_path(), mark(unit, *sides)?)));
    let marks: Vec<(&Path, Mark)> = marks.collect();
    if !marks.is_empty() {
        vault.mark(&marks);
    }
}

/// The first of these paths that does not hold what was promised although nobody has written to it: it came from its
/// slot like that.
pub(super) fn rotten(units: &[Unit], sides: &[Option<Sides>], unproven: &[FilePath]) -> Option<FilePath> {
    let unproven: HashSet<&Path> = unproven.iter().map(FilePath::as_path).collect();
    let is_rotten = |(unit, sides): &(&Unit, &Option<Sides>)| {
        unit.berth == Berth::Kept
            && unproven.contains(unit.path())
            && sides.is_some_and(|sides| Stamp::at(unit.path()) == Some(sides.tree))
    };
    units.iter().zip(sides).find(is_rotten).map(|(unit, _)| FilePath::new(unit.path()))
}
