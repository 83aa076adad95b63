//! Generated texts: the flags from the binary's own help, the settings, the table of arrows, the example
//! for embedders.
//!
//! Each stands in a hand-written document between two comments, `<!-- generated: NAME -->` and
//! `<!-- end: NAME -->`. Writing and checking use the same function, so they cannot disagree.

mod help;
mod region;
mod rpc;
mod settings;

use crate::process;
use crate::repository::Repository;
use crate::tidy::arrows::ARROWS;
use anyhow::{Result, bail};
use std::path::PathBuf;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const CLI: &str = "docs/cli.md";
const CONFIG: &str = "docs/config.md";
const RPC: &str = "docs/rpc.md";
const SAFETY: &str = "docs/safety.md";

/// The program that the document on safety shows.
const EXAMPLE: &str = "crates/dryad-safety/examples/embedder.rs";

/// A document as it is and as it should be.
struct Document {
    path: &'static str,
    present: String,
    current: String,
}

/// Brings every generated text up to date; what needs no binary first.
pub(crate) fn write(repository: &Repository) -> Result<()> {
    for document in from_files(repository)? {
        document.write(repository)?;
    }
    for document in from_binary(repository)? {
        document.write(repository)?;
    }
    Ok(())
}

/// The documents whose texts come from other files and are not current.
pub(crate) fn stale_from_files(repository: &Repository) -> Result<Vec<String>> {
    Ok(stale(&from_files(repository)?))
}

/// The documents whose texts come from the binary and are not current. Builds the binary.
pub(crate) fn stale_from_binary(repository: &Repository) -> Result<Vec<String>> {
    Ok(stale(&from_binary(repository)?))
}

fn stale(documents: &[Document]) -> Vec<String> {
    documents.iter().filter(|document| document.is_stale()).map(|document| document.path.to_owned()).collect()
}

impl Document {
    fn new(repository: &Repository, path: &'static str, region: &str, body: &str) -> Result<Self> {
        let present = repository.read(path)?;
        let current = region::replaced(&present, region, body)?;
        Ok(Self { path, present, current })
    }

    /// A document of which everything is generated.
    fn whole(repository: &Repository, path: &'static str, current: String) -> Self {
        let present = repository.read(path).unwrap_or_default();
        Self { path, present, current }
    }

    fn is_stale(&self) -> bool {
        self.present != self.current
    }

    fn write(&self, repository: &Repository) -> Result<()> {
        if self.is_stale() {
            repository.write(self.path, &self.current)?;
            println!("docs: {} rewritten", self.path);
        }
        Ok(())
    }
}

/// Those documents that are there: a part of a checkout may be without them.
fn from_files(repository: &Repository) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    if repository.path(ARCHITECTURE).exists() {
        documents.push(arrows(repository)?);
    }
    if repository.path(SAFETY).exists() {
        documents.push(Document::new(repository, SAFETY, "example", &example(&repository.read(EXAMPLE)?))?);
    }
    Ok(documents)
}

/// The program without its tests, as a block of code.
fn example(source: &str) -> String {
    let program = source.split("\n#[cfg(test)]").next().unwrap_or(source);
    format!("```rust\n{}\n```", program.trim_end())
}

fn from_binary(repository: &Repository) -> Result<Vec<Document>> {
    let binary = build(repository)?;
    let mut documents = vec![Document::new(repository, CLI, "help", &help::text(&binary, repository.root())?)?];
    if region::is_in(&repository.read(CONFIG)?, "settings") {
        let list = process::output(process::command(&binary, repository.root()).arg("settings-schema"))?;
        let table = settings::table(&serde_json::from_str(&list)?)?;
        documents.push(Document::new(repository, CONFIG, "settings", &table)?);
    }
    documents.extend(rpc::documents(repository, &binary)?);
    Ok(documents)
}

fn build(repository: &Repository) -> Result<PathBuf> {
    if !process::succeeds(&mut process::cargo(repository.root(), &["build", "--quiet", "--package", "dryad"]))? {
        bail!("the binary does not build, so its help cannot be asked for");
    }
    Ok(repository.target_dir()?.join("debug").join(format!("dryad{}", std::env::consts::EXE_SUFFIX)))
}

fn arrows(repository: &Repository) -> Result<Document> {
    let mut table = "| crate | may use |\n|---|---|\n".to_owned();
    for row in &ARROWS {
        let may_use = match row.may_use {
            [] => "–".to_owned(),
            crates => crates.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        table.push_str(&format!("| `{}` | {may_use} |\n", row.package));
    }
    Document::new(repository, ARCHITECTURE, "arrows", &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_shown_without_its_tests() {
        assert_eq!(
            example("//! A.\nfn main() {}\n\n#[cfg(test)]\nmod tests {}\n"),
            "```rust\n//! A.\nfn main() {}\n```"
        );
    }
}
