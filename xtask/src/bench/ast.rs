//! Searching and rewriting beside the published ast-grep program, over a tree of 6,000 source files.
//!
//! A rewrite is measured twice: shown only, which is all that happens without `--apply`, and carried out ([`applied`]).
//!
//! Both programs are started from outside and measured in the same way, wall time and peak memory; rounds
//! alternate, so that both see the same machine, and what is compared are medians. Both must find the same.

mod applied;
mod tree;

use super::build;
use super::table::{Limit, Row, median};
use crate::peers;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ROUNDS: usize = 7;
const TIME: Limit = Limit::Times(1.2);
const MEMORY: Limit = Limit::Times(2.0);

/// Starts a program with its output thrown away, and prints its exit code, milliseconds and kilobytes. A program's
/// peak memory counts from that of whoever started it, so as little as possible is loaded here.
const METER: &str = "import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
passed = (time.perf_counter() - started) * 1000
print(os.waitstatus_to_exitcode(status), passed, usage.ru_maxrss)";

/// One thing that both programs can do.
#[derive(Clone, Copy)]
struct Contest {
    /// The names of its two rows.
    what: [&'static str; 2],
    pattern: &'static str,
    rewrite: Option<&'static str>,
    /// What each is told besides: how to print.
    printed: [Option<&'static str>; 2],
}

/// As people read it.
const TEXT: [Option<&str>; 2] = [None, None];

/// In every file, in few files, and without a word that a file could be sieved by.
const CONTESTS: [Contest; 5] = [
    Contest {
        what: ["ast_grep, in all of 6,000 files", "ast_grep, in all of 6,000 files, memory"],
        pattern: "if ($A == null) { $$$B }",
        rewrite: None,
        printed: TEXT,
    },
    Contest {
        what: ["ast_grep, in a few of 6,000 files", "ast_grep, in a few of 6,000 files, memory"],
        pattern: "needle($$$A)",
        rewrite: None,
        printed: TEXT,
    },
    Contest {
        what: ["ast_grep, without a fixed word", "ast_grep, without a fixed word, memory"],
        pattern: "$A && $A()",
        rewrite: None,
        printed: TEXT,
    },
    Contest {
        what: ["rewrite shown, in all of 6,000 files", "rewrite shown, in all of 6,000 files, memory"],
        pattern: "if ($A == null) { $$$B }",
        rewrite: Some("if ($A === undefined) {\n  note($A);\n  $$$B\n}"),
        printed: TEXT,
    },
    Contest {
        what: ["ast_grep as JSON, in all files", "ast_grep as JSON, in all files, memory"],
        pattern: "if ($A == null) { $$$B }",
        rewrite: None,
        printed: [Some("--json"), Some("--json=compact")],
    },
];

/// What one run took.
struct Sample {
    milliseconds: f64,
    megabytes: f64,
}

/// Holds all contests.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    let theirs = peers::ast_grep(repository)?;
    build(repository, &["--package", "dryad"])?;
    let target = repository.target_dir()?;
    let ours = target.join("dist").join(format!("dryad{}", std::env::consts::EXE_SUFFIX));
    let tree = tree::ready(&target.join("bench"))?;
    let rows: Result<Vec<[Row; 2]>> = CONTESTS.iter().map(|contest| contest.hold(&ours, &theirs, &tree)).collect();
    let applied = applied::measure(&ours, &theirs, &tree, &target.join("bench"))?;
    Ok(rows?.into_iter().flatten().chain(applied).collect())
}

impl Contest {
    fn hold(&self, ours: &Path, theirs: &Path, tree: &Path) -> Result<[Row; 2]> {
        self.compare(ours, theirs, tree)?;
        let (mut our_samples, mut their_samples) = (Vec::new(), Vec::new());
        // The first round fills the file cache and does not count.
        for round in 0..=ROUNDS {
            let mut both = [(&mut our_samples, self.ours(ours)), (&mut their_samples, self.theirs(theirs))];
            if round % 2 == 1 {
                both.reverse();
            }
            for (samples, arguments) in both {
                let sample = meter(&arguments, tree, None)?;
                if round > 0 {
                    samples.push(sample);
                }
            }
        }
        let row = |what, unit, limit, figure: fn(&Sample) -> f64| Row {
            what,
            unit,
            ours: median(our_samples.iter().map(figure).collect()),
            theirs: median(their_samples.iter().map(figure).collect()),
            limit,
        };
        let [time, memory] = self.what;
        Ok([row(time, "ms", TIME, |it| it.milliseconds), row(memory, "MB", MEMORY, |it| it.megabytes)])
    }

