//! One line of a session, and the line before all others.
//!
//! The form is that of version 3 of Pi's session files, with the entries its descendants added.
//! Fields that are not known here are not part of these values; whoever copies a session copies its
//! lines, not these.

use crate::content::UserBlock;
use crate::id::{EntryId, SessionId};
use crate::message::{Attribution, Message, text_or_blocks};
use crate::path::FilePath;
use crate::thinking::ThinkingLevel;
use crate::time::{Timestamp, iso};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The version of session files that are written here.
pub const SESSION_VERSION: u32 = 3;

/// The first line of a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: HeaderKind,
    /// The form of the lines that follow; files of the first version do not say.
    #[serde(default = "first_version")]
    pub version: u32,
    /// Which session.
    pub id: SessionId,
    /// When it began.
    #[serde(with = "iso", default)]
    pub timestamp: Timestamp,
    /// The directory it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<FilePath>,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Who called it that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_source: Option<TitleSource>,
    /// The session it came from: an id or a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// What other programs wrote.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The type of the first line.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderKind {
    /// A session.
    #[default]
    Session,
}

/// Who gave a session its name.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TitleSource {
    /// The program.
    Auto,
    /// The user; the program does not replace it.
    User,
}

/// One line of a session: a node of its tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Unique in the session.
    pub id: EntryId,
    /// The entry it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// When it was appended.
    #[serde(with = "iso")]
    pub timestamp: Timestamp,
    /// What it says.
    #[serde(flatten)]
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EntryBody {
    /// A message of the conversation.
    Message {
        /// The message.
        message: Arc<Message>,
    },
    /// From here on another model answers.
    ModelChange(ModelChange),
    /// From here on the model thinks more or less.
    ThinkingLevelChange {
        /// The level.
        thinking_level: ThinkingLevel,
    },
    /// From here on requests are served in another tier.
    ServiceTierChange {
        /// The tier; none is the provider's own choice.
        service_tier: Option<String>,
    },
    /// What came before is told by a summary.
    Compaction(Compaction),
    /// A branch that was left is told by a summary.
    BranchSummary(BranchSummary),
    /// State of an extension; the model does not see it.
    Custom {
        /// Whose and of which kind.
        custom_type: String,
        /// The state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// A message of an extension.
    CustomMessage(CustomMessageEntry),
    /// A name for an entry, or no more name.
    Label {
        /// The entry it names.
        target_id: EntryId,
        /// The name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Stream rules that were told to the model.
    TtsrInjection {
        /// Their names.
        injected_rules: Vec<String>,
    },
    /// The deferred tools that are active from here on.
    ToolSelection {
        /// Their names.
        selected_tool_names: Vec<String>,
    },
    /// What a session of a sub-agent began with.
    SessionInit {
        /// What it is told first.
        system_prompt: String,
        /// What it shall do.
        task: String,
        /// What it may use.
        #[serde(default)]
        tools: Vec<String>,
        /// The form its answer shall have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
    /// From here on another mode.
    ModeChange {
        /// Its name.
        mode: String,
        /// Its state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// From here on the model sees a notice in the place of these tool results.
    Pruning {
        /// The entries of the results.
        entry_ids: Vec<EntryId>,
    },
    /// What the session is called.
    SessionInfo {
        /// The name; empty or absent takes it away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// An entry of a type that is not known here, with its `type`.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// From here on another model answers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "ModelChangeForm", into = "ModelChangeForm")]
pub struct ModelChange {
    /// `provider/id`.
    pub model: String,
    /// For which role; absent is the default one.
    pub role: Option<String>,
}

/// The two forms in one: Pi names provider and id apart, its descendants in one text.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelChangeForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
}

/// What came before is told by a summary.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// Two or three sentences of it, for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    /// The first entry that is still told in full; none in files of other programs that lost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<EntryId>,
    /// How many tokens the context had before.
    #[serde(default)]
    pub tokens_before: u64,
    /// Facts for programs, such as the files that were read and modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What an extension wants to keep across compactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_data: Option<Value>,
    /// Whether an extension wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "fromHook")]
    pub from_extension: Option<bool>,
}

/// A branch that was left is told by a summary.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    /// The entry the conversation goes on from, or `root`.
    pub from_id: String,
    /// The summary.
    pub summary: String,
    /// Facts for programs, such as the files that were read and modified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether an extension wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "fromHook")]
    pub from_extension: Option<bool>,
}

/// A message of an extension.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    /// Whose and of which kind.
    pub custom_type: String,
    /// Text and pictures. Plain text is read as one text block.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<UserBlock>,
    /// Whether people see it.
    #[serde(default)]
    pub display: bool,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

/// The types of entries that have a form of their own.
const KNOWN_TYPES: [&str; 15] = [
    "message",
    "model_change",
    "thinking_level_change",
    "service_tier_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "ttsr_injection",
    "tool_selection",
    "session_init",
    "mode_change",
    "pruning",
    "session_info",
];

impl<'de> Deserialize<'de> for Entry {
    /// Reads an entry; only a type that is not known becomes [`EntryBody::Other`], a known one with a
    /// wrong form is an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Time(#[serde(with = "iso")] Timestamp);
        let mut fields = Map::deserialize(deserializer)?;
        let mut take = |name: &str| fields.shift_remove(name).unwrap_or_default();
        let id = serde_json::from_value(take("id")).map_err(D::Error::custom)?;
        let parent_id = serde_json::from_value(take("parentId")).map_err(D::Error::custom)?;
        let timestamp = match take("timestamp") {
            Value::Null => Timestamp::default(),
            time => serde_json::from_value::<Time>(time).map_err(D::Error::custom)?.0,
        };
        let known = fields.get("type").and_then(Value::as_str).is_some_and(|kind| KNOWN_TYPES.contains(&kind));
        let body = if known {
            let body = EntryBody::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
            if matches!(body, EntryBody::Other(_)) {
                return Err(D::Error::custom("an entry of a known type has a form of its own"));
            }
            body
        } else {
            EntryBody::Other(fields)
        };
        Ok(Self { id, parent_id, timestamp, body })
    }
}

impl TryFrom<ModelChangeForm> for ModelChange {
    type Error = &'static str;

    fn try_from(form: ModelChangeForm) -> Result<Self, Self::Error> {
        let model = match (form.model, form.provider, form.model_id) {
            (Some(model), _, _) => model,
            (None, Some(provider), Some(id)) => format!("{provider}/{id}"),
            (None, _, _) => return Err("a change of the model names one"),
        };
        Ok(Self { model, role: form.role })
    }
}

impl From<ModelChange> for ModelChangeForm {
    fn from(change: ModelChange) -> Self {
        let parts = change.model.split_once('/').map(|(provider, id)| (provider.to_owned(), id.to_owned()));
        let (provider, model_id) = parts.unzip();
        Self { model: Some(change.model), provider, model_id, role: change.role }
    }
}

fn first_version() -> u32 {
    1
}

#[cfg(test)]
mod tests;
