//! Ten thousand modified files in one change, taken back again; and what the memory of it takes.

use crate::place::{Place, Planned, add_median, edited, milliseconds, text};
use crate::{Figures, Outcome};
use dryad_effects::vault::Vault;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const FILES: u64 = 10_000;
const SIZE: usize = 4 * 1024;
const PER_DIRECTORY: u64 = 100;
const ROUNDS: u64 = 5;

pub(crate) fn measure(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let place = Place::new(root)?;
    let paths = fill(&place.tree)?;
    place.workspace.vault()?.sync()?;
    let (mut planned_and_applied, mut applied) = (Vec::new(), Vec::new());
    let (mut undone, mut by_hand) = (Vec::new(), Vec::new());
    let mut growth = None;
    for round in 1..=ROUNDS {
        let texts = paths.iter().map(|path| Ok(edited(fs::read(path)?, round))).collect::<Outcome<Vec<_>>>()?;
        let (mut planned, started) = (Planned::default(), Instant::now());
        for (path, text) in paths.iter().zip(texts) {
            planned.write(path, text)?;
        }
        let planning = milliseconds(started);
        by_hand.push(write_by_hand(root, &paths, round)?);
        settle(root)?;
        let before =
            if growth.is_none() { (place.workspace.vault()?.usage()?.bytes, place.remembered()?) } else { (0, 0) };
        let applying = place.apply(planned)?;
        applied.push(applying);
        planned_and_applied.push(planning + applying);
        if growth.is_none() {
            growth = Some((place.workspace.vault()?.usage()?.bytes - before.0, place.remembered()? - before.1));
        }
        settle(root)?;
        undone.push(place.undo()?);
        settle(root)?;
    }
    add_median(figures, "many_planned_and_applied", planned_and_applied);
    add_median(figures, "many_applied", applied);
    add_median(figures, "many_undone", undone);
    add_median(figures, "many_by_hand", by_hand);
    figures.insert("many_changed_bytes".to_owned(), (FILES * SIZE as u64).into());
    if let Some((vault, all)) = growth {
        figures.insert("many_vault_bytes".to_owned(), vault.into());
        figures.insert("many_remembered_bytes".to_owned(), all.into());
    }
    Ok(())
}

/// Temporary files, one sync of the file system, renames: nothing is checked, recorded or kept. Names are new in
/// each round: on some file systems, files that were just deleted make the next ones slow.
fn write_by_hand(root: &Path, paths: &[PathBuf], round: u64) -> Outcome<f64> {
    let directory = root.join(format!("by-hand-{round}"));
    fs::create_dir(&directory)?;
    let names: Vec<PathBuf> = (0..paths.len()).map(|number| directory.join(number.to_string())).collect();
    let texts: Vec<Vec<u8>> = (0..).take(names.len()).map(|seed| edited(text(seed, SIZE), round)).collect();
    let started = Instant::now();
    for (name, text) in names.iter().zip(&texts) {
        fs::write(name.with_extension("tmp"), text)?;
    }
    settle(root)?;
    for name in &names {
        fs::rename(name.with_extension("tmp"), name)?;
    }
    Ok(milliseconds(started))
}

fn fill(tree: &Path) -> Outcome<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for number in 0..FILES {
        let directory = tree.join((number / PER_DIRECTORY).to_string());
        if number % PER_DIRECTORY == 0 {
            fs::create_dir(&directory)?;
        }
        let path = directory.join(number.to_string());
        fs::write(&path, text(number, SIZE))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Waits until everything is on the disk, so that nobody pays for another's writes.
pub(crate) fn settle(root: &Path) -> Outcome<()> {
    Ok(Vault::open(root)?.sync()?)
}
