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
    let compaction = json!({"thresholdTokens": 5, "keepRecentTokens": 1});
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
    let answers = after.iter().filter(|line| line["message"]["role"] == "assistant").count();
    assert_eq!(answers, 2, "what was answered is over: {after:?}");
}

#[test]
fn work_is_handed_over_to_a_new_session_where_that_is_wanted() {
    let (scene, server) = talkative(&["To talk.", "To go on.", "It goes on.", "Still."]);
    let compaction = json!({"strategy": "handoff", "thresholdTokens": 5, "autoContinue": false});
    scene.write_home("settings.json", &json!({"compaction": compaction}).to_string());
    let outcome = scene.ask(&["The first prompt."]);
    let note = outcome.stderr.clone();
    assert_eq!(outcome.done(), "To talk.\n", "the answer is shown, not what was handed over");
    let [old, new] = files(&scene).try_into().unwrap();
    let (old, handed) = (lines(&old), lines(&new));
    assert!(note.contains(&format!("it goes on in the session {}", handed[0]["id"].as_str().unwrap())), "{note}");
    assert_eq!(handed[0]["parentSession"], old[0]["id"]);
    let text = |line: &Value| line["customType"] == "handoff" && line["content"][0]["text"] == "To go on.";
    assert!(handed.iter().any(text), "{handed:?}");
    scene.write_home("settings.json", "{}");
    assert_eq!(scene.ask(&["-c", "And now?"]).done(), "It goes on.\n");
    let said = carried(&server);
    assert!(
        said.iter().any(|(_, text)| text.contains("To go on."))
            && !said.iter().any(|(_, text)| text.contains("first prompt"))
    );
}

#[test]
fn a_session_is_named_by_the_model_where_that_is_wanted() {
    let (scene, server) = talkative(&["one", "two", "\"Painting the fence\"", "three", "four"]);
    scene.ask(&["paint"]).done();
    scene.write_home("settings.json", &json!({"autoTitle": true}).to_string());
    scene.ask(&["paint the fence"]).done();
    assert_eq!(server.requests().len(), 3);
    assert_eq!(super::listed(&scene, &[])[0]["name"], "Painting the fence");
    scene.ask(&["-c", "and the gate"]).done();
    scene.ask(&["--no-title", "paint it black"]).done();
    assert_eq!(server.requests().len(), 5, "a name is asked for once, and not where it is not wanted");
}

#[test]
fn rules_without_a_condition_are_told_first() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.write(".dryad/rules/style.md", "---\nalwaysApply: true\n---\nUse tabs.\n");
    scene.write(".dryad/rules/sql.md", "---\ndescription: Changing the schema\n---\nNever drop a table.\n");
    let told = || server.requests().last().unwrap().json().unwrap()["messages"][0]["content"].to_string();
    scene.ask(&["hi"]).done();
    assert!(told().contains("Use tabs.") && told().contains("- sql: Changing the schema ("), "{}", told());
    assert!(!told().contains("Never drop a table."), "it is read when it is needed");
    scene.ask(&["--no-rules", "hi"]).done();
    assert!(!told().contains("Use tabs.") && !told().contains("Changing the schema"));
}

#[test]
fn pictures_that_no_session_names_are_collected() {
    let (scene, _server) = talkative(&["seen", "seen"]);
    let old = |name: &str| {
        let path = scene.home().join("blobs").join(name);
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 60 * 60);
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_times(std::fs::FileTimes::new().set_modified(then)).unwrap();
    };
    let orphan = "0".repeat(64);
    let mut picture =
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00".to_vec();
    picture.extend((0..2000_u32).map(|number| number as u8));
    scene.write("shot.png", &picture);
    scene.write_home("settings.json", &json!({"images": {"autoResize": false}}).to_string());
    scene.ask(&["@shot.png", "What is it?"]).done();
    let stored = || -> Vec<String> {
        let names = crate::scene::names(&scene.home().join("blobs"));
        names.into_iter().filter(|name| name.len() == 64).collect()
    };
    let [named] = stored().try_into().unwrap();
    scene.write_home(&format!("blobs/{orphan}"), "nobody");
    for name in [&named, &orphan] {
        old(name);
    }
    let told = scene.run(&["gc", "--dry-run"]).done();
    assert!(told.contains("would remove 1 pictures that no session names, 6 bytes"), "{told}");
    assert_eq!(stored().len(), 2);
    let report: Value = serde_json::from_str(&scene.run(&["gc", "--json"]).done()).unwrap();
    assert_eq!(report["pictures"]["removed"], json!([{"blob": orphan, "bytes": 6}]));
    assert_eq!(stored(), [named]);
}
