//! What an entry is, in one byte: enough to walk a branch without reading what was said.

use dryad_protocol::entry::EntryBody;
use dryad_protocol::message::Message;

/// The tool whose results carry the list of what is to be done.
pub(crate) const TODO_TOOL: &str = "todo_write";

/// What an entry is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// Said by the user.
    User,
    /// An instruction injected by the program.
    Developer,
    /// Said by the model.
    Assistant,
    /// What a tool gave back.
    ToolResult,
    /// What the tool gave back that keeps the list of what is to be done.
    TodoResult,
    /// A message of an extension, in either of its two forms.
    CustomMessage,
    /// A command of the user.
    BashExecution,
    /// Files the user named.
    FileMention,
    /// A summary of a branch that was left, in either of its two forms.
    BranchSummary,
    /// What came before is told by a summary.
    Compaction,
    /// Tool results that are not told any more.
    Pruning,
    /// Another model.
    ModelChange,
    /// Another thinking level.
    ThinkingLevelChange,
    /// Another service tier.
    ServiceTierChange,
    /// State of an extension.
    Custom,
    /// A name for an entry.
    Label,
    /// Stream rules that were told.
    TtsrInjection,
    /// Deferred tools that are active.
    ToolSelection,
    /// The beginning of a sub-agent.
    SessionInit,
    /// Another mode.
    ModeChange,
    /// A name for the session.
    SessionInfo,
    /// Nothing that is known here.
    Other,
}

impl Kind {
    /// The kind of an entry that is held.
    pub(crate) fn of(body: &EntryBody) -> Self {
        match body {
            EntryBody::Message { message } => Self::of_message(message),
            EntryBody::ModelChange(_) => Self::ModelChange,
            EntryBody::ThinkingLevelChange { .. } => Self::ThinkingLevelChange,
            EntryBody::ServiceTierChange { .. } => Self::ServiceTierChange,
            EntryBody::Compaction(_) => Self::Compaction,
            EntryBody::BranchSummary(_) => Self::BranchSummary,
            EntryBody::Custom { .. } => Self::Custom,
            EntryBody::CustomMessage(_) => Self::CustomMessage,
            EntryBody::Label { .. } => Self::Label,
            EntryBody::TtsrInjection { .. } => Self::TtsrInjection,
            EntryBody::ToolSelection { .. } => Self::ToolSelection,
            EntryBody::SessionInit { .. } => Self::SessionInit,
            EntryBody::ModeChange { .. } => Self::ModeChange,
            EntryBody::Pruning { .. } => Self::Pruning,
            EntryBody::SessionInfo { .. } => Self::SessionInfo,
            EntryBody::Other(_) => Self::Other,
        }
    }

    fn of_message(message: &Message) -> Self {
        match message {
            Message::User(_) => Self::User,
            Message::Developer(_) => Self::Developer,
            Message::Assistant(_) => Self::Assistant,
            Message::ToolResult(result) if result.tool_name == TODO_TOOL => Self::TodoResult,
            Message::ToolResult(_) => Self::ToolResult,
            Message::Custom(_) => Self::CustomMessage,
            Message::BashExecution(_) => Self::BashExecution,
            // A summary in the form of a message stands for itself: it says nothing about what is kept.
            Message::BranchSummary(_) | Message::CompactionSummary(_) => Self::BranchSummary,
            Message::FileMention(_) => Self::FileMention,
        }
    }

    /// The kind of an entry of this type, with these facts about its message.
    pub(crate) fn named(entry_type: &str, role: Option<&str>, tool: Option<&str>) -> Self {
        match (entry_type, role) {
            ("message", Some(role)) => Self::of_role(role, tool),
            ("model_change", _) => Self::ModelChange,
            ("thinking_level_change", _) => Self::ThinkingLevelChange,
            ("service_tier_change", _) => Self::ServiceTierChange,
            ("compaction", _) => Self::Compaction,
            ("branch_summary", _) => Self::BranchSummary,
            ("custom", _) => Self::Custom,
            ("custom_message", _) => Self::CustomMessage,
            ("label", _) => Self::Label,
            ("ttsr_injection", _) => Self::TtsrInjection,
            ("tool_selection", _) => Self::ToolSelection,
            ("session_init", _) => Self::SessionInit,
            ("mode_change", _) => Self::ModeChange,
            ("pruning", _) => Self::Pruning,
            ("session_info", _) => Self::SessionInfo,
            _ => Self::Other,
        }
    }

    fn of_role(role: &str, tool: Option<&str>) -> Self {
        match role {
            "user" => Self::User,
            "developer" => Self::Developer,
            "assistant" => Self::Assistant,
            "toolResult" if tool == Some(TODO_TOOL) => Self::TodoResult,
            "toolResult" => Self::ToolResult,
            "custom" => Self::CustomMessage,
            "bashExecution" => Self::BashExecution,
            "fileMention" => Self::FileMention,
            "branchSummary" | "compactionSummary" => Self::BranchSummary,
            _ => Self::Other,
        }
    }

    /// Whether the model gets to see it as a message.
    pub fn is_said(self) -> bool {
        match self {
            Self::User | Self::Developer | Self::Assistant | Self::ToolResult | Self::TodoResult => true,
            Self::CustomMessage | Self::BashExecution | Self::FileMention | Self::BranchSummary => true,
            Self::Compaction | Self::ModelChange | Self::ThinkingLevelChange | Self::ServiceTierChange => false,
            Self::Custom | Self::Label | Self::TtsrInjection | Self::ToolSelection | Self::SessionInit => false,
            Self::ModeChange | Self::SessionInfo | Self::Pruning | Self::Other => false,
        }
    }

    /// Whether it is what a tool gave back.
    pub fn is_result(self) -> bool {
        matches!(self, Self::ToolResult | Self::TodoResult)
    }

    /// Whether a turn of the conversation begins with it.
    pub fn starts_turn(self) -> bool {
        matches!(self, Self::User | Self::BashExecution | Self::CustomMessage | Self::BranchSummary | Self::FileMention)
    }
}
