//! Which files were read and modified, across compactions.

use dryad_protocol::message::Message;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// How many of each kind are told to the model.
const SHOWN: usize = 20;

/// Files by what was done with them. One that was modified is not among those that were only read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    /// Those that an earlier summary tells of.
    pub fn from_details(details: Option<&Value>) -> Self {
        let list = |name: &str| {
            let paths = details.and_then(|details| details.get(name)).and_then(Value::as_array);
            paths.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut files = Self { read: list("readFiles"), modified: list("modifiedFiles") };
        files.settle();
        files
    }

    /// Adds those of these messages: of each call whose result is no error, and, where it was staged, that was
    /// applied later.
    pub fn add(&mut self, messages: &[Arc<Message>]) {
        let applied: HashSet<&str> = messages.iter().filter_map(|message| applied_label(message)).collect();
        let failed: HashSet<&str> =
            messages.iter().filter_map(|message| call_without_effect(message, &applied)).collect();
        let answers = messages.iter().filter_map(|message| message.as_assistant());
        for call in answers.flat_map(|answer| answer.tool_calls()) {
            let set = match call.name.as_str() {
                _ if failed.contains(call.id.as_str()) => continue,
                "read" => &mut self.read,
                "write" | "edit" | "ast_edit" | "notebook" => &mut self.modified,
                _ => continue,
            };
            set.extend(paths(&call.arguments));
        }
        self.settle();
    }

    /// Adds those that another summary tells of.
    pub fn merge(&mut self, other: &Self) {
        self.read.extend(other.read.iter().cloned());
        self.modified.extend(other.modified.iter().cloned());
        self.settle();
    }

    /// For the details of a summary.
    pub fn to_details(&self) -> Value {
        json!({"readFiles": self.read, "modifiedFiles": self.modified})
    }

    /// The blocks that end a summary; nothing when there are no files.
    pub fn blocks(&self) -> String {
        let block = |name: &str, paths: &BTreeSet<String>| {
            let mut lines: Vec<_> = paths.iter().take(SHOWN).cloned().collect();
            if paths.len() > SHOWN {
                lines.push(format!("(and {} more)", paths.len() - SHOWN));
            }
            (!paths.is_empty()).then(|| format!("\n\n<{name}>\n{}\n</{name}>", lines.join("\n")))
        };
        [block("read-files", &self.read), block("modified-files", &self.modified)].into_iter().flatten().collect()
    }

    fn settle(&mut self) {
        let modified = &self.modified;
        self.read.retain(|path| !modified.contains(path));
    }
}

/// The call that a result tells of, if it has failed, or was staged and not applied.
fn call_without_effect<'a>(message: &'a Message, applied: &HashSet<&str>) -> Option<&'a str> {
    let Message::ToolResult(result) = message else { return None };
    let staged = result.details.as_ref().and_then(|details| details.get("pendingAction"));
    let has_effect = match staged {
        Some(action) => action.get("label").and_then(Value::as_str).is_some_and(|label| applied.contains(label)),
        None => !result.is_error,
    };
    (!has_effect).then_some(result.tool_call_id.as_str())
}

/// What a result says was applied that had been staged.
fn applied_label(message: &Message) -> Option<&str> {
    let Message::ToolResult(result) = message else { return None };
    let details = result.details.as_ref().filter(|_| !result.is_error && result.tool_name == "resolve")?;
    let is_applied = details.get("action").and_then(Value::as_str) == Some("apply");
    details.get("label").filter(|_| is_applied).and_then(Value::as_str)
}

fn paths(arguments: &Map<String, Value>) -> Vec<String> {
    let single = ["path", "file_path"].into_iter().filter_map(|name| arguments.get(name));
    let several = ["paths", "files"].into_iter().filter_map(|name| arguments.get(name)?.as_array()).flatten();
    single.chain(several).filter_map(Value::as_str).map(str::to_owned).collect()
}
