//! A process that is killed, and two of them at one session.

use super::{carried, files, listed, talkative};
use crate::apis::Api;
use crate::scene::{Scene, finish, is_alive, signal, until};
use dryad_testkit::loopback::Loopback;
use rustix::process::Signal;
use serde_json::json;
use std::process::Child;

/// A run in the middle of a command, and the command's process.
fn busy(scene: &Scene) -> (Child, u32) {
    let mut program = scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "Wait."]);
    // What a rehearsed command writes is not seen from here.
    let child = program.env("DRYAD_REHEARSAL", "direct").spawn().unwrap();
    let file = scene.work().join("pid");
    let command = until("the command starts", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    (child, command)
}

/// A model that waits for a command, then says this.
fn waiting(answers: &[&str]) -> (Scene, Loopback) {
    let command = json!({"command": "echo $$ > pid.new; mv pid.new pid; while [ ! -e go ]; do sleep 0.01; done"});
    let first = Api::Chat.call("call_a", "bash", &command);
    let server =
        Loopback::start(std::iter::once(first).chain(answers.iter().map(|text| Api::Chat.text(text)))).unwrap();
    (Scene::with_model(Api::Chat.name(), &format!("{}/v1", server.url())), server)
}

#[test]
fn a_killed_run_is_carried_on_with_everything_that_was_said() {
    let (scene, server) = waiting(&["It was cut short."]);
    let (mut child, command) = busy(&scene);
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    scene.write("go", "");
    until("the command ends", || (!is_alive(command)).then_some(()));
    assert_eq!(scene.run(&["-p", "-c", "What happened?"]).done(), "It was cut short.\n");
    let said = carried(&server);
    let roles: Vec<&str> = said.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"], "the call has a result: {said:?}");
    assert_eq!((said[0].1.as_str(), said[3].1.as_str()), ("Wait.", "What happened?"));
    assert_eq!(files(&scene).len(), 1);
}

#[test]
fn two_processes_never_write_to_one_session() {
    let (scene, server) = waiting(&["Said by the copy.", "Said in the end."]);
    let (child, _) = busy(&scene);
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    for arguments in [&["-c", "Me too."][..], &["--session", &id, "Me too."]] {
        let complaint = scene.ask(arguments).failed(1);
        assert!(complaint.contains("is open in another process") && complaint.contains("--fork"), "{complaint}");
    }
    assert!(scene.run(&["sessions", "rm", &id]).failed(1).contains("is open in another process"));
    scene.run(&["sessions", "show", &id]).done();
    assert_eq!(scene.ask(&["--fork", &id, "Me too."]).done(), "Said by the copy.\n");
    scene.write("go", "");
    assert_eq!(finish(child).done(), "Said in the end.\n");
    let original = files(&scene).into_iter().find(|file| file.to_string_lossy().contains(&id)).unwrap();
    let text = std::fs::read_to_string(original).unwrap();
    assert!(text.contains("Said in the end.") && !text.contains("Me too."), "{text}");
    assert_eq!(carried(&server).len(), 3);
}

#[test]
fn a_session_that_another_program_wrote_to_is_not_mixed() {
    let (scene, _server) = waiting(&["Never stored."]);
    let (child, _) = busy(&scene);
    let [file] = files(&scene).try_into().unwrap();
    let mut other = std::fs::File::options().append(true).open(&file).unwrap();
    std::io::Write::write_all(&mut other, b"{\"type\":\"custom\",\"id\":\"ffffffff\",\"parentId\":null}\n").unwrap();
    let before = std::fs::read(&file).unwrap();
    scene.write("go", "");
    let outcome = finish(child);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), "Never stored.\n"), "{outcome:?}");
    assert!(outcome.stderr.contains("another program wrote to the session"), "{outcome:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn many_runs_at_once_have_a_session_each() {
    let (scene, _server) = talkative(&["a", "b", "c", "d"]);
    let run = || scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "Hi."]).spawn().unwrap();
    let children: Vec<Child> = std::iter::repeat_with(run).take(4).collect();
    for child in children {
        finish(child).done();
    }
    assert_eq!(files(&scene).len(), 4);
}

#[test]
fn what_a_killed_run_had_staged_is_resolved_by_the_next_one() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "edit", "arguments": {"path": "a.txt", "old_string": "old", "new_string": "new"}}]},
        {"hang": true},
    ]));
    scene.write("a.txt", "old\n");
    scene.write_home("settings.json", &json!({"safety": {"autoPreview": "all"}}).to_string());
    let mut child = scene.command(&["-p", "--script", "story.json", "Change it."]).spawn().unwrap();
    let waits = until("the edit is staged", || {
        let waiting: Vec<serde_json::Value> = serde_json::from_str(&scene.run(&["pending", "--json"]).done()).ok()?;
        waiting.into_iter().next()
    });
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    assert_eq!(waits["sessionId"], listed(&scene, &[])[0]["id"]);
    assert_eq!(super::shown(&scene, &[])["changes"]["pending"], json!(1));
    let resolve = json!({"action": "apply", "reason": "it is right"});
    let story = json!({"steps": [{"calls": [{"name": "resolve", "arguments": resolve}]}, {"text": "Applied."}]});
    scene.write("story.json", story.to_string());
    let outcome = scene.run(&["-p", "-c", "--script", "story.json", "Go on."]);
    assert_eq!((outcome.done().as_str(), scene.read("a.txt").as_str()), ("Applied.\n", "new\n"));
    assert_eq!(super::shown(&scene, &[])["changes"], json!({"applied": 1, "undone": 0, "pending": 0, "discarded": 0}));
}
