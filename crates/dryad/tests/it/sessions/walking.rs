//! Going on from another entry of a session, and names for entries.

use super::{beginning, carried, files, lines, pairs, prompts, shown, talkative};
use serde_json::{Value, json};

/// The ids of what models have said, oldest first.
fn answers(scene: &crate::scene::Scene) -> Vec<String> {
    let [file] = files(scene).try_into().unwrap();
    let said = lines(&file).into_iter().filter(|line| line["message"]["role"] == "assistant");
    said.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_goes_on_from_any_entry_of_the_same_session() {
    let (scene, server) = talkative(&["one", "two", "three", "four", "five"]);
    scene.ask(&["first"]).done();
    scene.ask(&["-c", "second"]).done();
    let (second, id) = (prompts(&scene)[1].clone(), shown(&scene, &[])["id"].as_str().unwrap().to_owned());
    assert_eq!(scene.ask(&["-c", "--at", beginning(&second), "differently"]).done(), "three\n");
    let before = pairs(&[("user", "first"), ("assistant", "one"), ("user", "differently")]);
    assert_eq!(carried(&server), before, "before a prompt");
    let answer = answers(&scene)[1].clone();
    scene.ask(&["--session", &id, "--at", &answer, "on"]).done();
    let behind = [("user", "first"), ("assistant", "one"), ("user", "second"), ("assistant", "two"), ("user", "on")];
    assert_eq!(carried(&server), pairs(&behind), "behind an answer");
    assert_eq!(files(&scene).len(), 1, "it is the same session");
    let [file] = files(&scene).try_into().unwrap();
    assert_eq!(prompts(&scene).len(), 4);
    assert_eq!(shown(&scene, &[])["branches"], json!(2));
    scene.ask(&["--fork", &id, "--at", &prompts(&scene)[0], "anew"]).done();
    assert_eq!(carried(&server), pairs(&[("user", "anew")]), "in a copy, too");
    assert_eq!((files(&scene).len(), files(&scene).contains(&file)), (2, true));
}

#[test]
fn what_is_left_behind_is_told_on_request() {
    let (scene, server) = talkative(&["one", "two", "## Goal\nleft", "three"]);
    scene.ask(&["first"]).done();
    scene.ask(&["-c", "second"]).done();
    let second = prompts(&scene)[1].clone();
    assert_eq!(scene.ask(&["-c", "--at", &second, "--summarize", "differently"]).done(), "three\n");
    let said = carried(&server);
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[2].1.contains("## Goal\nleft"), "{said:?}");
    let [file] = files(&scene).try_into().unwrap();
    let summary = lines(&file).into_iter().find(|line| line["type"] == "branch_summary").unwrap();
    assert_eq!(summary["details"]["model"], "mock/mock-1");
    assert_eq!(shown(&scene, &[])["stats"]["models"]["mock/mock-1"]["requests"], json!(4));
}

#[test]
fn the_model_that_was_asked_for_answers_there() {
    let (scene, server) = talkative(&["one", "two"]);
    let models = std::fs::read_to_string(scene.home().join("models.json")).unwrap();
    let mut models: Value = serde_json::from_str(&models).unwrap();
    let mut other = models["providers"]["mock"]["models"][0].clone();
    other["id"] = json!("mock-2");
    models["providers"]["mock"]["models"].as_array_mut().unwrap().push(other);
    scene.write_home("models.json", &models.to_string());
    scene.ask(&["first"]).done();
    let answer = answers(&scene)[0].clone();
    scene.run(&["-p", "--model", "mock/mock-2", "-c", "--at", &answer, "second"]).done();
    assert_eq!(server.requests().last().unwrap().json().unwrap()["model"], "mock-2");
}

#[test]
fn an_entry_that_is_not_there_is_a_mistake_that_is_explained() {
    let (scene, server) = talkative(&["one"]);
    scene.ask(&["first"]).done();
    let [file] = files(&scene).try_into().unwrap();
    let before = std::fs::read(&file).unwrap();
    let complaint = scene.ask(&["-c", "--at", "zzzz", "on"]).failed(2);
    assert!(complaint.contains("no entry `zzzz` in this session") && complaint.contains("dryad sessions show"));
    for arguments in [&["--at", "1", "on"][..], &["--no-session", "--at", "1", "on"], &["-c", "--summarize", "on"]] {
        scene.ask(arguments).failed(2);
    }
    let complaint = scene.run(&["--mode", "rpc", "-c", "--at", "1"]).failed(2);
    assert!(complaint.contains("navigate_tree"), "{complaint}");
    let complaint = scene.run(&["sessions", "label", "zzzz", "x"]).failed(2);
    assert!(complaint.contains("no entry `zzzz`"), "{complaint}");
    assert_eq!((std::fs::read(&file).unwrap(), server.requests().len()), (before, 1));
}

#[test]
fn labels_and_the_leaf_are_shown() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    scene.ask(&["first"]).done();
    scene.ask(&["-c", "second"]).done();
    let (first, answer) = (prompts(&scene)[0].clone(), answers(&scene)[0].clone());
    let said = scene.run(&["sessions", "label", beginning(&answer), "good start"]).done();
    assert_eq!(said, format!("{answer} is called good start\n"));
    let id = shown(&scene, &[])["id"].as_str().unwrap().to_owned();
    let told = scene.run(&["sessions", "label", &first, "the task", "--session", &id, "--json"]).done();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told, json!({"sessionId": id, "entryId": first, "label": "the task"}));
    let text = scene.run(&["sessions", "show"]).done();
    let row = |id: &str| text.lines().find(|line| line.contains(id)).unwrap().to_owned();
    assert!(row(&first).starts_with('●') && row(&first).ends_with("first  [the task]"), "{text}");
    assert!(row(&answer).ends_with("assistant: one  [good start]"), "{text}");
    let last = answers(&scene)[1].clone();
    assert!(row(&last).ends_with("assistant: two  ← leaf"), "{text}");
    let labels = json!([{"id": first, "label": "the task"}, {"id": answer, "label": "good start"}]);
    assert_eq!(shown(&scene, &[])["labels"], labels);
    // A name is no part of what the model sees, and the session goes on where it was.
    scene.ask(&["-c", "third"]).done();
    assert_eq!(carried(&server).len(), 5);
    assert_eq!(scene.run(&["sessions", "label", &answer]).done(), format!("{answer} has no name\n"));
    assert_eq!(shown(&scene, &[])["labels"], json!([{"id": first, "label": "the task"}]));
}

#[test]
fn a_hook_may_keep_a_run_where_it_is() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["first"]).done();
    let [file] = files(&scene).try_into().unwrap();
    let before = std::fs::read(&file).unwrap();
    crate::hooks::against(&scene, "before_tree");
    let complaint = scene.ask(&["-c", "--at", &prompts(&scene)[0], "on"]).failed(1);
    assert!(complaint.contains("cancelled by a hook: no-before_tree: not today"), "{complaint}");
    assert_eq!((std::fs::read(&file).unwrap(), server.requests().len()), (before, 1));
}
