//! What responses carry, where it is not a noun of another crate.

mod state;

pub use dryad_agent::conversation::State as SessionState;
pub use dryad_session::outline::Outline as SessionTree;
pub use state::{BranchMessages, SessionStats};

use dryad_protocol::action::PendingAction;
use dryad_protocol::call::ToolResult;
use dryad_protocol::id::{EntryId, OperationId};
use dryad_protocol::message::Message;
use dryad_protocol::model::Model;
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::todo::TodoPhase;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Of `prompt`, `steer`, `follow_up` and `abort_and_prompt`.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Disposed {
    /// What becomes of the message.
    pub disposition: Disposition,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// A run begins with it.
    Started,
    /// It waits.
    Queued,
}

/// Of `new_session`, `switch_session` and `clone`.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Changed {
    /// Whether a hook did not want it; nothing was ended or changed then.
    pub cancelled: bool,
}

/// Of `branch`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Branched {
    /// What was said there, to be edited and said anew.
    pub text: String,
    /// Whether a hook did not want it; nothing was ended or changed then.
    pub cancelled: bool,
    /// What became of the operations that were taken back, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<Vec<Undone>>,
}

/// Of `navigate_tree`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// What was said there by hand, to be edited and said anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether a hook did not want it, or the summary was cancelled; the session is where it was then.
    pub cancelled: bool,
    /// The entry that tells what was left behind, when that was asked for and anything was said there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry_id: Option<EntryId>,
}

/// Of `set_todos`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Todos {
    /// The list as it is kept.
    pub todo_phases: Vec<TodoPhase>,
}

/// Of `set_host_tools`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolNames {
    /// In the order given.
    pub tool_names: Vec<String>,
}

/// Of `cycle_model`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CycledModel {
    /// The model that is asked next.
    pub model: Arc<Model>,
    /// How hard it thinks; absent when it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Whether only the models of a list were changed between.
    pub is_scoped: bool,
}

/// Of `cycle_thinking_level`.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct CycledLevel {
    /// How hard the model thinks.
    pub level: ThinkingLevel,
}

/// Of `get_available_models`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Models {
    /// Those that can be asked now.
    pub models: Vec<Model>,
}

/// Of `get_messages`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Messages {
    /// The conversation as the model sees it.
    pub messages: Vec<Arc<Message>>,
}

/// Of `get_last_assistant_text`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LastText {
    /// What the model said last, or null.
    pub text: Option<String>,
}

/// Of `export_html`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Exported {
    /// Where the page is.
    pub path: PathBuf,
}

/// Of `get_commands`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Commands {
    /// The slash commands; there are none yet.
    pub commands: Vec<String>,
}

/// Of `bash`.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    /// What it printed; when that is a lot, its end.
    pub output: String,
    /// Absent when it did not exit by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it was ended by `abort_bash`.
    pub cancelled: bool,
    /// Whether `output` is not all of it.
    pub truncated: bool,
    /// Lines it printed, what follows the last line feed counted.
    pub total_lines: u64,
    /// Bytes it printed.
    pub total_bytes: u64,
    /// Lines of `output`.
    pub output_lines: u64,
    /// Bytes of `output`.
    pub output_bytes: u64,
    /// Where all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<PathBuf>,
}

/// Of `get_pending_actions`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PendingActions {
    /// The oldest first.
    pub actions: Vec<PendingAction>,
}

/// Of `resolve`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Resolved {
    /// What was resolved.
    pub action: PendingAction,
    /// What its tool says.
    pub result: ToolResult,
}

/// Of `get_operations`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Operations {
    /// The newest first.
    pub operations: Vec<OperationRow>,
}

/// One operation of a list.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRow {
    /// Who did it, when and why.
    #[serde(flatten)]
    pub head: OperationHead,
    /// `files`, `command`, `foreign` or `nothing`.
    pub kind: String,
    /// How many paths it touched, when it changed files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<u64>,
    /// The operation that took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<OperationId>,
}

/// Of `undo` and `redo`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct UndoneList {
    /// Every operation that was to be taken back, or done again.
    pub operations: Vec<Undone>,
}

/// What became of one operation.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// Which.
    pub operation_id: OperationId,
    /// What it had done.
    pub label: String,
    /// The operation that did it; absent when nothing had to be changed, and on a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<OperationId>,
    /// Whether everything is as it was before.
    pub complete: bool,
    /// Every path and what was done about it.
    pub paths: Vec<UndonePath>,
    /// What a person can do where nothing could be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guide: Option<String>,
}

/// What was done about one path.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndonePath {
    /// Which.
    pub path: FilePath,
    /// What.
    pub verdict: UndoVerdict,
    /// Where ours lies, when both were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours_at: Option<FilePath>,
    /// Why nothing could be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What was done about a path.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoVerdict {
    /// It is as it was.
    Restored,
    /// It is as it was before but for something that could not be given back, for this reason.
    RestoredBut,
    /// It was so already.
    AlreadySo,
    /// It has both: what stood there, and what was written since.
    Merged,
    /// Nothing of the operation was left there, and what was written since is kept.
    KeptYours,
    /// What was written since is kept, and ours put beside it.
    Conflict,
    /// Nothing could be done.
    Cannot,
}
