//! Our `grep` and `find` beside `rg` and `fd`, over a tree of 50,000 files.
//!
//! Ours is timed inside the process, from the call to its plan; theirs by the wall clock. Rounds
//! alternate, so that both see the same machine, and what is compared are medians.

use super::table::{Limit, Row, median};
use super::{build, tree};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 9;
const LIMIT: Limit = Limit::Times(1.2);
const GREP_PATTERN: &str = "needle_[0-9]+";
const FIND_PATTERN: &str = "*.special";

/// A search that two programs can do.
struct Contest {
    what: &'static str,
    tool: &'static str,
    pattern: &'static str,
    /// Programs that do the same, by the names they are installed under.
    rivals: &'static [&'static str],
    rival_arguments: &'static [&'static str],
}

const CONTESTS: [Contest; 2] = [
    Contest {
        what: "grep, 50,000 files, beside rg",
        tool: "grep",
        pattern: GREP_PATTERN,
        rivals: &["rg"],
        rival_arguments: &["--hidden", "--no-require-git", "--line-number", "--color", "never", GREP_PATTERN],
    },
    Contest {
        what: "find, 50,000 files, beside fd",
        tool: "find",
        pattern: FIND_PATTERN,
        rivals: &["fd", "fdfind"],
        rival_arguments: &["--hidden", "--color", "never", "--glob", FIND_PATTERN],
    },
];

/// Results found, and the milliseconds it took.
struct Sample {
    found: usize,
    milliseconds: f64,
}

/// Runs both contests.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    build(repository, &["--package", "dryad-tools", "--example", "search"])?;
    let target = repository.target_dir()?;
    let ours = target.join("dist/examples").join(format!("search{}", std::env::consts::EXE_SUFFIX));
    let tree = tree::ready(&target.join("bench"))?;
    CONTESTS.iter().map(|contest| contest.hold(&ours, &tree)).collect()
}

impl Contest {
    fn hold(&self, ours: &Path, tree: &Path) -> Result<Row> {
        let mut row = Row { what: self.what, unit: "ms", ours: None, theirs: None, limit: LIMIT };
        let Some(rival) = self.rivals.iter().find(|name| process::answers(&mut process::command(name, tree))) else {
            let names = self.rivals.join(" or ");
            println!("bench: {names} is missing; on Debian: apt-get install ripgrep fd-find");
            return Ok(row);
        };
        // The first round fills the file cache and does not count.
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (our_sample, their_sample) = if round % 2 == 0 {
                let first = self.ours(ours, tree)?;
                (first, self.theirs(rival, tree)?)
            } else {
                let first = self.theirs(rival, tree)?;
                (self.ours(ours, tree)?, first)
            };
            if our_sample.found != their_sample.found || our_sample.found == 0 {
                bail!("{} found {}, {rival} found {}", self.tool, our_sample.found, their_sample.found);
            }
            if round > 0 {
                our_times.push(our_sample.milliseconds);
                their_times.push(their_sample.milliseconds);
            }
        }
        (row.ours, row.theirs) = (median(our_times), median(their_times));
        Ok(row)
    }

    fn ours(&self, program: &Path, tree: &Path) -> Result<Sample> {
        let text = process::output(process::command(program, tree).args([self.tool, self.pattern]).arg(tree))?;
        parse_sample(&text).with_context(|| format!("the search example printed {text:?}"))
    }

    fn theirs(&self, program: &str, tree: &Path) -> Result<Sample> {
        let mut command = process::command(program, tree);
        command.args(self.rival_arguments).arg(tree);
        let started = Instant::now();
        let text = process::output(&mut command)?;
        let milliseconds = started.elapsed().as_secs_f64() * 1e3;
        Ok(Sample { found: text.lines().count(), milliseconds })
    }
}

/// Reads `<results> <milliseconds>`.
fn parse_sample(text: &str) -> Option<Sample> {
    let (found, milliseconds) = text.trim().split_once(' ')?;
    Some(Sample { found: found.parse().ok()?, milliseconds: milliseconds.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_the_example_is_understood() {
        let sample = parse_sample("50 12.25\n").unwrap();
        assert_eq!((sample.found, sample.milliseconds), (50, 12.25));
        assert!(parse_sample("50").is_none());
        assert!(parse_sample("x 1.0").is_none());
    }
}
