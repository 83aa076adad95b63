//! Published programs that tests and benchmarks compare with, installed under the target directory.
//!
//! Tests contact nobody: what they need from outside is fetched here, once, in the version that is pinned.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

/// The package of the ast-grep program, and its version: that of the library in the root manifest, as far as it
/// was published.
const AST_GREP: (&str, &str) = ("@ast-grep/cli", "0.51.0");

/// Installs what is missing.
pub(crate) fn ensure(repository: &Repository) -> Result<()> {
    ast_grep(repository).map(drop)
}

/// The ast-grep program, installed if it is missing.
pub(crate) fn ast_grep(repository: &Repository) -> Result<PathBuf> {
    let directory = repository.target_dir()?.join("peers/ast-grep");
    let program = directory.join("node_modules/.bin/ast-grep");
    if is_there(&program, repository.root()) {
        return Ok(program);
    }
    let (name, version) = AST_GREP;
    println!("peers: {name} {version} is missing and will be installed in {}", directory.display());
    make_directory(&directory)?;
    let mut npm = process::npm(&directory);
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&directory);
    npm.arg(format!("{name}@{version}"));
    let installed = process::succeeds(&mut npm);
    if !installed.context("npm is needed for the tests of ast_grep and ast_edit; on Debian: apt-get install npm")? {
        bail!("{name} {version} could not be installed; try `npm install {name}@{version}` by hand to see why");
    }
    if !is_there(&program, repository.root()) {
        bail!("npm installed {name}, but {} does not answer as version {version}", program.display());
    }
    Ok(program)
}

/// Whether the program answers with the pinned version.
fn is_there(program: &Path, directory: &Path) -> bool {
    let mut command = process::command(program, directory);
    let answer = process::output(command.arg("--version")).unwrap_or_default();
    answer.split_whitespace().last() == Some(AST_GREP.1)
}

#[expect(clippy::disallowed_methods, reason = "peers are kept under target/")]
fn make_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}
