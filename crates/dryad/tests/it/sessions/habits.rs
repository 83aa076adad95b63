//! What a conversation does by itself: rules that watch, room that is made, a list that leads.

use super::{carried, files, lines, talkative};
use crate::scene::Scene;
use serde_json::{Value, json};

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn a_rule_interrupts_the_model_once_in_a_session() {
    let scene = Scene::with_script(&json!([{"text": "I shall call unwrap here."}, {"text": "I handle the error."}]));
    scene.write(".dryad/rules/no-unwrap.md", "---\ncondition: unwrap\n---\nHandle errors instead.\n");
    scene.write(".dryad/rules/broken.md", "---\ncondition: \"(\"\n---\nNever told.\n");
    let outcome = scene.play(&["--mode", "json", "Go on."]);
    assert!(outcome.stderr.contains("broken"), "{outcome:?}");
    let events = outcome.events();
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "ttsr_triggered").count(), 1, "{:?}", kinds(&events));
    let [file] = files(&scene).try_into().unwrap();
    assert!(lines(&file).iter().any(|line| line["injectedRules"] == json!(["no-unwrap"])));
    let again = scene.play(&["-c", "--mode", "json", "Go on."]).events();
    assert!(!kinds(&again).contains(&"ttsr_triggered"), "it was told in this session already");
    for more in [&["--no-rules"][..], &[]] {
        if more.is_empty() {
            scene.write(".dryad/settings.json", json!({"ttsr": {"enabled": false}}).to_string());
        }
        let events = scene.play(&[more, &["--mode", "json", "Go on."]].concat()).events();
        assert!(!kinds(&events).contains(&"ttsr_triggered"));
    }
}

#[test]
fn what_is_left_to_do_leads_the_model_and_follows_the_session() {
    let plan = json!([{"op": "replace", "phases": [{"name": "Work", "tasks": [{"content": "First"}, {"content": "Second"}]}]}]);
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "todo_write", "arguments": {"ops": plan}}]},
        {"text": "I stop here."},
        {"text": "Really."},
    ]));
    scene.write_home("settings.json", &json!({"todo": {"maxReminders": 1}}).to_string());
    let events = scene.play(&["--mode", "json", "Make a plan."]).events();
    let ends: Vec<&Value> = events.iter().filter(|event| event["type"] == "tool_execution_end").collect();
    assert_eq!(ends[0]["isError"], json!(false), "{ends:?}");
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "todo_reminder").count(), 1, "{:?}", kinds(&events));
}

#[test]
fn room_is_made_when_the_window_fills_up() {
    // Whoever asks, for an answer or for a summary, is told the same.
    let (scene, server) = talkative(&["To talk."; 8]);
    let compaction = json!({"thresholdTokens": 5, "keepRecentTokens": 1, "autoContinue": false});
    scene.write_home("settings.json", &json!({"compaction": compaction}).to_string());
    scene.ask(&["The first prompt."]).done();
    let [file] = files(&scene).try_into().unwrap();
    let before = lines(&file);
    scene.ask(&["-c", "The second prompt."]).done();
    let after = lines(&file);
    let summaries: Vec<&Value> = after.iter().filter(|line| line["type"] == "compaction").collect();
    assert!(summaries.iter().any(|line| line["summary"].as_str().unwrap().contains("To talk.")), "{after:?}");
    assert!(after.len() > before.len() && after[..before.len()] == before[..], "what was said stays said");
    assert!(!carried(&server).is_empty());
}