    fn ours(&self, program: &Path) -> Vec<String> {
        let command = if self.rewrite.is_some() { "rewrite" } else { "grep-ast" };
        let words = [command, self.pattern].into_iter().chain(self.rewrite).chain([".", "--lang", "typescript"]);
        let words = words.chain(self.printed[0]);
        std::iter::once(program.display().to_string()).chain(words.map(str::to_owned)).collect()
    }

    fn theirs(&self, program: &Path) -> Vec<String> {
        let rewrite = self.rewrite.into_iter().flat_map(|rewrite| ["--rewrite", rewrite]);
        let words = ["run", "--pattern", self.pattern, "--lang", "typescript"].into_iter().chain(rewrite);
        let words = words.chain(self.printed[1]).chain(["."]);
        std::iter::once(program.display().to_string()).chain(words.map(str::to_owned)).collect()
    }

    /// Fails unless both find equally much, and something.
    fn compare(&self, ours: &Path, theirs: &Path, tree: &Path) -> Result<()> {
        let told = Self { printed: [Some("--json"), Some("--json=compact")], ..*self };
        let printed = process::output(&mut command(&told.ours(ours), tree)?)?;
        let printed: Value = serde_json::from_str(&printed).context("dryad printed no JSON")?;
        let name = if self.rewrite.is_some() { "totalReplacements" } else { "matchCount" };
        let our_count = printed[name].as_u64().context("dryad told no number")?;
        let printed = process::output(&mut command(&told.theirs(theirs), tree)?)?;
        let printed: Vec<Value> = serde_json::from_str(&printed).context("ast-grep printed no JSON")?;
        if our_count == 0 || our_count != printed.len() as u64 {
            bail!("{}: dryad found {our_count}, ast-grep {}", self.pattern, printed.len());
        }
        Ok(())
    }
}

fn command(words: &[String], tree: &Path) -> Result<Command> {
    let (program, arguments) = words.split_first().context("a command has a name")?;
    let mut command = process::command(program, tree);
    command.args(arguments);
    Ok(command)
}

/// Runs a program in a tree, with a home of its own if it shall remember anything.
fn meter(words: &[String], tree: &Path, home: Option<&Path>) -> Result<Sample> {
    let mut command = process::command("python3", tree);
    command.args(["-I", "-S", "-c", METER]).args(words).envs(home.map(|home| ("DRYAD_HOME", home)));
    let text = process::output(&mut command)?;
    sample(&text).with_context(|| format!("{} ended with {text:?}", words.join(" ")))
}

/// Reads `<exit code> <milliseconds> <kilobytes>`; only a run that ended well counts.
fn sample(text: &str) -> Option<Sample> {
    match text.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["0", milliseconds, kilobytes] => Some(Sample {
            milliseconds: milliseconds.parse().ok()?,
            megabytes: kilobytes.parse::<f64>().ok()? / 1024.0,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_meter_prints_is_understood() {
        let read = sample("0 12.5 2048\n").unwrap();
        assert_eq!((read.milliseconds, read.megabytes), (12.5, 2.0));
        assert!(sample("1 12.5 2048").is_none() && sample("0 x 1").is_none());
    }

    #[test]
    fn both_programs_are_asked_for_the_same() {
        let contest = &CONTESTS[3];
        assert_eq!(contest.ours(Path::new("a"))[1], "rewrite");
        assert_eq!(contest.ours(Path::new("a"))[2..4], [contest.pattern, contest.rewrite.unwrap()]);
        assert_eq!(contest.theirs(Path::new("b"))[3..6], [contest.pattern, "--lang", "typescript"]);
    }
}
