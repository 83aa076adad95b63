//! One edited file, beside the same file written safely by hand, in a small tree and in a large one.

use crate::many::settle;
use crate::place::{Place, Planned, add_median, edited, milliseconds, text};
use crate::{Figures, Outcome};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// So many that most directories of the vault have been made before most rounds.
const ROUNDS: u64 = 600;
/// So many that most directories of the vault have yet to be made.
const FIRST: usize = 40;
const SMALL: usize = 4 * 1024;
const LARGE: usize = 200 * 1024;
const PER_DIRECTORY: u64 = 50;

/// Times of one kind of edit.
#[derive(Default)]
struct Times {
    ours: Vec<f64>,
    by_hand: Vec<f64>,
    in_large_tree: Vec<f64>,
}

pub(crate) fn measure(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let few = Place::new(&root.join("few"))?;
    fill(&few.tree, 50)?;
    let many = Place::new(&root.join("many"))?;
    fill(&many.tree, 50_000)?;
    settle(root)?;
    for (name, size) in [("small", SMALL), ("large", LARGE)] {
        let mut times = Times::default();
        for place in [&few, &many] {
            fs::write(place.tree.join("0").join(name), text(0, size))?;
        }
        // The first round opens everything and does not count.
        for round in 0..=ROUNDS {
            let sample = [edit(&few, name, round)?, by_hand(&few, name, round, size)?, edit(&many, name, round)?];
            if round > 0 {
                times.ours.push(sample[0]);
                times.by_hand.push(sample[1]);
                times.in_large_tree.push(sample[2]);
            }
        }
        let first = |times: &[f64]| times.iter().copied().take(FIRST).collect();
        add_median(figures, &format!("first_{name}"), first(&times.ours));
        add_median(figures, &format!("first_{name}_by_hand"), first(&times.by_hand));
        add_median(figures, &format!("edit_{name}"), times.ours);
        add_median(figures, &format!("edit_{name}_by_hand"), times.by_hand);
        add_median(figures, &format!("edit_{name}_in_50000"), times.in_large_tree);
    }
    Ok(())
}

fn edit(place: &Place, name: &str, round: u64) -> Outcome<f64> {
    let path = place.tree.join("0").join(name);
    let mut planned = Planned::default();
    planned.write(&path, edited(fs::read(&path)?, round))?;
    place.apply(planned)
}

/// A temporary file, one sync, a rename.
fn by_hand(place: &Place, name: &str, round: u64, size: usize) -> Outcome<f64> {
    let path = place.tree.join("0").join(format!("{name}-by-hand"));
    let temporary = path.with_extension("tmp");
    let bytes = edited(text(0, size), round);
    let started = Instant::now();
    let mut file = File::create_new(&temporary)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, &path)?;
    Ok(milliseconds(started))
}

fn fill(tree: &Path, files: u64) -> Outcome<()> {
    for number in 0..files {
        let directory = tree.join((number / PER_DIRECTORY).to_string());
        if number % PER_DIRECTORY == 0 {
            fs::create_dir(&directory)?;
        }
        fs::write(directory.join(number.to_string()), text(number, 100))?;
    }
    Ok(())
}
