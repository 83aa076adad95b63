//! A rewrite that is carried out in all of 6,000 files, beside `ast-grep -U`, each time in a fresh copy of the tree.
//!
//! dryad does more than write: it keeps every old content, makes the new ones durable before the first is moved in
//! place, and reads all of them again. So its time also stands beside the *floor* of that: the old contents copied
//! aside, `ast-grep -U`, and one sync of the file system. Copying the tree is not timed, and what it left to be
//! written out is out before a program starts.

use super::{Contest, MEMORY, ROUNDS, Sample, TIME, meter};
use crate::bench::table::{Limit, Row, median};
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

/// Where it is done.
struct Place<'a> {
    tree: &'a Path,
    copy: PathBuf,
    aside: PathBuf,
    home: PathBuf,
}

/// Holds the contest.
pub(super) fn measure(ours: &Path, theirs: &Path, tree: &Path, parent: &Path) -> Result<Vec<Row>> {
    let [copy, aside, home] = ["applied", "applied-aside", "applied-home"].map(|name| parent.join(name));
    let place = Place { tree, copy, aside, home };
    let theirs = CONTEST.theirs(theirs);
    let floor = ["/bin/sh", "-c", FLOOR, &place.aside.display().to_string()].map(str::to_owned);
    let floor: Vec<String> = floor.into_iter().chain(theirs.iter().cloned()).collect();
    let programs = [CONTEST.ours(ours), theirs, floor];
    place.compare(&programs)?;
    let mut samples: [Vec<Sample>; 3] = Default::default();
    for round in 0..ROUNDS {
        for turn in 0..programs.len() {
            let which = (round + turn) % programs.len();
            place.restore()?;
            samples[which].push(meter(&programs[which], &place.copy, Some(&place.home))?);
        }
    }
    place.clear()?;
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
        row(time_name, "ms", time(ours), time(theirs), Limit::None),
        row("rewrite applied, beside what that needs", "ms", time(ours), time(floor), TIME),
        row(memory_name, "MB", memory(ours), memory(theirs), MEMORY),
    ]
}

impl Place<'_> {
    /// A fresh copy of the tree, and nothing else.
    fn restore(&self) -> Result<()> {
        self.clear()?;
        process::output(process::command("cp", self.tree).args(["-r", "."]).arg(&self.copy))?;
        process::output(process::command("sync", &self.copy).args(["-f", "."]))?;
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "benchmarks keep their files under target/")]
    fn clear(&self) -> Result<()> {
        for directory in [&self.copy, &self.aside, &self.home].into_iter().filter(|directory| directory.exists()) {
            fs::remove_dir_all(directory)?;
        }
        Ok(())
    }

    /// Fails unless ours and theirs leave the same behind, and not what was there.
    fn compare(&self, programs: &[Vec<String>; 3]) -> Result<()> {
        self.restore()?;
        meter(&programs[0], &self.copy, Some(&self.home))?;
        process::output(process::command("cp", self.tree).args(["-r", "."]).arg(&self.aside))?;
        meter(&programs[1], &self.aside, Some(&self.home))?;
        let is_same = |one: &Path, other: &Path| {
            // dryad's mark, by which it knows the workspace again, is its own.
            let mut diff = process::command("diff", self.tree);
            process::succeeds(diff.args(["-rq", "--exclude=.dryad"]).args([one, other]).stdout(Stdio::null()))
        };
        if !is_same(&self.copy, &self.aside)? || is_same(&self.copy, self.tree)? {
            bail!(
                "dryad and ast-grep do not rewrite alike: compare {} and {}",
                self.copy.display(),
                self.aside.display()
            );
        }
        Ok(())
    }
}
