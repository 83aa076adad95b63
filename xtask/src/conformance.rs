//! Drives the built binary in RPC mode with clients that others have published.
//!
//! Pi's client is a part of the tests as well; that of oh-my-pi is a download of several hundred megabytes
//! and runs on `bun`, so it is asked for here only.

use crate::packages;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

const CLIENTS: &str = "crates/dryad/tests/clients";

/// Runs the clients; true when all of them found what they expect.
pub(crate) fn run(repository: &Repository, all: bool) -> Result<bool> {
    let cargo = process::succeeds(&mut process::cargo(repository.root(), &["build", "--package", "dryad"]))?;
    if !cargo {
        bail!("the binary does not build");
    }
    let target = repository.target_dir()?;
    let binary = target.join("debug/dryad");
    let pi = target.join("peers/pi");
    packages::pi(&pi)?;
    let mut passed = drive(repository, &binary, Path::new("node"), "pi.mjs", ("PI", &pi))?;
    if all {
        let oh_my_pi = target.join("peers/oh-my-pi");
        packages::oh_my_pi(&oh_my_pi)?;
        let bun = oh_my_pi.join("node_modules/.bin/bun");
        passed &= drive(repository, &binary, &bun, "oh-my-pi.ts", ("OH_MY_PI", &oh_my_pi))?;
    }
    Ok(passed)
}

/// Runs one client in a directory of its own.
fn drive(
    repository: &Repository,
    binary: &Path,
    runtime: &Path,
    client: &str,
    package: (&str, &PathBuf),
) -> Result<bool> {
    let directory = tempfile::tempdir().context("no temporary directory")?;
    let clients = repository.path(CLIENTS);
    let story = repository.read(&format!("{CLIENTS}/story.json"))?;
    write(&directory.path().join("story.json"), &story)?;
    write(&directory.path().join("hello.txt"), "alpha\n")?;
    let mut command = process::command(runtime, directory.path());
    command.arg(clients.join(client)).env("HOME", directory.path()).env("DRYAD", binary).env(package.0, package.1);
    // These clients wait for answers that carry their id.
    process::succeeds(command.env("DRYAD_RPC_STRICT_IDS", "1"))
}

#[expect(clippy::disallowed_methods, reason = "a scratch directory of the clients")]
fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
