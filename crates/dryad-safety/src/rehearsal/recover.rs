//! Records what commands had really changed whose dryad died meanwhile, so that it can be taken back all the same.
//!
//! It happens at the start of whatever looks at operations, before the workspace is looked for: a workspace in which the
//! command was the first thing that ever happened has no log yet.

use super::level_of;
use crate::oplog::users_own;
use crate::workspace::{OPENED, Workspace, WorkspaceError};
use dryad_effects::opened;
use dryad_effects::rehearse::Rung;
use dryad_effects::rehearse::{Left, left_behind};
use dryad_protocol::operation::{Audit, CallEnd, OperationHead};
use serde_json::{Map, json};
use std::path::Path;

/// Longer ones are cut in what is said of them.
const LONGEST_LABEL: usize = 80;

/// Records what was left behind below the user's `home`, and closes what was left open; says a word on each, for people.
pub fn recover_commands(home: &Path) -> Vec<String> {
    let closed = opened::restore(&home.join(OPENED));
    let closed = closed.iter().map(|path| format!("closed {} again, which a dryad that died had open", path.display()));
    let found = left_behind(&home.join("rehearsals"));
    let recorded = found.into_iter().filter_map(|found| match found {
        Ok(left) => record(home, left),
        Err((place, error)) => Some(format!(
            "what a command had changed when dryad died is not recorded: {error}; the files it changed lie in {}",
            place.display()
        )),
    });
    closed.chain(recorded).collect()
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
    let head = left.head.clone().unwrap_or_else(|| head(&left));
    let said = format!("`{}` in {}", first_line(&left), left.root.display());
    match append(home, &head, &left) {
        Ok(()) => {
            let others = match left.rehearsed.rung {
                Rung::Snapshot if left.head.is_none() => " (whoever has changed something there since is counted in)",
                Rung::Overlay | Rung::Tmpfs | Rung::Journal | Rung::Snapshot | Rung::Direct => "",
            };
            Some(format!("recovered what {said} had changed when dryad died: {paths}, operation {}{others}", head.id))
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
    let head = users_own("bash", format!("recovered: {}", first_line(left)));
    OperationHead { audit: Some(Box::new(audit)), ..head }
}

fn first_line(left: &Left) -> String {
    left.command.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect()
}
