//! What a rehearsal came to: for people in lines, for programs as JSON.

use super::trial::Trial;
use crate::mode::changes::{Content, Sides, bearing_json};
use crate::output;
use crate::report::Failure;
use crate::terminal::{Style, harmless};
use dryad_effects::bearings::Rebearing;
use dryad_protocol::change_set::Change;
use dryad_protocol::command::CommandEnd;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use dryad_safety::plan::Contents;
use dryad_safety::preview::Told;
use dryad_safety::rehearsal::{Network, OutsideKind, OutsideWrite, Rehearsed, one_line};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, IsTerminal as _};

/// Larger files are not compared.
const LARGEST_TEXT: u64 = 1024 * 1024;

/// So many bytes are compared.
const TEXTS: u64 = 64 * 1024 * 1024;

/// What became of the changes.
pub(super) enum Fate {
    /// They are there.
    Applied {
        /// The operation.
        id: String,
        /// How many paths, in words.
        paths: String,
    },
    /// They were made for real, and can be taken back.
    Recorded {
        /// The operation.
        id: String,
        /// How many paths, in words.
        paths: String,
    },
    /// They wait.
    Kept {
        /// The pending action.
        id: String,
        /// What it does.
        label: String,
    },
    /// They are gone.
    Discarded,
    /// There were none.
    Nothing,
}

/// What is shown of a command that is over. It is put together before the contents go elsewhere, and printed when what
/// really happened is safe.
#[must_use]
pub(super) struct Shown {
    /// What the command printed, where that was not seen at once.
    printed: String,
    /// How it ended and what it changes.
    effects: String,
}

impl Shown {
    /// Prints it; how it ended goes to standard error unless a person looks at the output.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn print(&self) -> Result<(), Failure> {
        if !self.printed.is_empty() {
            output::print(&self.printed)?;
        }
        if io::stdout().is_terminal() { output::print(&self.effects) } else { output::aside(&self.effects) }
    }
}

/// What is shown to people; programs get it as JSON instead.
pub(super) fn shown(trial: &Trial) -> Result<Shown, Failure> {
    if trial.is_json() {
        return Ok(Shown { printed: String::new(), effects: String::new() });
    }
    let told = trial.told()?;
    let (head, effects) = (told.head(), told.effects());
    let text = harmless(&trial.surroundings.mask.text(&format!("\n{head}{effects}"))).into_owned();
    let has_failed = !matches!(told.rehearsed.outcome.end, CommandEnd::Exited { code: 0 });
    let hint = match told.network {
        Network::None if has_failed => "\nthe network was off; `--net allow` turns it on\n",
        Network::None | Network::Allow => "",
    };
    Ok(Shown { printed: told.rehearsed.outcome.output.text.clone(), effects: text + hint })
}

impl Trial {
    /// Everything that is known of it.
    pub(super) fn told(&self) -> Result<Told<'_>, Failure> {
        let rehearsed = self.rehearsed()?;
        Ok(Told { command: &self.command, rehearsed, network: rehearsed.network(self.network), workdir: &self.workdir })
    }

    /// The differences of all files.
    ///
    /// # Errors
    ///
    /// Before it was performed.
    pub(super) fn difference(&self, style: Style) -> Result<String, Failure> {
        let rehearsed = self.rehearsed()?;
        let contents = rehearsed.texts(LARGEST_TEXT, TEXTS);
        let borne = borne(rehearsed);
        let one = |change: &Change| {
            sides(change, &contents).difference_with(&self.name(change), change, borne.get(&change.path), style)
        };
        Ok(rehearsed.changes.iter().map(one).collect())
    }

    /// All of it for programs.
    pub(super) fn json(&self, fate: &Fate) -> Value {
        let mut value = self.report.clone().unwrap_or_default();
        value["resolution"] = json!(match fate {
            Fate::Applied { .. } => "applied",
            Fate::Recorded { .. } => "recorded",
            Fate::Kept { .. } => "kept",
            Fate::Discarded => "discarded",
            Fate::Nothing => "nothing",
        });
        match fate {
            Fate::Applied { id, .. } | Fate::Recorded { id, .. } => value["operation"] = json!(id),
            Fate::Kept { id, .. } => value["pendingAction"] = json!(id),
            Fate::Discarded | Fate::Nothing => {}
        }
        value
    }

    /// What is known, before anything becomes of it.
    pub(super) fn as_json(&self) -> Result<Value, Failure> {
        let told = self.told()?;
        let rehearsed = told.rehearsed;
        let contents = rehearsed.texts(LARGEST_TEXT, TEXTS);
        let (preview, borne) = (told.preview(), borne(rehearsed));
        let change = |change: &Change| {
            let mut value = sides(change, &contents).json(change);
            if let Some(bearing) = borne.get(&change.path) {
                value["bearing"] = bearing_json(bearing);
            }
            value
        };
        let mut value = json!({
            "command": self.command.command,
            "cwd": self.command.cwd,
            "rung": rehearsed.rung,
            "network": match told.network { Network::Allow => "allow", Network::None => "none" },
            "durationMs": rehearsed.outcome.duration_ms,
            "output": self.surroundings.mask.text(&rehearsed.outcome.output.text),
            "changes": rehearsed.changes.iter().map(change).collect::<Value>(),
            "lostFiles": preview.estimated_impact.get("lostFiles"),
            "lostBytes": preview.estimated_impact.get("lostBytes"),
            "outsideWrites": rehearsed.outside_writes.iter().map(outside).collect::<Value>(),
            "notCarried": rehearsed.not_carried.iter().map(ToString::to_string).collect::<Value>(),
            "changedMeanwhile": rehearsed.changed_meanwhile,
            "networkAttempts": rehearsed.network_attempts.iter()
                .map(|attempt| json!({"to": attempt.to, "remote": attempt.remote, "count": attempt.count}))
                .collect::<Value>(),
            "leftRunning": rehearsed.left_running,
            "limits": rehearsed.limits.iter().map(ToString::to_string).collect::<Value>(),
        });
        match rehearsed.outcome.end {
            CommandEnd::Exited { code } => value["exitCode"] = json!(code),
            CommandEnd::TimedOut => value["timedOut"] = json!(true),
            CommandEnd::Cancelled => value["cancelled"] = json!(true),
        }
        Ok(value)
    }

    fn name(&self, change: &Change) -> String {
        let path = change.path.as_path();
        one_line(&path.strip_prefix(&self.workdir).unwrap_or(path).to_string_lossy()).into_owned()
    }
}

/// What became of owners, groups and attributes, by path.
fn borne(rehearsed: &Rehearsed) -> HashMap<FilePath, Rebearing> {
    rehearsed.borne.iter().filter_map(|listed| Some((listed.path().clone(), listed.change()?))).collect()
}

fn outside(write: &OutsideWrite) -> Value {
    let kind = match write.kind {
        OutsideKind::Created => "created",
        OutsideKind::Changed => "changed",
        OutsideKind::Deleted => "deleted",
    };
    json!({"path": write.path, "kind": kind})
}

fn sides(change: &Change, contents: &Contents) -> Sides {
    let content = |image: &Image| match image {
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => Content::None,
        Image::File(file) => {
            let bytes = contents.get(file.blob).map(|bytes| bytes.to_vec());
            bytes.map_or(Content::Bytes { size: file.size }, Content::of_bytes)
        }
    };
    Sides { before: content(&change.before), after: content(&change.after) }
}
