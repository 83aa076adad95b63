//! Checks what the compiler and clippy do not.
//!
//! Each rule is a function from text to findings, so that its tests need no checkout. A finding says
//! where, what, and what to do about it.

pub(crate) mod arrows;
mod documents;
mod finding;
mod manifests;
mod source;
mod words;

use crate::docs;
use crate::repository::Repository;
use anyhow::Result;
use finding::Finding;

/// How much is checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// What can be told from the files alone.
    Files,
    /// Also whether the texts generated from the binary are current, which builds it.
    FilesAndBinary,
}

impl Scope {
    pub(crate) fn from_flag(docs: bool) -> Self {
        if docs { Self::FilesAndBinary } else { Self::Files }
    }
}

/// Prints what is wrong; true when nothing is.
pub(crate) fn run(repository: &Repository, scope: Scope) -> Result<bool> {
    let mut findings = check(repository)?;
    findings.extend(docs::stale_from_files(repository)?.into_iter().map(stale));
    if scope == Scope::FilesAndBinary {
        findings.extend(docs::stale_from_binary(repository)?.into_iter().map(stale));
    }
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing to do"),
        count => println!("tidy: {count} to do"),
    }
    Ok(findings.is_empty())
}

fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let metadata = repository.metadata()?;
    let files = repository.text_files()?;
    let text_of =
        |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str()).unwrap_or_default();
    let mut findings = Vec::new();
    for package in manifests::packages(&metadata, repository.root()) {
        let manifest = text_of(&package.manifest);
        findings.extend(arrows::check(&package, manifest));
        findings.extend(manifests::check(&package, manifest));
    }
    for file in &files {
        findings.extend(source::check(&file.path, &file.text));
        findings.extend(words::check(&file.path, &file.text));
        findings.extend(documents::check_links(&file.path, &file.text, |target| repository.path(target).exists()));
    }
    findings.extend(manifests::check_lock(text_of("Cargo.lock")));
    findings.extend(documents::check_presence(|path| repository.path(path).is_file()));
    Ok(findings)
}

fn stale(path: String) -> Finding {
    Finding::of_file(path, "a generated text is not current", "run `cargo xtask docs` and commit the result")
}
