//! The list of what is to be done leads the model.

use crate::stage::Simple;
use crate::talk::{Home, Talk, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Settings, Summary};
use dryad_protocol::call::ToolResult;
use dryad_protocol::todo::TodoPhase;
use dryad_safety::plan::Plan;
use dryad_safety::tool::ToolError;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use serde_json::{Value, json};
use std::time::Duration;

/// A home with a tool that changes the list.
fn home() -> Home {
    let home = Home::new();
    let todos = home.todos.clone();
    let tool = Simple::tool("todo_write", false, move |arguments| {
        let ops = arguments.get("ops").cloned().unwrap_or_default();
        let ops = serde_json::from_value(ops).map_err(|error| ToolError::new(error.to_string()))?;
        let change = todos.apply(ops);
        Ok(Plan::Answer(ToolResult::text("ok").with_details(json!({"phases": change.phases}))))
    });
    home.registry.register(tool).unwrap();
    home
}

fn talk(settings: Settings, replies: Vec<Reply>) -> Talk {
    let home = home();
    let session = home.create();
    home.talk(session, settings, replies)
}

fn phases(tasks: &[&str]) -> Vec<TodoPhase> {
    let tasks: Vec<_> = tasks.iter().map(|content| json!({"content": content})).collect();
    serde_json::from_value(json!([{"name": "Work", "tasks": tasks}])).unwrap()
}

fn write(id: &str, ops: &Value) -> Reply {
    Chat::new().call(id, "todo_write", &json!({"ops": ops})).reply()
}

#[tokio::test]
async fn a_model_that_stops_too_early_is_reminded_three_times() {
    let talk = talk(quick(), (0..4).map(|n| chat::text(&format!("answer {n}"))).collect());
    let kept = talk.conversation.set_todos(phases(&["paint", "varnish"]));
    assert_eq!((kept[0].id.as_str(), kept[0].tasks[1].id.as_str()), ("phase-1", "task-2"));
    assert_eq!(talk.prompt("go").await, RunEnd::Completed);
    let reminders = talk.events("todo_reminder");
    let attempts: Vec<_> = reminders.iter().map(|event| event["attempt"].clone()).collect();
    assert_eq!((attempts, &reminders[0]["maxAttempts"]), (vec![json!(1), json!(2), json!(3)], &json!(3)));
    assert_eq!(reminders[0]["todos"][1]["content"], "varnish");
    assert_eq!(talk.server.requests().len(), 4);
    assert!(talk.request(1)["messages"].to_string().contains("- task-2: varnish"));
    let starts = talk.sink.lines().into_iter().filter(|line| line.starts_with("message_start user"));
    assert_eq!(starts.count(), 1, "the reminder is no message for people");
    assert_eq!(talk.conversation.state().todo_phases, kept);
    let will: Vec<_> = talk.events("agent_end").iter().map(|event| event["willRetry"].as_bool().unwrap()).collect();
    assert_eq!(will, [true, true, true, false]);
}

#[tokio::test]
async fn a_model_that_marks_its_tasks_is_left_alone() {
    let done = json!([{"op": "update", "id": "task-1", "status": "completed"}]);
    let talk = talk(quick(), vec![chat::text("stop"), write("c", &done), chat::text("really")]);
    talk.conversation.set_todos(phases(&["paint"]));
    talk.prompt("go").await;
    assert_eq!((talk.events("todo_reminder").len(), talk.server.requests().len()), (1, 3));
    let mut settings = quick();
    settings.todo.reminders = false;
    let off = self::talk(settings, vec![chat::text("stop")]);
    off.conversation.set_todos(phases(&["paint"]));
    off.prompt("go").await;
    assert_eq!(off.server.requests().len(), 1);
}

