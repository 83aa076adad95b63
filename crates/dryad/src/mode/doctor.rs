//! `dryad doctor`: what was found on this machine, and what is odd about it.
//!
//! It goes on where a run would stop: a file that cannot be understood is one finding among others.
//! Keys are told by their place and never shown.

mod changes;
mod examine;
mod text;

use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use changes::Changes;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Everything that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Findings {
    version: &'static str,
    workdir: PathBuf,
    home: PathBuf,
    files: Vec<FileFinding>,
    /// Remarks that do not hinder.
    notes: Vec<String>,
    keys: Vec<KeyFinding>,
    model: ModelFinding,
    local_servers: Vec<ServerFinding>,
    tools: Vec<String>,
    shell: Option<String>,
    roots: Vec<PathBuf>,
    sandbox: Sandbox,
    changes: Changes,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileFinding {
    path: PathBuf,
    #[serde(flatten)]
    state: FileState,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
enum FileState {
    Found,
    Missing,
    Bad { problem: String },
}

/// A provider with a key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyFinding {
    provider: String,
    /// Where the key comes from.
    source: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum ModelFinding {
    /// The model a run would ask.
    Chosen(String),
    /// Why there is none.
    Problem(String),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerFinding {
    provider: String,
    url: String,
    /// What it serves; empty when it does not answer.
    models: Vec<String>,
    /// Why it serves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// How commands are kept in check, and what the kernel would allow.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sandbox {
    /// What is done today.
    in_use: &'static str,
    user_namespaces: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_namespaces_problem: Option<String>,
    overlayfs: bool,
    landlock: Option<u32>,
}

/// Looks around and tells.
///
/// # Errors
///
/// When there is no home, or the report cannot be written.
pub(super) async fn run(json: bool, cwd: Option<&Path>) -> Result<Exit, Failure> {
    let workdir = options::workdir(cwd)?;
    let findings = examine::examine(&workdir).await?;
    if json {
        output::print_json(&findings)?;
    } else {
        output::print(&text::render(&findings))?;
    }
    Ok(if findings.is_well() { Exit::Done } else { Exit::Failed })
}

impl Findings {
    /// Whether every file can be understood.
    fn is_well(&self) -> bool {
        self.changes.is_well()
            && self.files.iter().all(|file| match file.state {
                FileState::Found | FileState::Missing => true,
                FileState::Bad { .. } => false,
            })
    }
}
