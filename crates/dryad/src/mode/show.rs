//! `dryad show`: one operation, with the difference it made.

use super::changes::{
    Contents, LineCount, Memory, ShortIds, Sides, bearing_json, became, from_log, from_workspace, local_time, sizes,
};
use crate::args::{PlaceArguments, ShowArguments};
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_effects::bearings::Borne;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{Operation, OperationEffect, Outcome};
use dryad_safety::oplog::{FileLog, LogError, State};
use dryad_safety::workspace::Workspace;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;

/// An operation, and everything needed to draw it.
struct Shown<'a> {
    operation: Operation,
    state: State,
    memory: &'a Memory,
    contents: Contents<'a>,
    /// What its paths bore.
    borne: Borne,
    ids: ShortIds,
    style: Style,
}

/// Shows the operation.
///
/// # Errors
///
/// When there is no such operation, or it cannot be read.
pub(super) fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(&arguments.place)?;
    let workspace = memory.workspace()?;
    memory.recover()?;
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    memory.print_notices();
    let (operation, state) = find(log, &arguments.operation).map_err(|error| from_log(&error))?;
    let shown = Shown {
        ids: ids(log, &operation, &state),
        contents: memory.contents(operation.head.id.clone())?,
        borne: borne(workspace, &operation)?,
        operation,
        state,
        memory: &memory,
        style: Style::of(&io::stdout()),
    };
    match (arguments.json, arguments.stat) {
        (true, _) => output::print_json(&shown.json())?,
        (false, true) => output::print_paged(&(shown.head() + &shown.stat()))?,
        (false, false) => output::print_paged(&(shown.head() + &shown.effect()))?,
    }
    Ok(Exit::Done)
}

/// The operation, for programs.
///
/// # Errors
///
/// When there is no such operation, or it cannot be read.
pub(super) fn json_of(place: &PlaceArguments, operation: &str) -> Result<Value, Failure> {
    let memory = Memory::open(place)?;
    let workspace = memory.workspace()?;
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    let (operation, state) = find(log, operation).map_err(|error| from_log(&error))?;
    let (ids, contents) = (ids(log, &operation, &state), memory.contents(operation.head.id.clone())?);
    let borne = borne(workspace, &operation)?;
    Ok(Shown { operation, state, memory: &memory, contents, borne, ids, style: Style::PLAIN }.json())
}

fn borne(workspace: &Workspace, operation: &Operation) -> Result<Borne, Failure> {
    workspace.borne_before(&operation.head.id).map_err(|error| from_workspace(&error))
}

fn find(log: &FileLog, prefix: &str) -> Result<(Operation, State), LogError> {
    let id = log.find(prefix)?;
    for item in log.with_states() {
        let (entry, state) = item?;
        if entry.head.id == id {
            return Ok((log.operation(&entry)?, state));
        }
    }
    Err(LogError::Unknown { prefix: prefix.to_owned() })
}

fn ids(log: &FileLog, operation: &Operation, state: &State) -> ShortIds {
    let mut wanted: Vec<&OperationId> = vec![&operation.head.id];
    wanted.extend(&operation.head.undoes);
    match state {
        State::Effective => {}
        State::UndoneBy(by) => wanted.push(by),
    }
    ShortIds::reaching(log, &wanted)
}

impl Shown<'_> {
    fn head(&self) -> String {
        let head = &self.operation.head;
        let mut text = format!("{} {}\n", self.style.bold("operation"), self.style.cyan(head.id.as_str()));
        let mut line = |name: &str, value: &str| writeln!(text, "{name:<11}{}", harmless(value)).ok();
        line("what", &head.label);
        line("when", &local_time(head.timestamp));
        line("session", head.session_id.as_ref().map_or("-", |id| id.as_str()));
        line("message", head.message_id.as_deref().unwrap_or("-"));
        line("allowed by", &head.permission);
        // What a rehearsed command changed is known, and so is the command.
        let fact = |name: &str| head.audit.as_ref().and_then(|audit| audit.metadata.get(name));
        if let Some(command) = fact("command").and_then(Value::as_str) {
            line("ran", command);
            let code = fact("exitCode").map_or_else(|| "none".to_owned(), ToString::to_string);
            line("exit code", &code);
            line("rung", fact("rung").and_then(Value::as_str).unwrap_or("-"));
        }
        match head.outcome {
            Outcome::Applied => {}
            Outcome::Unproven => drop(line("outcome", "unproven: a path held something else right afterwards")),
        }
        for undone in &head.undoes {
            line("undoes", &self.ids.short(undone));
        }
        match &self.state {
            State::Effective => {}
            State::UndoneBy(by) => drop(line("undone by", &self.ids.short(by))),
        }
        text
    }

    fn effect(&self) -> String {
        match &self.operation.effect {
            OperationEffect::Command { command } => {
                format!("ran        {}\nin         {}\n", harmless(&command.command), command.cwd)
            }
            OperationEffect::Files { changes } => changes.iter().map(|change| self.difference(change)).collect(),
            OperationEffect::Foreign { arguments, undo } => {
                let called_with = Value::Object(arguments.clone()).to_string();
                let undo = undo.as_ref().map_or_else(|| "no".to_owned(), |undo| undo.description.clone());
                format!("called     {}\nundo       {}\n", harmless(&called_with), harmless(&undo))
            }
            OperationEffect::Nothing => String::new(),
        }
    }

    fn difference(&self, change: &Change) -> String {
        let bearing = self.borne.change(&change.path);
        self.sides(change).difference_with(&self.memory.shown(&change.path), change, bearing.as_ref(), self.style)
    }

    fn stat(&self) -> String {
        let OperationEffect::Files { changes } = &self.operation.effect else { return self.effect() };
        let mut text = "\n".to_owned();
        let mut total = LineCount::default();
        for change in changes.iter() {
            let name = harmless(&self.memory.shown(&change.path)).into_owned();
            let what = match self.sides(change).lines() {
                Some(lines) => {
                    total.added += lines.added;
                    total.removed += lines.removed;
                    lines.painted(self.style)
                }
                None => sizes(&change.before, &change.after),
            };
            let became = became(change, self.borne.change(&change.path).as_ref());
            writeln!(text, "{name}  {what}{became}").ok();
        }
        writeln!(text, "{}, {}", paths(changes), total.painted(self.style)).ok();
        text
    }

    fn sides(&self, change: &Change) -> Sides {
        let content = |image| self.contents.of(&change.path, image);
        Sides { before: content(&change.before), after: content(&change.after) }
    }

    fn change_json(&self, change: &Change) -> Value {
        let mut value = self.sides(change).json(change);
        if let Some(bearing) = self.borne.change(&change.path) {
            value["bearing"] = bearing_json(&bearing);
        }
        value
    }

    fn json(&self) -> Value {
        let mut value = json!(self.operation.head);
        match &self.state {
            State::Effective => {}
            State::UndoneBy(by) => value["undoneBy"] = json!(by),
        }
        match &self.operation.effect {
            OperationEffect::Command { command } => value["command"] = json!(command),
            OperationEffect::Files { changes } => {
                value["changes"] = changes.iter().map(|change| self.change_json(change)).collect();
            }
            OperationEffect::Foreign { arguments, undo } => {
                value["arguments"] = json!(arguments);
                value["undo"] = json!(undo);
            }
            OperationEffect::Nothing => {}
        }
        value
    }
}

fn paths(changes: &ChangeSet) -> String {
    match changes.len() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    }
}
