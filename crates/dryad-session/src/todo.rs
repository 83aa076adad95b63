//! The list of what is to be done: what a call of `todo_write` makes of it.
//!
//! Pure: a list and operations in, a list and complaints out. The invariant: ids are unique, and at most
//! one task is being worked on; as long as one is open, exactly one.

use dryad_protocol::message::Message;
use dryad_protocol::todo::{TodoOperation, TodoPhase, TodoStatus, TodoTask};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// Carries the operations out, one after the other. Those that name what is not there complain; the
/// others are carried out all the same.
pub fn apply(phases: &mut Vec<TodoPhase>, operations: Vec<TodoOperation>) -> Vec<String> {
    let mut ids = Ids::above(phases);
    let complaints = operations.into_iter().filter_map(|operation| apply_one(phases, operation, &mut ids)).collect();
    if !keep_one_in_progress(phases) {
        let next = tasks_mut(phases).find(|task| task.status == TodoStatus::Pending);
        next.into_iter().for_each(|task| task.status = TodoStatus::InProgress);
    }
    complaints
}

/// A list that somebody else made, as it is kept: missing ids are given, what comes twice goes, at most one
/// task is in progress.
pub fn normalise(mut phases: Vec<TodoPhase>) -> Vec<TodoPhase> {
    let mut ids = Ids::above(&phases);
    let (mut seen_phases, mut seen_tasks) = (HashSet::new(), HashSet::new());
    phases.retain(|phase| phase.id.is_empty() || seen_phases.insert(phase.id.clone()));
    for phase in &mut phases {
        phase.tasks.retain(|task| task.id.is_empty() || seen_tasks.insert(task.id.clone()));
        ids.fill(phase);
    }
    keep_one_in_progress(&mut phases);
    phases
}

/// The list without what is finished or given up, and without phases that have nothing left.
pub fn open(mut phases: Vec<TodoPhase>) -> Vec<TodoPhase> {
    for phase in &mut phases {
        phase.tasks.retain(|task| task.status.is_open());
    }
    phases.retain(|phase| !phase.tasks.is_empty());
    phases
}

/// What is left to be done after a call of the tool; nothing when the call failed or says nothing.
pub(crate) fn of_result(message: &Message) -> Option<Vec<TodoPhase>> {
    let Message::ToolResult(result) = message else { return None };
    let phases: &Value = result.details.as_ref().filter(|_| !result.is_error)?.get("phases")?;
    Some(open(normalise(Vec::deserialize(phases).ok()?)))
}

fn apply_one(phases: &mut Vec<TodoPhase>, operation: TodoOperation, ids: &mut Ids) -> Option<String> {
    match operation {
        TodoOperation::Replace { phases: new } => {
            *phases = new;
            for phase in phases.iter_mut() {
                phase.id.clear();
                phase.tasks.iter_mut().for_each(|task| task.id.clear());
                ids.fill(phase);
            }
        }
        TodoOperation::AddPhase { name, tasks } => {
            let mut phase = TodoPhase { id: String::new(), name, tasks };
            phase.tasks.iter_mut().for_each(|task| task.id.clear());
            ids.fill(&mut phase);
            phases.push(phase);
        }
        TodoOperation::AddTask { phase, content, notes, details } => {
            let Some(found) = phases.iter_mut().find(|found| found.id == phase) else {
                return Some(format!("no such phase: {phase}"));
            };
            found.tasks.push(TodoTask { content, notes, details, ..TodoTask::default() });
            ids.fill(found);
        }
        TodoOperation::Update { id, status, content, notes, details } => {
            let Some(task) = tasks_mut(phases).find(|task| task.id == id) else {
                return Some(format!("no such task: {id}"));
            };
            task.status = status.unwrap_or(task.status);
            task.content = content.unwrap_or(std::mem::take(&mut task.content));
            task.notes = notes.or(task.notes.take());
            task.details = details.or(task.details.take());
        }
        TodoOperation::RemoveTask { id } => {
            if !tasks_mut(phases).any(|task| task.id == id) {
                return Some(format!("no such task: {id}"));
            }
            phases.iter_mut().for_each(|phase| phase.tasks.retain(|task| task.id != id));
        }
    }
    None
}

/// Leaves the first task in progress and puts the others back; tells whether there is one.
fn keep_one_in_progress(phases: &mut [TodoPhase]) -> bool {
    let mut working = tasks_mut(phases).filter(|task| task.status == TodoStatus::InProgress);
    let found = working.next().is_some();
    working.for_each(|task| task.status = TodoStatus::Pending);
    found
}

fn tasks_mut(phases: &mut [TodoPhase]) -> impl Iterator<Item = &mut TodoTask> {
    phases.iter_mut().flat_map(|phase| &mut phase.tasks)
}

/// The numbers that the next phase and the next task get: above all that are there.
struct Ids {
    phase: u64,
    task: u64,
}

impl Ids {
    fn above(phases: &[TodoPhase]) -> Self {
        let number = |id: &str, prefix: &str| id.strip_prefix(prefix).and_then(|rest| rest.parse::<u64>().ok());
        let phase = phases.iter().filter_map(|phase| number(&phase.id, "phase-")).max();
        let tasks = phases.iter().flat_map(|phase| &phase.tasks);
        let task = tasks.filter_map(|task| number(&task.id, "task-")).max();
        Self { phase: phase.unwrap_or(0), task: task.unwrap_or(0) }
    }

    /// Gives ids where they are missing.
    fn fill(&mut self, phase: &mut TodoPhase) {
        if phase.id.is_empty() {
            self.phase = self.phase.saturating_add(1);
            phase.id = format!("phase-{}", self.phase);
        }
        for task in phase.tasks.iter_mut().filter(|task| task.id.is_empty()) {
            self.task = self.task.saturating_add(1);
            task.id = format!("task-{}", self.task);
        }
    }
}

#[cfg(test)]
mod tests;
