//! Sessions that cannot be meant, read or carried on: a clear word each, and nothing changed.

use super::{files, listed, talkative};
use crate::scene::Scene;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

const HEADER: &str = r#"{"type":"session","version":3,"id":"abc","timestamp":"2025-01-31T09:05:00.000Z""#;

/// Every command that opens a session complains so, with this code.
fn complain(scene: &Scene, session: &str, code: i32, words: &str) {
    for arguments in [
        &["sessions", "show", session][..],
        &["sessions", "export", session],
        &["branch", "ffff", "--session", session],
    ] {
        let complaint = scene.run(arguments).failed(code);
        assert!(complaint.starts_with("error: ") && complaint.contains(words), "{arguments:?}: {complaint}");
    }
    for flag in ["--session", "--fork"] {
        let complaint = scene.play(&[flag, session, "x"]).failed(code);
        assert!(complaint.contains(words), "{flag}: {complaint}");
    }
}

fn scene() -> Scene {
    Scene::with_script(&json!([{"text": "never said"}]))
}

#[test]
fn a_directory_is_no_session() {
    let scene = scene();
    scene.write("place/x", "");
    complain(&scene, "./place", 2, "is a directory, not a session");
    assert!(scene.run(&["sessions", "rm", "./place"]).failed(2).contains("is a directory"));
    assert!(scene.work().join("place").is_dir());
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let scene = scene();
    for text in ["hello\n", "{\"type\":\"other\"}\n", "\u{1}\u{2}"] {
        scene.write("other.jsonl", text);
        complain(&scene, "./other.jsonl", 2, "is not a session");
        assert!(scene.run(&["sessions", "rm", "./other.jsonl"]).failed(2).contains("is not a session"));
        assert_eq!(scene.read("other.jsonl"), text);
    }
}

#[test]
fn an_id_that_nobody_has_is_told() {
    let scene = scene();
    complain(&scene, "0000", 2, "no session `0000`");
    complain(&scene, " ", 2, "an empty id names nothing");
    assert!(scene.run(&["sessions", "show"]).failed(1).contains("no session works in"));
    assert!(!scene.home().exists(), "looking makes nothing");
}

#[test]
fn a_beginning_that_several_have_is_told() {
    let (scene, _server) = talkative(&["one", "two"]);
    scene.ask(&["a"]).done();
    scene.ask(&["b"]).done();
    let complaint = scene.run(&["sessions", "show", "0"]).failed(2);
    assert!(complaint.contains("is the beginning of 2 sessions") && complaint.contains("Give more"), "{complaint}");
    assert_eq!(listed(&scene, &[]).len(), 2);
}

#[test]
fn a_newer_session_is_read_and_not_written() {
    let scene = scene();
    let header = HEADER.replace("\"version\":3", "\"version\":9");
    let text = format!("{header},\"cwd\":{}}}\n", json!(scene.work()));
    scene.write("new.jsonl", &text);
    let outcome = scene.run(&["sessions", "show", "./new.jsonl"]);
    assert!(outcome.code == Some(0) && outcome.stderr.contains("newer form"), "{outcome:?}");
    for flag in ["--session", "--fork"] {
        let complaint = scene.play(&[flag, "./new.jsonl", "x"]).failed(1);
        assert!(complaint.contains("newer form (version 9) and can only be read"), "{complaint}");
    }
    assert_eq!(scene.read("new.jsonl"), text);
}

#[test]
fn a_session_that_does_not_say_where_it_works_is_told_so() {
    let scene = scene();
    scene.write("lost.jsonl", format!("{HEADER}}}\n"));
    assert!(scene.play(&["--session", "./lost.jsonl", "x"]).failed(2).contains("Say so with --cwd DIR"));
    scene.run(&["sessions", "show", "./lost.jsonl"]).done();
    assert_eq!(scene.play(&["--session", "./lost.jsonl", "--cwd", ".", "x"]).done(), "never said\n");
}

