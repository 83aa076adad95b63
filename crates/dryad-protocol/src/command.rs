//! A process that a plan wants to run, and what became of it.

use crate::path::FilePath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shell command, complete: whoever holds this can run it without asking the tool again.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandSpec {
    /// The text handed to the shell.
    pub command: String,
    /// Where it runs.
    pub cwd: FilePath,
    /// Variables set on top of the inherited environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The program that interprets `command` (given after `-c`).
    pub shell: String,
    /// After so many seconds it is stopped.
    pub timeout_seconds: u64,
}

/// How a command came to its end.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum CommandEnd {
    /// It exited by itself.
    Exited {
        /// Its exit code; 128 + the signal's number when a signal ended it.
        code: i32,
    },
    /// Its time was up.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
}

/// What a command printed: all of it, or its two ends.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CommandOutput {
    /// Standard output and standard error in order of arrival; where bytes were left out,
    /// the two kept halves joined by a marker that tells how many.
    pub text: String,
    /// All bytes the command printed.
    pub total_bytes: u64,
    /// All line breaks the command printed.
    pub total_lines: u64,
    /// Bytes kept of the beginning and of the end, when not all were kept.
    pub truncated: Option<KeptBytes>,
    /// The artifact that holds all of it, when not all of it is in `text`.
    pub full_output: Option<u64>,
}

/// How much of an output's two ends was kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBytes {
    /// Of the beginning.
    pub head_bytes: u64,
    /// Of the end.
    pub tail_bytes: u64,
}

/// A finished command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandOutcome {
    /// How it ended.
    pub end: CommandEnd,
    /// What it printed.
    pub output: CommandOutput,
    /// How long it ran.
    pub duration_ms: u64,
}
