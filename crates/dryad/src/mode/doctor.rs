//! `dryad doctor`: what was found on this machine, and what is odd about it.
//!
//! It goes on where a run would stop: a file that cannot be understood is one finding among others.
//! Keys are told by their place and never shown.

mod changes;
mod examine;
mod sandbox;
mod text;

use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use changes::Changes;
use dryad_safety::rehearsal::Rung;
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

/// How commands are kept in check here.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sandbox {
    /// The rung of the ladder that commands are run on.
    in_use: Rung,
    /// Whether what a command would do can be seen first.
    previews: bool,
    /// Whether what it did can be undone.
    undoes: bool,
    /// Every rung, the best first.
    rungs: Vec<RungFinding>,
    /// Why connections and renamed directories cannot be watched, if they cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    unwatched: Option<String>,
    /// The kernel's version of landlock, if it has it.
    landlock: Option<u32>,
    /// Why nothing keeps a direct command from deleting files elsewhere, if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_floor: Option<String>,
    /// Where, besides the roots, a direct command may delete files.
    deletable: Vec<PathBuf>,
}

/// One rung of the ladder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RungFinding {
    rung: Rung,
    state: RungState,
    /// Why it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// How a rung stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum RungState {
    Works,
    Refused,
    Untried,
    Unwanted,
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
