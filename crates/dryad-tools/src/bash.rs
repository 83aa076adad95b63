//! `bash`: a shell command, planned but not run.
//!
//! The plan names everything a run needs: the shell, the text, the directory, the variables and the
//! time. Running it and telling how it ended is the pipeline's part.

mod lift;
mod quiet;
mod shell;
#[cfg(test)]
mod tests;

use crate::path;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::path::FilePath;
use dryad_safety::arguments::{kept, parse, plain_values};
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, PermissionClass, SafetyLevel, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

dryad_safety::kept_schema!(SCHEMA, Arguments, "bash.schema.json");

/// Seconds a command may take when the caller does not say.
const DEFAULT_TIMEOUT: f64 = 120.0;

/// Seconds a command may take at least and at most.
const TIMEOUTS: (f64, f64) = (1.0, 3600.0);

/// How commands are run.
#[derive(Clone, Debug, Default)]
pub struct BashSettings {
    /// The shell; without one it is looked for.
    pub shell_path: Option<PathBuf>,
    /// A line put before every command.
    pub command_prefix: Option<String>,
    /// Variables set for every command.
    pub environment: BTreeMap<String, String>,
    /// How safe commands are where they run: whether they can be rehearsed, or at least be taken back.
    pub level: SafetyLevel,
}

/// Plans shell commands.
pub struct BashTool {
    spec: ToolSpec,
    settings: BashSettings,
    /// Decided at the first call: a shell does not move while the program runs.
    shell: OnceLock<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command.
    command: String,
    /// Seconds (default 120).
    #[serde(default)]
    #[schemars(with = "f64", range(min = 1, max = 3600))]
    timeout: Option<f64>,
    /// Directory to run in.
    #[serde(default)]
    #[schemars(with = "String")]
    cwd: Option<String>,
    /// More environment variables.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    env: Option<BTreeMap<String, String>>,
    /// What it does, in a few words, for the person watching.
    #[serde(default, rename = "description")]
    #[schemars(with = "String")]
    _description: Option<String>,
}

impl BashTool {
    /// A tool that plans commands to be run in this way.
    pub fn new(settings: BashSettings) -> Self {
        let spec = ToolSpec {
            name: "bash".to_owned(),
            label: "bash".to_owned(),
            description: include_str!("bash.md").trim_end().to_owned(),
            prompt_snippet: Some("Run shell commands".to_owned()),
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata: metadata(),
            capability: Capability::of_commands(settings.level),
        };
        Self { spec, settings, shell: OnceLock::new() }
    }

    fn shell(&self) -> String {
        let find = || shell::find(self.settings.shell_path.as_deref(), std::env::var_os("PATH").as_deref());
        self.shell.get_or_init(find).clone()
    }

    fn environment(&self, given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ToolError> {
        if let Some(name) = given.keys().find(|name| !is_variable_name(name)) {
            return Err(ToolError::new(format!("Invalid bash env name: {name}")));
        }
        let mut environment = quiet::environment();
        environment.extend(self.settings.environment.clone());
        environment.extend(given);
        Ok(environment)
    }

    fn prefixed(&self, command: &str) -> String {
        match &self.settings.command_prefix {
            Some(prefix) => format!("{prefix}\n{command}"),
            None => command.to_owned(),
        }
    }
}

impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        plain_values(&mut arguments, &["timeout"]);
        plain_variables(&mut arguments);
        let arguments: Arguments = parse(arguments)?;
        let env = self.environment(arguments.env.unwrap_or_default())?;
        let (cwd, command) = place(arguments.cwd.as_deref(), &arguments.command, &context.workdir);
        check_directory(&cwd)?;
        Ok(Plan::from(CommandSpec {
            command: self.prefixed(command),
            cwd: FilePath::new(cwd),
            env,
            shell: self.shell(),
            timeout_seconds: seconds(arguments.timeout),
        }))
    }
}

fn metadata() -> Metadata {
    Metadata {
        destructive: true,
        search_hint: "run shell command terminal execute program build test".to_owned(),
        permission_class: PermissionClass::Bash,
        audit_operation: "execute".to_owned(),
        ..Metadata::default()
    }
}

/// Where the command runs, and what is left of it when it says so itself.
fn place<'a>(cwd: Option<&str>, command: &'a str, workdir: &Path) -> (PathBuf, &'a str) {
    match cwd.filter(|cwd| !cwd.is_empty()) {
        Some(cwd) => (path::resolve_existing(cwd, workdir), command),
        None => lift::leading_cd(command, workdir).unwrap_or_else(|| (workdir.to_owned(), command)),
    }
}

fn check_directory(directory: &Path) -> Result<(), ToolError> {
    let problem = match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => "Working directory is not a directory",
        Err(_) => "Working directory does not exist",
    };
    Err(ToolError::new(format!("{problem}: {}", directory.display())))
}

fn seconds(timeout: Option<f64>) -> u64 {
    let (shortest, longest) = TIMEOUTS;
    // Within these bounds the conversion is exact.
    timeout.unwrap_or(DEFAULT_TIMEOUT).ceil().clamp(shortest, longest) as u64
}

/// Turns numbers and truth values among the variables into the text that a process gets to see.
fn plain_variables(arguments: &mut Map<String, Value>) {
    let Some(Value::Object(variables)) = arguments.get_mut("env") else { return };
    for value in variables.values_mut() {
        if value.is_number() || value.is_boolean() {
            *value = Value::String(value.to_string());
        }
    }
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}