#[tokio::test]
async fn the_list_follows_the_branch() {
    let replace =
        json!([{"op": "replace", "phases": [{"name": "Work", "tasks": [{"content": "a"}, {"content": "b"}]}]}]);
    let update = json!([{"op": "update", "id": "task-1", "status": "completed"}]);
    let mut settings = quick();
    settings.todo.reminders = false;
    let replies = vec![write("c1", &replace), chat::text("one"), write("c2", &update), chat::text("two")];
    let talk = talk(settings, replies);
    talk.prompt("first").await;
    talk.prompt("second").await;
    let tasks = |talk: &Talk| {
        let phases = talk.conversation.todos().phases();
        phases.iter().flat_map(|phase| &phase.tasks).map(|task| task.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tasks(&talk), ["task-1", "task-2"]);
    let second = talk.conversation.branch_messages()[1].entry_id.clone();
    let file = talk.file();
    talk.conversation.new_session(None).await.unwrap();
    assert_eq!(tasks(&talk), Vec::<String>::new());
    talk.conversation.switch(&file).await.unwrap();
    assert_eq!(tasks(&talk), ["task-2"], "what is finished does not come back");
    talk.conversation.navigate(&second, Summary::Skip).await.unwrap();
    assert_eq!(tasks(&talk), ["task-1", "task-2"]);
}

#[tokio::test]
async fn finished_tasks_leave_the_list_after_a_while() {
    let mut settings = quick();
    settings.todo.clear_delay = Some(Duration::from_millis(20));
    let talk = talk(settings, vec![]);
    let list = json!([{"name": "Work", "tasks": [{"content": "a", "status": "completed"}, {"content": "b"}]},
        {"name": "Gone", "tasks": [{"content": "c", "status": "abandoned"}]}]);
    talk.conversation.set_todos(serde_json::from_value(list).unwrap());
    talk.sink.wait_for("todo_auto_clear").await;
    let left = talk.conversation.todos().phases();
    assert_eq!((left.len(), left[0].tasks.len(), left[0].tasks[0].content.as_str()), (1, 1, "b"));
}

#[tokio::test]
async fn an_eager_session_begins_with_the_list_unless_it_is_asked_something() {
    let mut settings = quick();
    settings.todo.eager = true;
    let empty = json!([{"op": "replace", "phases": []}]);
    let talk = talk(settings.clone(), vec![write("c", &empty), chat::text("one"), chat::text("two")]);
    talk.prompt("build it").await;
    let first = talk.request(0);
    assert_eq!(first["tool_choice"]["function"]["name"], "todo_write", "{first}");
    assert!(first["messages"].to_string().contains("writing down the steps"));
    assert!(talk.request(1).get("tool_choice").is_none_or(|choice| choice == "auto"));
    talk.prompt("and this").await;
    assert!(talk.request(2).get("tool_choice").is_none_or(|choice| choice == "auto"));
    let asked = self::talk(settings, vec![chat::text("42")]);
    asked.prompt("what is it?").await;
    assert!(asked.request(0).get("tool_choice").is_none_or(|choice| choice == "auto"));
}

#[tokio::test]
async fn a_list_that_could_not_be_changed_is_pointed_out() {
    let talk = talk(quick(), vec![write("c", &json!([{"op": "paint"}])), chat::text("sorry")]);
    talk.prompt("go").await;
    let told = talk.told();
    assert!(told[2].starts_with("result c!:") && told[3].contains("The todo list was not changed"), "{told:?}");
}

#[tokio::test]
async fn a_user_who_does_not_answer_ends_the_run() {
    let home = Home::new();
    let ask = Simple::tool("ask", false, |_| {
        Ok(Plan::Answer(ToolResult::error("cancelled").with_details(json!({"endsRun": true}))))
    });
    home.registry.register(ask).unwrap();
    let session = home.create();
    let talk = home.talk(session, quick(), vec![Chat::new().call("c", "ask", &json!({})).reply()]);
    assert_eq!(talk.prompt("go").await, RunEnd::Cancelled);
    assert_eq!(talk.server.requests().len(), 1);
}
