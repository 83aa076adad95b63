//! A rewrite that is carried out in all of 6,000 files, beside `ast-grep -U`, each time in a fresh copy of the tree.
//!
//! dryad does more than write: it keeps every old content, makes the new ones durable before the first is moved in
//! place, and reads all of them again. So its time also stands beside the *floor* of that: the old contents copied
//! aside, `ast-grep -U`, and one sync of the file system. Copying the tree is not timed, and what it left to be
//! written out is out before a program starts.

use super::{Contest, MEMORY, ROUNDS, Sample, TIME, meter};
use crate::bench::table::{Row, median};
use crate::process;
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const CONTEST: Contest = Contest {
    what: ["rewrite applied, in all of 6,000 files", "rewrite applied, in all of 6,000 files, memory"],
    pattern: "if ($A == null) { $$$B }",
    rewrite: Some("if ($A === undefined) {\n  note($A);\n  $$$B\n}"),
    printed: [Some("--apply"), Some("--update-all")],
};

/// Copies what is there aside, does what follows, and waits until all is on the disk.
const FLOOR: &str = r#"cp -r . "$0" && "$@" && sync -f ."#;

/// Where one run is done.
struct Place {
    copy: PathBuf,
    aside: PathBuf,
    home: PathBuf,
}

/// Holds the contest.
pub(super) fn measure(ours: &Path, theirs: &Path, tree: &Path, parent: &Path) -> Result<Vec<Row>> {
    let parent = parent.join("applied");
    clear(&parent)?;
    let (ours, theirs) = (CONTEST.ours(ours), CONTEST.theirs(theirs));
    compare(&ours, &theirs, tree, &parent)?;
    let mut samples: [Vec<Sample>; 3] = Default::default();
    for round in 0..ROUNDS {
        let mut turns = [0, 1, 2];
        turns.rotate_left(round % 3);
        for which in turns {
            // Nothing is removed in between: a file system that has just forgotten thousands of files is slow to
            // make new ones, and only who makes new ones would suffer.
            let place = Place::new(tree, &parent.join(format!("{round}-{which}")))?;
            let program = [&ours, &theirs, &place.floor(&theirs)][which].clone();
            samples[which].push(meter(&program, &place.copy, Some(&place.home))?);
        }
    }
    clear(&parent)?;
    Ok(rows(&samples))
}

fn rows(samples: &[Vec<Sample>; 3]) -> Vec<Row> {
    let [ours, theirs, floor] = samples;
    let figure = |of: &[Sample], figure: fn(&Sample) -> f64| median(of.iter().map(figure).collect());
    let time = |of| figure(of, |sample| sample.milliseconds);
    let memory = |of| figure(of, |sample| sample.megabytes);
    let row = |what, unit, ours, theirs, limit| Row { what, unit, ours, theirs, limit };
    let [time_name, memory_name] = CONTEST.what;
    vec![
        row(time_name, "ms", time(ours), time(theirs), TIME),
        row("rewrite applied, beside what that needs", "ms", time(ours), time(floor), TIME),
        row(memory_name, "MB", memory(ours), memory(theirs), MEMORY),
    ]
}

impl Place {
    /// A fresh copy of the tree, all of it on the disk.
    fn new(tree: &Path, directory: &Path) -> Result<Self> {
        let [copy, aside, home] = ["copy", "aside", "home"].map(|name| directory.join(name));
        process::output(process::command("mkdir", tree).arg("-p").arg(directory))?;
        process::output(process::command("cp", tree).args(["-r", "."]).arg(&copy))?;
        process::output(process::command("sync", &copy).args(["-f", "."]))?;
        Ok(Self { copy, aside, home })
    }

    /// The least that does as much as dryad.
    fn floor(&self, theirs: &[String]) -> Vec<String> {
        let shell = ["/bin/sh", "-c", FLOOR, &self.aside.display().to_string()].map(str::to_owned);
        shell.into_iter().chain(theirs.iter().cloned()).collect()
    }
}

/// Fails unless ours and theirs leave the same behind, and not what was there.
fn compare(ours: &[String], theirs: &[String], tree: &Path, parent: &Path) -> Result<()> {
    let places = [Place::new(tree, &parent.join("ours"))?, Place::new(tree, &parent.join("theirs"))?];
    for (place, program) in places.iter().zip([ours, theirs]) {
        meter(program, &place.copy, Some(&place.home))?;
    }
    let [ours, theirs] = &places;
    let is_same = |other: &Path| {
        // dryad's mark, by which it knows the workspace again, is its own.
        let mut diff = process::command("diff", tree);
        process::succeeds(diff.args(["-rq", "--exclude=.dryad"]).args([&ours.copy, other]).stdout(Stdio::null()))
    };
    if !is_same(&theirs.copy)? || is_same(tree)? {
        bail!("dryad and ast-grep do not rewrite alike: compare {} and {}", ours.copy.display(), theirs.copy.display());
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "benchmarks keep their files under target/")]
fn clear(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(())
}
