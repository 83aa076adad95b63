//! What only the program around the server can do: start processes, draw differences, write pages.

use dryad_agent::conversation::Conversation;
use dryad_protocol::command::CommandOutcome;
use dryad_protocol::message::MentionedFile;
use dryad_safety::workspace::Workspace;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Of what a command of the user prints the end is sent, up to so many bytes.
pub const SHOWN_BYTES: usize = 50 * 1024;

/// A command of the user that has ended.
#[derive(Clone, Debug)]
pub struct ShellRun {
    /// How it ended, and what it printed.
    pub outcome: CommandOutcome,
    /// Where all of what it printed is, when that was more than [`SHOWN_BYTES`].
    pub full_output: Option<PathBuf>,
}

/// What only the program can do.
pub trait Program: Send + Sync {
    /// Runs a command of the user in the working directory. `on_update` gets the output so far now and then.
    ///
    /// Cancelling ends it and all it has started.
    fn run_shell<'a>(
        &'a self,
        command: &'a str,
        cancel: &'a CancellationToken,
        on_update: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<ShellRun, String>>;

    /// The files of the working directory that a prompt names with `@`.
    fn mentioned(&self, text: &str) -> Vec<MentionedFile>;

    /// One operation with the difference it made. Blocking.
    ///
    /// # Errors
    ///
    /// When there is no such operation, or it cannot be read.
    fn show_operation(&self, workspace: &Workspace, id: &str) -> Result<Value, String>;

    /// Writes the session as a page and tells where. Blocking.
    ///
    /// # Errors
    ///
    /// When it is not stored, or the page cannot be written.
    fn export_html(&self, conversation: &Conversation, path: Option<PathBuf>) -> Result<PathBuf, String>;
}
