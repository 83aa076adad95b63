//! Conversations outlive their process: they are recorded, carried on, copied, branched and looked at.

mod bad_input;
mod branching;
mod choosing;
mod commands;
mod habits;
mod staying;
mod together;
mod walking;

use crate::apis::Api;
use crate::scene::{Scene, names};
use dryad_testkit::loopback::Loopback;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A model on loopback that gives these answers, and a scene that knows it.
fn talkative(answers: &[&str]) -> (Scene, Loopback) {
    let server = Loopback::start(answers.iter().map(|answer| Api::Chat.text(answer))).unwrap();
    let scene = Scene::with_model(Api::Chat.name(), &format!("{}/v1", server.url()));
    (scene, server)
}

/// What the newest request carried, without the system prompt: roles and texts.
fn carried(server: &Loopback) -> Vec<(String, String)> {
    let request = server.requests().last().unwrap().json().unwrap();
    let said = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
    said.map(|message| (message["role"].as_str().unwrap().to_owned(), text_of(&message["content"]))).collect()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn pairs(said: &[(&str, &str)]) -> Vec<(String, String)> {
    said.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

/// The session files of a scene's workspace.
fn files(scene: &Scene) -> Vec<PathBuf> {
    let sessions = scene.home().join("sessions");
    let Ok(directories) = std::fs::read_dir(&sessions) else { return Vec::new() };
    let mut files: Vec<PathBuf> = directories
        .flat_map(|directory| {
            let directory = directory.unwrap().path();
            names(&directory).into_iter().map(move |name| directory.join(name))
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

fn lines(file: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn listed(scene: &Scene, more: &[&str]) -> Vec<Value> {
    serde_json::from_str(&scene.run(&[&["sessions", "--json"], more].concat()).done()).unwrap()
}

fn shown(scene: &Scene, more: &[&str]) -> Value {
    serde_json::from_str(&scene.run(&[&["sessions", "show", "--json"], more].concat()).done()).unwrap()
}

/// All of an id but its last letter.
fn beginning(id: &str) -> &str {
    id.get(..id.len() - 1).unwrap()
}

/// The ids of the newest session's prompts, oldest first.
fn prompts(scene: &Scene) -> Vec<String> {
    let shown = shown(scene, &[]);
    shown["prompts"].as_array().unwrap().iter().map(|prompt| prompt["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_is_recorded_and_the_next_one_carries_it_on() {
    let (scene, server) = talkative(&["Hello Ada.", "You are Ada."]);
    scene.ask(&["I am Ada."]).done();
    let [file] = files(&scene).try_into().unwrap();
    let before = std::fs::read(&file).unwrap();
    assert_eq!(scene.run(&["-p", "-c", "Who am I?"]).done(), "You are Ada.\n", "the session knows its model");
    assert_eq!(carried(&server), pairs(&[("user", "I am Ada."), ("assistant", "Hello Ada."), ("user", "Who am I?")]));
    assert_eq!(files(&scene), std::slice::from_ref(&file));
    assert!(std::fs::read(&file).unwrap().starts_with(&before), "entries are only appended");
    let lines = lines(&file);
    assert_eq!((&lines[0]["type"], &lines[0]["cwd"]), (&json!("session"), &json!(scene.work())));
    let roles: Vec<&Value> = lines.iter().map(|line| &line["message"]["role"]).filter(|role| !role.is_null()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[test]
fn without_a_session_to_go_on_with_one_begins() {
    let (scene, _server) = talkative(&["Hello."]);
    let outcome = scene.ask(&["-c", "Hi."]);
    assert!(outcome.stderr.contains("there is no session to go on with here"), "{outcome:?}");
    assert_eq!(outcome.done(), "Hello.\n");
    assert_eq!(files(&scene).len(), 1);
}

#[test]
fn a_session_is_named_by_id_by_its_beginning_and_by_path() {
    let (scene, server) = talkative(&["one", "other", "two", "three", "four"]);
    scene.ask(&["first"]).done();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    scene.ask(&["another session"]).done();
    scene.ask(&["--session", &id, "second"]).done();
    assert_eq!(carried(&server).len(), 3);
    // Ids of the same moment begin alike; this one is whole but for a letter.
    scene.ask(&["--session", beginning(&id), "third"]).done();
    assert_eq!(carried(&server).len(), 5);
    let file = files(&scene).into_iter().find(|file| file.to_string_lossy().contains(&id)).unwrap();
    scene.ask(&["--session", file.to_str().unwrap(), "fourth"]).done();
    assert_eq!((carried(&server).len(), files(&scene).len()), (7, 2));
}

#[test]
fn a_path_where_nothing_is_gets_the_session() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["--session", "talk/mine.jsonl", "first"]).done();
    scene.ask(&["--session", "talk/mine.jsonl", "second"]).done();
    assert_eq!((carried(&server).len(), files(&scene).len()), (3, 0));
    assert_eq!(lines(&scene.work().join("talk/mine.jsonl"))[0]["type"], "session");
}

#[test]
fn a_fork_goes_on_by_itself() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["first"]).done();
    let [file] = files(&scene).try_into().unwrap();
    let before = std::fs::read(&file).unwrap();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    scene.ask(&["--fork", &id, "second"]).done();
    assert_eq!(carried(&server), pairs(&[("user", "first"), ("assistant", "one"), ("user", "second")]));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let fork = files(&scene).into_iter().find(|other| *other != file).unwrap();
    assert_eq!(lines(&fork)[0]["parentSession"], json!(id));
}

#[test]
fn nothing_is_kept_on_request() {
    let scene = Scene::with_script(&json!([{"text": "x"}]));
    scene.play(&["--no-session", "x"]).done();
    assert!(!scene.home().join("sessions").exists());
    assert!(scene.play(&["--no-session", "-c", "x"]).failed(2).contains("cannot be used with"));
}

#[test]
fn sessions_lie_where_the_user_wants_them() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    scene.ask(&["--session-dir", "mine", "first"]).done();
    assert_eq!(names(&scene.work().join("mine")).len(), 1);
    let mut command = scene.command(&["-p", "-c", "second"]);
    command.env("DRYAD_SESSION_DIR", scene.work().join("mine"));
    crate::scene::finish(command.spawn().unwrap()).done();
    assert_eq!(carried(&server).len(), 3);
    let place = json!({"sessionDir": scene.work().join("mine")});
    scene.write_home("settings.json", &place.to_string());
    scene.run(&["-p", "-c", "third"]).done();
    assert_eq!((carried(&server).len(), listed(&scene, &[]).len()), (5, 1));
    assert!(!scene.home().join("sessions").exists());
}

#[test]
fn a_session_of_another_directory_is_not_carried_on_by_accident() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    scene.ask(&["first"]).done();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    scene.write("sub/x", "");
    let below = |more: &[&str]| {
        let arguments = [&["-p", "--provider", "mock", "--model", "mock-1", "--cwd", "sub"], more].concat();
        scene.run(&arguments)
    };
    let complaint = below(&["--session", &id, "second"]).failed(2);
    assert!(complaint.contains("the session works in") && complaint.contains(&format!("--fork {id}")), "{complaint}");
    below(&["--fork", &id, "second"]).done();
    assert_eq!(carried(&server).len(), 3);
    assert!(below(&["-c", "third"]).stderr.is_empty(), "the copy works there");
    assert_eq!((carried(&server).len(), listed(&scene, &[]).len(), listed(&scene, &["--all"]).len()), (5, 1, 2));
}

#[test]
fn a_session_follows_its_project() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["first"]).done();
    let [before] = files(&scene).try_into().unwrap();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    scene.write("sub/x", "");
    for (session, directory) in [("zzzz", "sub"), (id.as_str(), "nowhere"), (id.as_str(), "sub/x")] {
        scene.run(&["sessions", "mv", session, directory]).failed(2);
    }
    assert_eq!(files(&scene), std::slice::from_ref(&before));
    let told: Value = serde_json::from_str(&scene.run(&["sessions", "mv", &id, "sub", "--json"]).done()).unwrap();
    let [after] = files(&scene).try_into().unwrap();
    assert_ne!(after, before);
    assert_eq!((&told["sessionId"], &told["sessionFile"]), (&json!(id), &json!(after)));
    assert!(listed(&scene, &[]).is_empty());
    let arguments = ["-p", "--provider", "mock", "--model", "mock-1", "--cwd", "sub", "-c", "second"];
    assert_eq!(scene.run(&arguments).done(), "two\n");
    assert_eq!(carried(&server), pairs(&[("user", "first"), ("assistant", "one"), ("user", "second")]));
}
