//! Records what commands had really changed whose dryad died meanwhile, so that it can be taken back all the same.
//!
//! It happens at the start of whatever looks at operations, before the workspace is looked for: a workspace in which the
//! command was the first thing that ever happened has no log yet.

use super::level_of;
use crate::clock::Clock;
use crate::oplog::new_id;
use crate::workspace::{Workspace, WorkspaceError};
use dryad_effects::rehearse::{Left, left_behind};
use dryad_protocol::operation::{Audit, CallEnd, OperationHead, Outcome};
use serde_json::{Map, json};
use std::path::Path;

/// Longer ones are cut in what is said of them.
const LONGEST_LABEL: usize = 80;

/// Records what was left behind below the user's `home`; says a word on each, for people.
pub fn recover_commands(home: &Path) -> Vec<String> {
    let found = left_behind(&home.join("rehearsals"));
    found
        .into_iter()
        .filter_map(|found| match found {
            Ok(left) => record(home, left),
            Err((place, error)) => Some(format!(
                "what a command had changed when dryad died is not recorded: {error}; the files it changed lie in {}",
                place.display()
            )),
        })
        .collect()
}

fn record(home: &Path, left: Left) -> Option<String> {
    let paths = match left.rehearsed.changes.len() {
        0 => {
            left.settle();
            return None;
        }
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    };
    let head = head(&left);
    let said = format!("`{}` in {}", first_line(&left), left.root.display());
    match append(home, &head, &left) {
        Ok(()) => {
            left.settle();
            Some(format!("recovered what {said} had changed when dryad died: {paths}, operation {}", head.id))
        }
        Err(error) => Some(format!(
            "what {said} had changed when dryad died is not recorded: {error}; the files it changed lie in {}",
            left.place().display()
        )),
    }
}

fn append(home: &Path, head: &OperationHead, left: &Left) -> Result<(), WorkspaceError> {
    Workspace::around(home, &left.root).record_rehearsed(head, &left.rehearsed)
}

fn head(left: &Left) -> OperationHead {
    let mut metadata = Map::new();
    metadata.insert("command".to_owned(), json!(left.command));
    metadata.insert("cwd".to_owned(), json!(left.cwd));
    metadata.insert("rung".to_owned(), json!(left.rehearsed.rung));
    metadata.insert("recovered".to_owned(), json!(true));
    let audit = Audit {
        operation: "execute".to_owned(),
        level: level_of(left.rehearsed.rung) as u8,
        destructive: true,
        outcome: CallEnd::Error,
        resources: ["process", "file", "network"].map(str::to_owned).to_vec(),
        metadata,
        ..Audit::default()
    };
    OperationHead {
        id: new_id(),
        timestamp: Clock::System.now(),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "bash".to_owned(),
        label: format!("recovered: {}", first_line(left)),
        permission: "user".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: Some(Box::new(audit)),
    }
}

fn first_line(left: &Left) -> String {
    left.command.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect()
}
