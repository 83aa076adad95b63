//! Everything that must pass before a change is handed in, one step after the other.
//!
//! Stops at the first step that fails, so that what is wrong is the last thing on the screen.

use crate::packages;
use crate::peers;
use crate::process;
use crate::repository::Repository;
use crate::tidy::{self, Scope};
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Runs the steps; true when all of them passed.
pub(crate) fn run(repository: &Repository, doc: bool) -> Result<bool> {
    ensure_nextest(repository)?;
    packages::ensure(repository)?;
    peers::ensure(repository)?;
    let mut steps = Steps { repository, done: Vec::new() };
    let passed = steps.cargo("fmt", &["fmt", "--all", "--check"])?
        && steps.step("tidy", || tidy::run(repository, Scope::Files))?
        && steps.cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?
        && steps.cargo("test", &["nextest", "run", "--workspace", "--profile", "ci"])?
        && steps.step("docs", || tidy::run(repository, Scope::FilesAndBinary))?
        && (!doc || steps.cargo("doc", &["doc", "--workspace", "--no-deps"])?);
    steps.report(passed);
    Ok(passed)
}

/// Installs the test runner where it is missing.
fn ensure_nextest(repository: &Repository) -> Result<()> {
    if process::answers(&mut process::cargo(repository.root(), &["nextest"])) {
        return Ok(());
    }
    println!("ci: cargo-nextest is missing and will be installed");
    let install = ["install", "cargo-nextest", "--locked"];
    if !process::succeeds(&mut process::cargo(repository.root(), &install))? {
        bail!("cargo-nextest could not be installed; install it by hand and start again");
    }
    Ok(())
}

struct Steps<'a> {
    repository: &'a Repository,
    done: Vec<(&'static str, Duration)>,
}

impl Steps<'_> {
    fn cargo(&mut self, name: &'static str, arguments: &[&str]) -> Result<bool> {
        let repository = self.repository;
        self.step(name, || process::succeeds(&mut process::cargo(repository.root(), arguments)))
    }

    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<bool>) -> Result<bool> {
        println!("ci: {name}");
        let started = Instant::now();
        let passed = work()?;
        self.done.push((name, started.elapsed()));
        Ok(passed)
    }

    fn report(&self, passed: bool) {
        let last = self.done.len().saturating_sub(1);
        for (index, (name, time)) in self.done.iter().enumerate() {
            let outcome = if passed || index < last { "ok" } else { "FAILED" };
            println!("ci: {name:<8} {outcome:<6} {:>7.1} s", time.as_secs_f64());
        }
    }
}
