//! The conversation and its file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The conversation and its file.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionCommand {
    /// Begins an empty session. Ends a run first, empties the queues and the list of what is to be done.
    NewSession {
        /// Where it comes from, for its first line.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_session: Option<String>,
    },
    /// Goes on with the session of a file; one that is not there begins empty.
    SwitchSession {
        /// The file.
        session_path: String,
    },
    /// Goes on in a new session that ends before what the user said at an entry; `data.text` is what was said.
    #[serde(alias = "fork")]
    Branch {
        /// What the user said.
        entry_id: String,
        /// Also takes back what was done to files since then.
        #[serde(skip_serializing_if = "Option::is_none")]
        undo: Option<bool>,
    },
    /// Goes on in a new session with the same conversation.
    Clone,
    /// Goes on in the same session from another entry: before what was said by hand, which comes back as `data.text`,
    /// or behind any other. Ends a run first, empties the queues.
    NavigateTree {
        /// Where to.
        entry_id: String,
        /// Has the model tell there what is left behind.
        #[serde(skip_serializing_if = "Option::is_none")]
        summarize: Option<bool>,
        /// What that summary shall heed.
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    /// Names an entry, or takes its name away.
    SetLabel {
        /// Which entry.
        entry_id: String,
        /// The name; absent or null takes it away.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// All entries of the session with their places and a line of what they say: `data.entries`.
    GetTree,
    /// Everything the user has said, with the entries to branch at: `data.messages`.
    #[serde(alias = "get_fork_messages")]
    GetBranchMessages,
    /// Counts, tokens and cost of the live context.
    GetSessionStats,
    /// Writes the session as a page; `data.path` is where.
    ExportHtml {
        /// Where to; otherwise a name in the working directory.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_path: Option<String>,
    },
    /// What the model said last: `data.text`, or null.
    GetLastAssistantText,
    /// Names the session.
    SetSessionName {
        /// The name.
        name: String,
    },
    /// The conversation as the model sees it: `data.messages`.
    GetMessages,
    /// The slash commands there are: `data.commands`.
    GetCommands,
}
