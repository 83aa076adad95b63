//! What is remembered of changes: the workspace, its log and the vault. Nothing is written or repaired here.

use dryad_effects::aside::is_in_flight;
use dryad_effects::identity;
use dryad_effects::vault::Vault;
use dryad_safety::oplog::{FileLog, LogError};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is remembered of changes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Changes {
    /// The workspace around the working directory; none when nothing was recorded there.
    workspace: Option<WorkspaceFinding>,
    /// Why it cannot be told which workspace that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    vault: VaultFinding,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceFinding {
    id: String,
    root: PathBuf,
    /// Another directory with the same id.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<PathBuf>,
    /// Where its log lies.
    state: PathBuf,
    operations: u64,
    log: LogHealth,
    /// Whether a change was left half-done, or is in flight.
    pending_journal: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "health", rename_all = "camelCase")]
enum LogHealth {
    Sound,
    /// The last lines are no records; the next change cuts them off and keeps them aside.
    Torn {
        bytes: u64,
    },
    /// It is only read.
    NewerVersion {
        problem: String,
    },
    Damaged {
        problem: String,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VaultFinding {
    path: PathBuf,
    contents: usize,
    bytes: u64,
    quota_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Changes {
    pub(super) fn find(home: &Path, workdir: &Path, quota_bytes: u64) -> Self {
        let states = home.join("workspaces");
        let (workspace, problem) = match identity::find(workdir, &states) {
            Ok(found) => (found.map(|identity| workspace(identity, &states)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { workspace, problem, vault: vault(home.join("vault"), quota_bytes) }
    }

    /// Whether everything that was recorded can be read.
    pub(super) fn is_well(&self) -> bool {
        let is_damaged = |found: &WorkspaceFinding| matches!(found.log, LogHealth::Damaged { .. });
        self.problem.is_none() && self.vault.problem.is_none() && !self.workspace.as_ref().is_some_and(is_damaged)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = match (&self.workspace, &self.problem) {
            (Some(workspace), _) => workspace.lines(),
            (None, Some(problem)) => vec![format!("BAD      {problem}")],
            (None, None) => vec!["nothing is recorded here yet".to_owned()],
        };
        let VaultFinding { path, contents, bytes, quota_bytes, problem } = &self.vault;
        lines.push(match problem {
            Some(problem) => format!("vault      {}: {problem}", path.display()),
            None => format!("vault      {}: {contents} contents, {bytes} of {quota_bytes} bytes", path.display()),
        });
        lines
    }
}

impl WorkspaceFinding {
    fn lines(&self) -> Vec<String> {
        let mut workspace = format!("workspace  {} at {}", self.id, self.root.display());
        if let Some(copy) = &self.copy {
            write!(workspace, ", shared with its copy {}", copy.display()).ok();
        }
        let health = match &self.log {
            LogHealth::Sound => "sound".to_owned(),
            LogHealth::Torn { bytes } => {
                format!("its end is torn ({bytes} bytes, which the next change cuts off and keeps aside)")
            }
            LogHealth::NewerVersion { problem } => format!("only read: {problem}"),
            LogHealth::Damaged { problem } => format!("DAMAGED: {problem}"),
        };
        let journal = match self.pending_journal {
            true => "a change was left half-done, or is in flight; the next command here sees to it",
            false => "no change is left half-done",
        };
        vec![
            workspace,
            format!("state      {}", self.state.display()),
            format!("log        {} operations, {health}", self.operations),
            format!("journal    {journal}"),
        ]
    }
}

fn workspace(identity: identity::Identity, states: &Path) -> WorkspaceFinding {
    let state = states.join(&identity.id);
    let (operations, log) = log(&state);
    WorkspaceFinding {
        pending_journal: is_in_flight(&state),
        id: identity.id,
        root: identity.root,
        copy: identity.twin,
        state,
        operations,
        log,
    }
}

fn log(state: &Path) -> (u64, LogHealth) {
    let damaged = |error: LogError| LogHealth::Damaged { problem: error.to_string() };
    let log = match FileLog::open(state) {
        Ok(log) => log,
        Err(error) => return (0, damaged(error)),
    };
    let (operations, first_problem) = log.count();
    let health = match (log.torn_bytes(), first_problem) {
        (_, Some(error @ LogError::NewerVersion { .. })) => LogHealth::NewerVersion { problem: error.to_string() },
        (_, Some(error)) | (Err(error), None) => damaged(error),
        (Ok(0), None) => LogHealth::Sound,
        (Ok(bytes), None) => LogHealth::Torn { bytes },
    };
    (operations, health)
}

fn vault(path: PathBuf, quota_bytes: u64) -> VaultFinding {
    let usage = Vault::open(&path).map_err(|error| error.to_string());
    match usage.and_then(|vault| vault.usage().map_err(|error| error.to_string())) {
        Ok(usage) => VaultFinding { path, contents: usage.blobs, bytes: usage.bytes, quota_bytes, problem: None },
        Err(problem) => VaultFinding { path, contents: 0, bytes: 0, quota_bytes, problem: Some(problem) },
    }
}
