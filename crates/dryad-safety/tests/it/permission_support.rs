//! Engines and questions for the tests of the permission engine.

use dryad_safety::permission::{Engine, Policy, Question};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A tool of this name and class.
pub(crate) fn tool(name: &str, class: PermissionClass) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: RawValue::from_string("{}".to_owned()).unwrap().into(),
        hidden: false,
        metadata: Metadata { permission_class: class, ..Metadata::default() },
        capability: Capability::default(),
    }
}

/// An engine whose user has a home.
pub(crate) fn engine(policy: Policy) -> Engine {
    Engine::new(Policy { home: Some("/home/user".into()), ..policy })
}

/// Asks about a call with these arguments.
pub(crate) fn ask<T>(tool: &ToolSpec, arguments: Value, workdir: &Path, ask: impl FnOnce(&Question<'_>) -> T) -> T {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let arguments: Map<String, Value> = arguments;
    ask(&Question { tool, arguments: &arguments, effect: None, workdir })
}

/// Asks about a shell command.
pub(crate) fn command_question<T>(command: &str, workdir: &Path, question: impl FnOnce(&Question<'_>) -> T) -> T {
    ask(&tool("bash", PermissionClass::Bash), json!({ "command": command }), workdir, question)
}
