//! What a tool says of itself: what the model reads, what it is, and how safe it is.
//!
//! Defaults are the careful ones: a tool that declares nothing is not concurrency-safe, not
//! read-only, offers no preview and no undo, and so has level 0.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// A tool's name, its texts, its argument schema and its declarations.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// The name people see.
    pub label: String,
    /// What the model reads about it.
    pub description: String,
    /// One line in the system prompt's list of tools; a tool without one is not listed.
    pub prompt_snippet: Option<String>,
    /// Lines in the system prompt's guidelines.
    pub prompt_guidelines: Vec<String>,
    /// JSON Schema of the arguments.
    pub parameters: Arc<RawValue>,
    /// Offered to the model, but neither listed nor filtered by the user.
    pub hidden: bool,
    /// What it is.
    pub metadata: Metadata,
    /// What safety measures it offers.
    pub capability: Capability,
}

/// What a tool is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Metadata {
    /// May run next to other calls.
    pub concurrency_safe: bool,
    /// Has no side effects. A label; it takes no part in permission.
    pub read_only: bool,
    /// May do damage that cannot be undone. A label; it takes no part in permission.
    pub destructive: bool,
    /// Old names kept for compatibility.
    pub aliases: Vec<String>,
    /// Words a tool search matches.
    pub search_hint: String,
    /// Which permission checks apply.
    pub permission_class: PermissionClass,
    /// What the audit calls it: write, edit, read, execute, delete, invoke or a text of its own;
    /// empty means: guessed from the name.
    pub audit_operation: String,
    /// A checkpoint handler must release each call; without a handler it is refused.
    pub requires_checkpoint: bool,
    /// The agent must challenge its own choice before each call.
    pub requires_reverse_thinking: bool,
}

/// Which permission checks apply to a tool.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionClass {
    /// Not declared: decided by the tool's name, else generic.
    #[default]
    #[serde(rename = "")]
    Undeclared,
    /// Sub-commands, prefix rules, dangerous commands.
    Bash,
    /// Path rules, dangerous paths.
    File,
    /// Domain rules.
    Webfetch,
    /// Allowed straight away.
    Readonly,
    /// Rules first, then ask.
    Generic,
}

/// What safety measures a tool offers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Capability {
    /// Can be previewed.
    pub dry_run: bool,
    /// Can be undone.
    pub reversible: bool,
    /// How an undo would happen.
    pub undo_method: UndoMethod,
    /// The tool that undoes it, when a tool does.
    pub undo_tool_name: String,
    /// The confidence (0 to 100) a model must report; 0 switches the gate off.
    pub min_confidence: u8,
    /// Kinds of things it touches: file, process, network, ….
    pub affected_resources: Vec<String>,
}

/// How an undo would happen.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UndoMethod {
    /// Not at all.
    #[default]
    #[serde(rename = "")]
    None,
    /// By a tool.
    Tool,
    /// By a person.
    Manual,
}

/// How safe a tool is to call, rising.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum SafetyLevel {
    /// Neither preview nor undo: warn first.
    #[default]
    Unprotected = 0,
    /// Undo, but no preview.
    Reversible = 1,
    /// Preview first, then do.
    Previewable = 2,
}

/// What settings may ask of a tool besides what it declares. Nothing here can make a tool laxer.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Stricter {
    /// Counts as destructive.
    pub destructive: bool,
    /// Runs alone.
    pub exclusive: bool,
    /// Each call needs a release.
    pub requires_checkpoint: bool,
    /// Each call is challenged first.
    pub requires_reverse_thinking: bool,
    /// The confidence a model must report; the higher one counts.
    pub min_confidence: u8,
}

impl ToolSpec {
    /// A tool that declares nothing but what the model must know: level 0, run alone, asked about.
    ///
    /// # Errors
    ///
    /// When the schema cannot be written as JSON.
    pub fn new(name: &str, description: &str, schema: &serde_json::Value) -> Result<Self, serde_json::Error> {
        Ok(Self {
            name: name.to_owned(),
            label: name.to_owned(),
            description: description.to_owned(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters: Arc::from(serde_json::value::to_raw_value(schema)?),
            hidden: false,
            metadata: Metadata::default(),
            capability: Capability::default(),
        })
    }

    /// The same tool under stricter rules.
    #[must_use]
    pub fn stricter(mut self, rules: &Stricter) -> Self {
        self.metadata.destructive |= rules.destructive;
        self.metadata.concurrency_safe &= !rules.exclusive;
        self.metadata.requires_checkpoint |= rules.requires_checkpoint;
        self.metadata.requires_reverse_thinking |= rules.requires_reverse_thinking;
        self.capability.min_confidence = self.capability.min_confidence.max(rules.min_confidence.min(100));
        self
    }
}

impl Metadata {
    /// A tool that only looks: concurrency-safe, read-only, allowed straight away.
    pub fn reader(search_hint: &str) -> Self {
        Self {
            concurrency_safe: true,
            read_only: true,
            search_hint: search_hint.to_owned(),
            permission_class: PermissionClass::Readonly,
            audit_operation: "read".to_owned(),
            ..Self::default()
        }
    }
}

impl Capability {
    /// A tool that touches these kinds of things and offers neither preview nor undo.
    pub fn touching(resources: &[&str]) -> Self {
        let affected_resources = resources.iter().map(|&resource| resource.to_owned()).collect();
        Self { affected_resources, ..Self::default() }
    }

    /// A tool that plans file changes: the change set is its preview, the inverse its undo.
    pub fn planned_files() -> Self {
        Self {
            dry_run: true,
            reversible: true,
            undo_method: UndoMethod::Tool,
            undo_tool_name: "restore_file".to_owned(),
            ..Self::touching(&["file"])
        }
    }

    /// A tool that runs commands where they can be kept in check as far as this.
    pub fn of_commands(level: SafetyLevel) -> Self {
        let usual = Self::touching(&["process", "file", "network"]);
        match level {
            SafetyLevel::Unprotected => usual,
            SafetyLevel::Reversible | SafetyLevel::Previewable => Self {
                dry_run: level == SafetyLevel::Previewable,
                reversible: true,
                undo_method: UndoMethod::Tool,
                undo_tool_name: "restore_file".to_owned(),
                ..usual
            },
        }
    }

    /// The level that follows from what is offered.
    pub fn safety_level(&self) -> SafetyLevel {
        match (self.dry_run, self.reversible) {
            (true, _) => SafetyLevel::Previewable,
            (false, true) => SafetyLevel::Reversible,
            (false, false) => SafetyLevel::Unprotected,
        }
    }
}
