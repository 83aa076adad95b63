//! What the tests need from outside, installed where it is missing: a browser and the programs that
//! commands are rehearsed with, from Debian; Pi, whose sessions are exchanged, from npm.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use std::path::Path;

/// A program of the tests, and Debian's package of it.
const PROGRAMS: [(&str, &str); 6] = [
    ("chromium", "chromium"),
    ("git", "git"),
    ("sqlite3", "sqlite3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("python3", "python3"),
];

/// Pi, in the version whose sessions are known to be right.
const PI: &str = "@earendil-works/pi-coding-agent@0.74.2";

/// oh-my-pi, in a version whose client is known.
const OH_MY_PI: &str = "@oh-my-pi/pi-coding-agent@18.2.3";

/// What oh-my-pi runs on.
const BUN: &str = "bun@1";

/// Installs what is missing.
pub(crate) fn ensure(repository: &Repository) -> Result<()> {
    let root = repository.root();
    let is_missing = |program: &&(&str, &'static str)| !process::answers(&mut process::command(program.0, root));
    let missing: Vec<&str> = PROGRAMS.iter().filter(is_missing).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        install(root, &missing)?;
    }
    pi(&repository.target_dir()?.join("peers/pi"))
}

fn install(directory: &Path, packages: &[&str]) -> Result<()> {
    let by_hand = format!("the tests need {0}; on Debian: apt-get install {0}", packages.join(" "));
    println!("packages: {} will be installed", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = process::command("apt-get", directory);
        process::succeeds(command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments))
    };
    apt(&["update", "--quiet"]).with_context(|| by_hand.clone())?;
    let arguments = [&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat();
    if !apt(&arguments)? {
        bail!("{by_hand}");
    }
    Ok(())
}

/// Installs Pi where it is missing.
pub(crate) fn pi(directory: &Path) -> Result<()> {
    npm(directory, "@earendil-works/pi-coding-agent", &[PI], &["--ignore-scripts"])
}

/// Installs oh-my-pi and what it runs on where they are missing.
pub(crate) fn oh_my_pi(directory: &Path) -> Result<()> {
    npm(directory, "@oh-my-pi/pi-coding-agent", &[OH_MY_PI, BUN], &[])
}

fn npm(directory: &Path, name: &str, packages: &[&str], flags: &[&str]) -> Result<()> {
    if directory.join("node_modules").join(name).is_dir() {
        return Ok(());
    }
    let packages_text = packages.join(" ");
    println!("packages: {packages_text} will be installed in {}", directory.display());
    make_directory(directory)?;
    let mut npm = process::npm(directory);
    npm.args(["install", "--no-audit", "--no-fund"]).args(flags).arg("--prefix").arg(directory).args(packages);
    if !process::succeeds(&mut npm)? {
        bail!("{packages_text} could not be installed; try `npm install {packages_text}` by hand to see why");
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "peers are kept under target/")]
fn make_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}
