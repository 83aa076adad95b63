//! Settings as used: defaults, then the user's file, then the project's, then flags.
//!
//! [`layers`] reads and merges the files, [`schema`] says which keys there are; this type is what
//! the rest of the program sees. Flags are applied where they are used.

mod conversation;
pub(crate) mod layers;
pub(crate) mod schema;

pub(crate) use conversation::TodoSettings;
use conversation::{CompactionSettings, RetrySettings, RuleSettings};
use dryad_agent::queue::{InterruptMode, QueueMode};
use dryad_protocol::action::Resolver;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_safety::gate::reverse_thinking::ReverseThinkingOrder;
use dryad_safety::pending::ForceResolve;
use dryad_safety::permission::PermissionSettings;
use dryad_safety::pipeline::AutoPreview;
use dryad_safety::rehearsal::Rung;
use dryad_safety::spec::Stricter;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The values of the files. What no file gives is the default.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Settings {
    /// `provider/id[:thinking]`.
    pub(crate) default_model: Option<String>,
    /// How hard the model thinks.
    pub(crate) default_thinking_level: Option<ThinkingLevel>,
    /// The shell that runs commands.
    pub(crate) shell_path: Option<String>,
    /// Put before every command.
    pub(crate) shell_command_prefix: Option<String>,
    /// Of the bash tool.
    pub(crate) bash: BashSettings,
    /// Of pictures.
    pub(crate) images: ImageSettings,
    /// Of the edit tool.
    pub(crate) edit: EditSettings,
    /// Of the syntax-tree tools.
    pub(crate) ast: AstSettings,
    /// Of connections.
    pub(crate) http: HttpTimeouts,
    /// Of the tools as such.
    pub(crate) tools: ToolSettings,
    /// Directories below which tools may change files.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether DRYAD.md, AGENTS.md and CLAUDE.md are read.
    pub(crate) context_files: Option<bool>,
    /// How steering is taken.
    pub(crate) steering_mode: QueueMode,
    /// How follow-ups are taken.
    pub(crate) follow_up_mode: QueueMode,
    /// What steering does to the calls of a turn.
    pub(crate) interrupt_mode: InterruptMode,
    /// When room is made in the context.
    pub(crate) compaction: CompactionSettings,
    /// How failed requests are made again.
    pub(crate) retry: RetrySettings,
    /// How the list of what is to be done leads the model.
    pub(crate) todo: TodoSettings,
    /// How rules watch what the model writes.
    pub(crate) ttsr: RuleSettings,
    /// Models for other roles than answering.
    pub(crate) model_roles: BTreeMap<String, String>,
    /// Whether sessions are named by the model.
    pub(crate) auto_title: bool,
    /// Where sessions are kept.
    pub(crate) session_dir: Option<PathBuf>,
    /// Of the contents kept for undo.
    pub(crate) vault: VaultSettings,
    /// What may be done, as the user says.
    pub(crate) permissions: PermissionSettings,
    /// What a project says about that, which can only tighten it.
    #[serde(skip)]
    pub(crate) project_permissions: PermissionSettings,
    /// How calls are made safe.
    pub(crate) safety: SafetySettings,
    /// How commands are rehearsed.
    pub(crate) rehearsal: RehearsalKeys,
}

/// Of the tools as such.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolSettings {
    /// Those the model is offered; all of them when nothing is said.
    pub(crate) enabled: Option<Vec<String>>,
    /// From which size on results are put aside.
    pub(crate) result_spill_bytes: Option<usize>,
}

/// How calls are made safe.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SafetySettings {
    /// Which calls are staged without their tool asking for it.
    pub(crate) auto_preview: AutoPreview,
    /// Who resolves them.
    pub(crate) resolver: Resolver,
    /// How the model is brought to resolve.
    pub(crate) force_resolve: ForceResolve,
    /// Where a challenge stands beside the checkpoint.
    pub(crate) reverse_thinking: ReverseThinkingOrder,
    /// From how many tools on the rest is deferred.
    pub(crate) deferred_tool_threshold: i64,
    /// Stricter rules for single tools.
    pub(crate) tools: BTreeMap<String, Stricter>,
}

/// How commands are rehearsed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RehearsalKeys {
    /// The best rung of the ladder to use.
    pub(crate) rung: Option<Rung>,
    /// Whether commands that need no further permission may use the network.
    pub(crate) network: NetworkUse,
    /// How many bytes a command may write.
    pub(crate) quota_bytes: Option<u64>,
    /// Directories in which a command that runs directly may delete files, besides the roots.
    pub(crate) deletable: Vec<PathBuf>,
}

/// Whether a command may use the network.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NetworkUse {
    /// Yes.
    #[default]
    Allow,
    /// No.
    None,
}

/// Of the bash tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BashSettings {
    /// Variables set for every command.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Of pictures.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImageSettings {
    /// Whether large ones are made smaller before they are sent.
    pub(crate) auto_resize: bool,
    /// Whether none is ever sent.
    pub(crate) block_images: bool,
}

/// Of the edit tool.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EditSettings {
    /// Whether text that nearly matches is found.
    pub(crate) fuzzy_match: bool,
    /// How near it must be, 0 to 1.
    pub(crate) fuzzy_threshold: Option<f64>,
    /// Whether files marked as generated are refused.
    pub(crate) block_auto_generated: bool,
}

/// Of the syntax-tree tools.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AstSettings {
    /// How many files one call looks at.
    pub(crate) max_files: Option<usize>,
}

/// Of connections.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HttpTimeouts {
    /// For a connection to stand.
    pub(crate) connect_timeout_ms: Option<u64>,
    /// For the next bytes of an answer.
    pub(crate) idle_timeout_ms: Option<u64>,
}

/// Of the contents kept for undo.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VaultSettings {
    /// How many bytes they may take before `dryad gc` removes old ones.
    pub(crate) quota_bytes: u64,
}

impl Default for VaultSettings {
    fn default() -> Self {
        Self { quota_bytes: 1024 * 1024 * 1024 }
    }
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { auto_resize: true, block_images: false }
    }
}

impl Default for EditSettings {
    fn default() -> Self {
        Self { fuzzy_match: true, fuzzy_threshold: None, block_auto_generated: true }
    }
}