#[test]
fn no_permission_is_told() {
    let scene = scene();
    let text = format!("{HEADER},\"cwd\":{}}}\n", json!(scene.work()));
    scene.write("mine.jsonl", &text);
    let path = scene.work().join("mine.jsonl");
    std::fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
    let prompt = |flag| ["-p", "--script", "story.json", flag, "./mine.jsonl", "x"];
    for arguments in [
        &["sessions", "show", "./mine.jsonl"][..],
        &["sessions", "export", "./mine.jsonl"],
        &["sessions", "rm", "./mine.jsonl"],
        &["branch", "ffff", "--session", "./mine.jsonl"],
        &prompt("--session"),
        &prompt("--fork"),
    ] {
        let complaint = scene.run_bound(arguments).failed(1);
        assert!(complaint.contains(&format!("no permission to open the session {}", path.display())), "{complaint}");
        assert!(complaint.contains("Check who owns the file"), "{arguments:?}: {complaint}");
    }
    // What may be read and not written can be looked at.
    std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    scene.run_bound(&["sessions", "show", "./mine.jsonl"]).done();
    scene.run_bound(&prompt("--session")).failed(1);
    assert_eq!(scene.read("mine.jsonl"), text);
}

fn said(id: &str, parent: Option<&str>) -> String {
    let message = json!({"role": "user", "content": id, "timestamp": 1});
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2025-01-31T09:05:00.000Z", "message": message})
        .to_string()
}

/// A session of these entries is looked at and carried on, and each time this is told, with its file.
fn mended(entries: &[String], words: &str) {
    let scene = scene();
    let text = format!("{HEADER},\"cwd\":{}}}\n{}\n", json!(scene.work()), entries.join("\n"));
    scene.write("odd.jsonl", &text);
    let note = format!("{}: {words}", scene.work().join("odd.jsonl").display());
    let looked = scene.run(&["sessions", "show", "./odd.jsonl"]);
    assert!(looked.code == Some(0) && looked.stderr.contains(&note), "{looked:?}");
    let exported = scene.run(&["sessions", "export", "./odd.jsonl", "odd.html"]);
    assert!(exported.code == Some(0) && exported.stderr.contains(&note), "{exported:?}");
    let outcome = scene.play(&["--session", "./odd.jsonl", "x"]);
    assert!(outcome.stderr.contains(&note), "{outcome:?}");
    assert_eq!(outcome.done(), "never said\n");
    assert!(scene.read("odd.jsonl").starts_with(&text), "what was there is left as it is");
}

#[test]
fn entries_in_a_circle_are_told_and_the_rest_goes_on() {
    let circle = [said("aaaa", Some("bbbb")), said("bbbb", Some("aaaa")), said("cccc", None)];
    mended(&circle, "entry `aaaa` follows itself in a circle; the circle was cut");
    let lost = [said("aaaa", Some("gone"))];
    mended(&lost, "entry `aaaa` follows `gone`, which is not there; it is taken as a beginning");
}

#[test]
fn an_id_that_is_there_twice_is_told() {
    let entries = [said("aaaa", None), said("bbbb", Some("aaaa")), said("aaaa", Some("bbbb"))];
    mended(&entries, "entry `aaaa` is there twice; the later one counts");
}

#[test]
fn a_compaction_that_points_nowhere_is_told() {
    let compaction = json!({"type": "compaction", "id": "cccc", "parentId": "aaaa", "timestamp": "2025-01-31T09:05:00.000Z",
        "summary": "sum", "firstKeptEntryId": "gone", "tokensBefore": 1});
    let entries = [said("aaaa", None), compaction.to_string(), said("bbbb", Some("cccc"))];
    mended(&entries, "compaction `cccc` points to an entry that is not before it; nothing before it is kept");
}

#[test]
fn an_entry_that_is_not_there_is_told() {
    let (scene, _server) = talkative(&["one"]);
    scene.ask(&["a"]).done();
    let complaint = scene.run(&["branch", "zzzz"]).failed(2);
    assert!(complaint.contains("no entry `zzzz` in this session"), "{complaint}");
    assert!(complaint.contains("`dryad sessions show` lists the prompts with their ids."), "{complaint}");
}

#[test]
fn a_torn_end_is_put_aside_and_the_rest_goes_on() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["first"]).done();
    let [file] = files(&scene).try_into().unwrap();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&whole[..], b"{\"type\":\"mess"].concat()).unwrap();
    let looked = scene.run(&["sessions", "show"]);
    assert!(looked.code == Some(0) && looked.stderr.contains("the last 13 bytes are no entries"), "{looked:?}");
    let outcome = scene.run(&["-p", "-c", "second"]);
    assert!(outcome.stderr.contains("they were put aside as"), "{outcome:?}");
    outcome.done();
    assert_eq!(super::carried(&server).len(), 3);
    assert_eq!(std::fs::read(file.with_extension("jsonl.broken")).unwrap(), b"{\"type\":\"mess");
}
