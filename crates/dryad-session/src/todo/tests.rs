//! Operations on the list of what is to be done.

use super::*;
use serde_json::json;

fn operations(value: Value) -> Vec<TodoOperation> {
    serde_json::from_value(value).unwrap()
}

fn shape(phases: &[TodoPhase]) -> Vec<String> {
    let task = |task: &TodoTask| format!("{}:{}:{:?}", task.id, task.content, task.status);
    phases
        .iter()
        .map(|phase| format!("{} {}", phase.id, phase.tasks.iter().map(task).collect::<Vec<_>>().join(" ")))
        .collect()
}

fn replace(tasks: &[(&str, &str)]) -> Value {
    let tasks: Vec<_> = tasks.iter().map(|(content, status)| json!({"content": content, "status": status})).collect();
    json!([{"op": "replace", "phases": [{"name": "p", "tasks": tasks}]}])
}

#[test]
fn the_first_pending_task_is_worked_on() {
    let mut phases = Vec::new();
    assert!(
        apply(&mut phases, operations(replace(&[("a", "completed"), ("b", "pending"), ("c", "pending")]))).is_empty()
    );
    assert_eq!(shape(&phases), ["phase-1 task-1:a:Completed task-2:b:InProgress task-3:c:Pending"]);
}

#[test]
fn only_the_first_of_several_stays_in_progress() {
    let mut phases = Vec::new();
    apply(&mut phases, operations(replace(&[("a", "pending"), ("b", "in_progress"), ("c", "in_progress")])));
    assert_eq!(shape(&phases), ["phase-1 task-1:a:Pending task-2:b:InProgress task-3:c:Pending"]);
}

#[test]
fn unknown_ids_complain_and_the_rest_is_carried_out() {
    let mut phases = Vec::new();
    apply(&mut phases, operations(replace(&[("a", "pending")])));
    let complaints = apply(
        &mut phases,
        operations(json!([
            {"op": "update", "id": "task-9", "status": "completed"},
            {"op": "add_task", "phase": "phase-9", "content": "x"},
            {"op": "remove_task", "id": "task-8"},
            {"op": "add_phase", "name": "q", "tasks": [{"content": "b"}]},
            {"op": "add_task", "phase": "phase-2", "content": "c", "notes": "n"},
            {"op": "update", "id": "task-1", "status": "completed", "content": "A"},
        ])),
    );
    assert_eq!(complaints, ["no such task: task-9", "no such phase: phase-9", "no such task: task-8"]);
    assert_eq!(shape(&phases), ["phase-1 task-1:A:Completed", "phase-2 task-2:b:InProgress task-3:c:Pending"]);
}

#[test]
fn ids_of_removed_tasks_are_not_given_again_within_a_call() {
    let mut phases = Vec::new();
    apply(&mut phases, operations(replace(&[("a", "pending"), ("b", "pending")])));
    let more = json!([{"op": "remove_task", "id": "task-2"}, {"op": "add_task", "phase": "phase-1", "content": "c"}]);
    apply(&mut phases, operations(more));
    assert_eq!(shape(&phases), ["phase-1 task-1:a:InProgress task-3:c:Pending"]);
}

#[test]
fn a_list_from_elsewhere_is_made_whole() {
    let phases = json!([
        {"name": "p", "tasks": [{"content": "a", "status": "doing?"}, {"id": "task-4", "content": "b", "status": "in_progress"},
            {"id": "task-4", "content": "twice"}, {"content": "c", "status": "in_progress"}]},
        {"id": "phase-7", "name": "q"},
        {"id": "phase-7", "name": "twice"},
    ]);
    let phases = normalise(serde_json::from_value(phases).unwrap());
    assert_eq!(shape(&phases), ["phase-8 task-5:a:Pending task-4:b:InProgress task-6:c:Pending", "phase-7 "]);
    assert_eq!(normalise(phases.clone()), phases);
}

#[test]
fn what_is_left_is_what_is_open() {
    let mut phases = Vec::new();
    apply(&mut phases, operations(replace(&[("a", "completed"), ("b", "abandoned")])));
    assert!(open(phases).is_empty());
}
