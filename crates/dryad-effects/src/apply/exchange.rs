//! Exchanges a file with a slot in the vault and looks at both sides at once.
//!
//! The kernel makes renames between directories one after the other, so one thread makes all of them. What it is done
//! with is proven by the others meanwhile, instead of after the last.

use super::clear::{Writers, found};
use super::slots::Berth;
use super::state::is_untouched;
use super::unit::Unit;
use super::{ApplyError, io_error};
use crate::disk::Exchanges;
use crate::fingerprint::{Sighting, Stamp, see_near};
use crate::parallel::one_then_others;
use crate::vault::Mark;
use crate::vicinity::Vicinity;
use dryad_protocol::change_set::Change;
use dryad_protocol::path::FilePath;
use std::path::PathBuf;

/// What was seen of exchanged files.
#[derive(Debug, Default)]
pub(super) struct Exchanged {
    /// How slots were left whose both sides are right.
    pub(super) marks: Vec<(PathBuf, Mark)>,
    /// Paths that do not hold what was promised: somebody has written there since.
    pub(super) unproven: Vec<FilePath>,
    /// Paths that somebody had written to before the exchange.
    stale: Vec<FilePath>,
    /// Paths that nobody has written to, and that do not hold what was promised: it came from the slot like that.
    rotten: Vec<FilePath>,
}

/// Exchanges the files of units whose slots lie in the vault, and looks at what came of it.
pub(super) fn exchange(units: &[&Unit]) -> Result<Exchanged, ApplyError> {
    let swap_part = |part: &[&Unit]| {
        let mut exchanges = Exchanges::default();
        let mut exchange =
            |unit: &&Unit| exchanges.exchange(&unit.slot, unit.path()).map_err(io_error("replace", unit.path()));
        part.iter().try_for_each(&mut exchange)
    };
    let look_part = |part: &[&Unit]| {
        let (mut seen, mut slots, mut tree) = (Exchanged::default(), Vicinity::default(), Vicinity::default());
        part.iter().try_for_each(|unit| seen.look(unit, &mut slots, &mut tree)).map(|()| seen)
    };
    Ok(one_then_others(units, swap_part, look_part)?.into_iter().fold(Exchanged::default(), Exchanged::and))
}

impl Exchanged {
    /// Looks at what came of the exchange of a unit.
    fn look(&mut self, unit: &Unit, slots: &mut Vicinity, tree: &mut Vicinity) -> Result<(), ApplyError> {
        let Some(own) = unit.own() else { return Ok(()) };
        let (left, stamp) =
            found(slots, &unit.slot, &own.before, Writers::Possible).map_err(io_error("read", unit.path()))?;
        if !left.same_content(&own.before) {
            self.stale.push(own.path.clone());
        }
        // It has happened: what cannot be read is not proven, and that is all.
        match see_near(tree, unit.path(), &own.after) {
            Ok(here) if here.image().same_content(&own.after) => {
                // Where nothing can be said, what was said before is taken back.
                let mark = mark(own, stamp, &here).unwrap_or_default();
                self.marks.push((unit.slot.clone(), mark));
            }
            Ok(here) if unit.berth == Berth::Kept && is_untouched(&here, &own.after) => {
                self.rotten.push(own.path.clone());
            }
            Ok(_) | Err(_) => self.unproven.push(own.path.clone()),
        }
        Ok(())
    }

    /// Both together.
    fn and(mut self, other: Self) -> Self {
        self.marks.extend(other.marks);
        self.unproven.extend(other.unproven);
        self.stale.extend(other.stale);
        self.rotten.extend(other.rotten);
        self
    }

    /// Fails if something has to be put back: what was somebody's, or what was damaged.
    pub(super) fn require_sound(&self) -> Result<(), ApplyError> {
        if !self.stale.is_empty() {
            return Err(ApplyError::Stale { paths: self.stale.clone() });
        }
        match self.rotten.first() {
            None => Ok(()),
            Some(path) => {
                let reason = "it is damaged in the vault".to_owned();
                Err(ApplyError::MissingContent { path: path.clone(), reason })
            }
        }
    }
}

/// How both sides were left; nothing where a look would not tell a later write.
fn mark(own: &Change, slot: Option<Stamp>, here: &Sighting) -> Option<Mark> {
    let (content, slot, tree) = (own.before.blob()?, slot?, here.stamp()?);
    (slot.is_only_name() && tree.is_only_name()).then(|| Mark::new(content, &slot, tree))
}
