//! Speed, as ratios within one run: times of two runs or of two machines say nothing together.
//!
//! Seven parts. The side-by-side suite drives the binary against a scripted model beside the *floor*,
//! the least program that can do the job, in print mode and in RPC mode. The search part runs our `grep` and `find` beside `rg` and
//! `fd` over a generated tree. The changes part applies and undoes changes beside the same done by hand. The ast
//! part searches and rewrites code by its structure beside the ast-grep program. The safety part says what the
//! gates and the pipeline cost beside a tool's own work. The rehearse part runs commands in a rehearsal beside the same
//! run plainly. The sessions part opens, lists and exports long sessions, beside one pass of a JSON parser and beside Pi.

mod ast;
mod changes;
mod figures;
mod rehearse;
mod safety;
mod search;
mod sessions;
mod suite;
mod table;
mod tree;

use crate::process;
use crate::repository::Repository;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use table::Row;

/// Where the suite is looked for when nobody says: beside the checkout.
const DEFAULT_SUITE: &str = "../shared/bench";

/// What to measure and what to make of it.
#[derive(Args)]
pub(crate) struct BenchArguments {
    /// The directory of the side-by-side suite (its run.py) [default: ../shared/bench, if it exists]
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Measure this part only
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Print the table and succeed even when a figure is over its limit
    #[arg(long)]
    report_only: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// The binary beside the floor program
    Suite,
    /// grep and find beside rg and fd
    Search,
    /// Changes applied and undone, beside the same done by hand
    Changes,
    /// Gates and pipeline, beside the tool's own work
    Safety,
    /// Rehearsed commands beside plain ones
    Rehearse,
    /// ast_grep and ast_edit beside the ast-grep program
    Ast,
    /// Long sessions and many, beside a JSON parser and Pi
    Sessions,
}

/// Measures; true when every figure keeps its limit, or only a report was wanted.
pub(crate) fn run(repository: &Repository, arguments: &BenchArguments) -> Result<bool> {
    let mut rows = Vec::new();
    let is_wanted = |part: Part| arguments.only.is_none_or(|only| only == part);
    if is_wanted(Part::Suite) {
        rows.extend(run_suite(repository, arguments)?);
    }
    if is_wanted(Part::Search) {
        rows.extend(search::measure(repository)?);
    }
    if is_wanted(Part::Changes) {
        rows.extend(changes::measure(repository)?);
    }
    if is_wanted(Part::Safety) {
        rows.extend(safety::measure(repository)?);
    }
    if is_wanted(Part::Rehearse) {
        rows.extend(rehearse::measure(repository)?);
    }
    if is_wanted(Part::Ast) {
        rows.extend(ast::measure(repository)?);
    }
    if is_wanted(Part::Sessions) {
        rows.extend(sessions::measure(repository)?);
    }
    print!("{}", table::render(&rows));
    Ok(arguments.report_only || rows.iter().all(Row::is_kept))
}

fn run_suite(repository: &Repository, arguments: &BenchArguments) -> Result<Vec<Row>> {
    let directory = match &arguments.suite {
        Some(directory) => directory.clone(),
        None => repository.path(DEFAULT_SUITE),
    };
    if directory.join("run.py").is_file() {
        return suite::measure(repository, &directory);
    }
    if arguments.suite.is_some() || arguments.only == Some(Part::Suite) {
        bail!("{} holds no run.py; name the suite's directory with --suite", directory.display());
    }
    println!("bench: no suite at {}; name its directory with --suite", directory.display());
    Ok(Vec::new())
}

/// Builds with the profile that users install.
fn build(repository: &Repository, what: &[&str]) -> Result<()> {
    let arguments = [&["build", "--profile", "dist"], what].concat();
    if !process::succeeds(&mut process::cargo(repository.root(), &arguments))? {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(())
}
