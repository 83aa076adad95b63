//! `dryad branch`: files stay as they are, unless what was done since is to be taken back.

use super::{beginning, files, listed, prompts, shown};
use crate::scene::Scene;
use serde_json::{Value, json};

/// A session of two prompts, each of which has changed a file.
fn two_edits() -> Scene {
    let scene = Scene::new();
    let edit = |name: &str| {
        let call = json!({"name": "edit", "arguments": {"path": name, "old_string": "old", "new_string": "new"}});
        json!({"steps": [{"calls": [call]}, {"text": format!("Changed {name}.")}]}).to_string()
    };
    for (name, flags) in [("a.txt", &[][..]), ("b.txt", &["-c"])] {
        scene.write(name, "old\n");
        scene.write("story.json", edit(name));
        scene.play(&[flags, &[&format!("Change {name}.")]].concat()).done();
    }
    scene
}

fn state(scene: &Scene) -> [String; 2] {
    ["a.txt", "b.txt"].map(|name| scene.read(name).trim().to_owned())
}

#[test]
fn a_branch_is_a_session_that_ends_before_the_prompt() {
    let scene = two_edits();
    let [old] = files(&scene).try_into().unwrap();
    let before = std::fs::read(&old).unwrap();
    let [_, second] = prompts(&scene).try_into().unwrap();
    let said = scene.run(&["branch", beginning(&second)]).done();
    assert!(said.contains("goes on before:\n  Change b.txt.\n"), "{said}");
    assert_eq!((std::fs::read(&old).unwrap(), state(&scene)), (before, ["new", "new"].map(str::to_owned)));
    let branch = shown(&scene, &[]);
    assert_eq!(branch["prompts"].as_array().unwrap().len(), 1, "-c goes on with the branch");
    assert!(old.to_string_lossy().contains(branch["parentSession"].as_str().unwrap()));
    scene.write("story.json", json!({"steps": [{"text": "Said differently."}]}).to_string());
    scene.play(&["-c", "Leave it."]).done();
    let texts: Vec<Value> =
        shown(&scene, &[])["prompts"].as_array().unwrap().iter().map(|prompt| prompt["text"].clone()).collect();
    assert_eq!(texts, ["Change a.txt.", "Leave it."]);
}

#[test]
fn what_was_done_since_is_taken_back_on_request() {
    let scene = two_edits();
    let [_, second] = prompts(&scene).try_into().unwrap();
    let said = scene.run(&["branch", "--undo", &second]).done();
    assert!(said.contains("b.txt  restored") && said.contains("every path verified on disk"), "{said}");
    assert_eq!(state(&scene), ["new", "old"]);
    // What came before the branch belongs to the session it was copied from; it is found all the same.
    let [first] = prompts(&scene).try_into().unwrap();
    let said = scene.run(&["branch", "--undo", &first]).done();
    assert!(said.contains("a.txt  restored") && !said.contains("b.txt"), "{said}");
    assert_eq!(state(&scene), ["old", "old"]);
    assert_eq!((listed(&scene, &[]).len(), prompts(&scene).len()), (3, 0));
}

#[test]
fn everything_after_the_prompt_is_taken_back() {
    let scene = two_edits();
    let [first, _] = prompts(&scene).try_into().unwrap();
    let told: Value = serde_json::from_str(&scene.run(&["branch", "--undo", "--json", &first]).done()).unwrap();
    assert_eq!((&told["text"], &told["undo"]["complete"]), (&json!("Change a.txt."), &json!(true)));
    assert_eq!(told["undo"]["operations"].as_array().unwrap().len(), 2);
    assert_eq!(state(&scene), ["old", "old"]);
}

#[test]
fn a_dry_run_changes_nothing() {
    let scene = two_edits();
    let [first, _] = prompts(&scene).try_into().unwrap();
    let said = scene.run(&["branch", "--undo", "--dry-run", &first]).done();
    assert!(said.starts_with("a session would go on before:\n  Change a.txt.\n"), "{said}");
    assert!(said.contains("would be undone") && said.contains("nothing was changed"), "{said}");
    assert_eq!((state(&scene), files(&scene).len()), (["new", "new"].map(str::to_owned), 1));
}

#[test]
fn what_the_user_wrote_since_stays_and_the_exit_code_says_so() {
    let scene = two_edits();
    scene.write("b.txt", "mine\n");
    let [_, second] = prompts(&scene).try_into().unwrap();
    let outcome = scene.run(&["branch", "--undo", &second]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("b.txt  conflict (kept yours"), "{outcome:?}");
    assert_eq!(scene.read("b.txt"), "mine\n");
}

#[test]
fn only_a_prompt_can_be_said_differently() {
    let scene = two_edits();
    let leaf = shown(&scene, &[])["leaf"].as_str().unwrap().to_owned();
    for more in [&[][..], &["--dry-run"]] {
        let complaint = scene.run(&[&["branch", leaf.as_str()], more].concat()).failed(2);
        assert!(complaint.contains(&format!("entry `{leaf}` is no prompt")), "{complaint}");
    }
    assert!(scene.run(&["branch", "zzzz"]).failed(2).contains("no entry `zzzz` in this session"));
    assert!(scene.run(&["branch", ""]).failed(2).contains("an empty id names nothing"));
    assert_eq!(files(&scene).len(), 1);
}
