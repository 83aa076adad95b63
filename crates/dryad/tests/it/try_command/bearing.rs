//! Commands that really run and change owner, group or attributes and nothing else, or other things as well: what was is
//! given back, and what they did can be done again. Only root can give files away, so for others part of this says nothing.

mod killed;

use super::ended;
use crate::scene::{Outcome, Scene, finish};
use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lremovexattr, lsetxattr};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::Path;
use std::process::Command;

const FIXTURE: &str = "mkdir -p d/in; echo x > f; echo y > d/g; ln -s f l; ln f second; echo z > bits; chmod 755 bits";

/// Owner, group, bits and attributes.
type Borne = (u32, u32, u32, Vec<(String, Vec<u8>)>);

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn borne(path: &Path) -> Borne {
    let facts = path.symlink_metadata().unwrap();
    let mut names = vec![0; 4096];
    let length = llistxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let attribute = |name: &[u8]| {
        let mut value = vec![0; 4096];
        let length = lgetxattr(path, name, value.as_mut_slice()).unwrap_or(0);
        value.truncate(length);
        (String::from_utf8_lossy(name).into_owned(), value)
    };
    let mut attributes: Vec<_> = names.map(attribute).collect();
    attributes.sort();
    (facts.uid(), facts.gid(), facts.mode() & 0o7777, attributes)
}

/// What is borne in the work tree, the tree itself included, but for dryad's own; and texts and targets.
fn all(scene: &Scene) -> BTreeMap<String, (Borne, String)> {
    let (mut found, mut todo) = (BTreeMap::new(), vec![scene.work()]);
    while let Some(path) = todo.pop() {
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            todo.extend(entries.filter(|path| !path.ends_with(".dryad")));
        }
        let text = match facts.is_symlink() {
            true => fs::read_link(&path).unwrap().display().to_string(),
            false => fs::read_to_string(&path).unwrap_or_default(),
        };
        let name = path.strip_prefix(scene.work()).unwrap().display().to_string();
        found.insert(name, (borne(&path), text));
    }
    found
}

fn on(scene: &Scene, rung: &str, arguments: &[&str]) -> Outcome {
    finish(scene.command(arguments).env("DRYAD_REHEARSAL", rung).spawn().unwrap())
}

fn run(scene: &Scene, arguments: &[&str]) -> Outcome {
    on(scene, "journal", arguments)
}

fn shell(scene: &Scene, script: &str) {
    let status = Command::new("/bin/bash").args(["-c", script]).current_dir(scene.work()).status().unwrap();
    assert!(status.success(), "{script}");
}

fn prepared(fixture: &str) -> Scene {
    let scene = Scene::new();
    shell(&scene, fixture);
    scene
}

fn mark(scene: &Scene, name: &str, attribute: &str, value: &[u8]) {
    lsetxattr(scene.work().join(name), attribute, value, XattrFlags::empty()).unwrap();
}

/// A command that sets or removes attributes, links not followed.
fn python(lines: &[&str]) -> String {
    format!("python3 -c 'import os\n{}'", lines.join("\n"))
}

fn set(name: &str, attribute: &str, value: &str) -> String {
    python(&[&format!("os.setxattr(\"{name}\", \"{attribute}\", b\"{value}\", follow_symlinks=False)")])
}

/// An access list that lets one more user read, as the kernel writes it.
fn access_list() -> Vec<u8> {
    let entry =
        |tag: u16, bits: u16, id: u32| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
    let (none, somebody) = (u32::MAX, 61_234);
    let entries = [(1, 6, none), (2, 4, somebody), (4, 4, none), (16, 6, none), (32, 4, none)];
    let entries = entries.map(|(tag, bits, id)| entry(tag, bits, id)).concat();
    [&2_u32.to_le_bytes()[..], &entries].concat()
}

fn set_access_list(name: &str, attribute: &str) -> String {
    let bytes: String = access_list().iter().map(|byte| format!("{byte:02x}")).collect();
    python(&[&format!("os.setxattr(\"{name}\", \"{attribute}\", bytes.fromhex(\"{bytes}\"))")])
}

/// Runs a command, takes it back and does it again, several times: both sides are exactly as they were.
fn alternates(rung: &str, fixture: &str, command: &str) {
    let scene = prepared(fixture);
    mark(&scene, "f", "user.old", b"1");
    let before = all(&scene);
    let done = on(&scene, rung, &["try", "--apply", "--", command]);
    let after = all(&scene);
    assert_eq!(done.code, Some(0), "{command}: {done:?}");
    assert!(!done.stderr.contains("not undone by an undo"), "{command}: {done:?}");
    assert_ne!(before, after, "{command}");
    for _ in 0..2 {
        let dry = on(&scene, rung, &["undo", "--dry-run"]).done();
        assert_eq!(all(&scene), after, "{command}");
        let undone = on(&scene, rung, &["undo"]).done();
        assert!(undone.contains("every path verified on disk\n"), "{command}: {undone}");
        let verdicts =
            |told: &str| told.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(verdicts(&dry), verdicts(&undone), "{command}");
        assert_eq!(all(&scene), before, "{command}: {undone}");
        on(&scene, rung, &["redo"]).done();
        assert_eq!(all(&scene), after, "{command}");
    }
    on(&scene, rung, &["undo"]).done();
    assert_eq!(all(&scene), before, "{command}");
}

#[test]
fn attributes_alone_come_back_exactly() {
    let removed = python(&["os.removexattr(\"f\", \"user.old\")", "os.setxattr(\"d\", \"user.new\", b\"\")"]);
    let open = python(&["f = os.open(\"d/g\", os.O_RDONLY)", "os.setxattr(f, \"user.x\", b\"1\")"]);
    let over = format!("{}; {}", set("f", "user.old", "2"), set("f", "user.old", "3"));
    for command in [&set("f", "user.x", "1"), &set("d", "user.x", "1"), &removed, &open, &over] {
        alternates("journal", FIXTURE, command);
    }
}

#[test]
fn access_lists_come_back_with_the_bits_that_they_change() {
    alternates("journal", FIXTURE, &set_access_list("f", "system.posix_acl_access"));
    alternates("journal", FIXTURE, &set_access_list("d", "system.posix_acl_default"));
    let both = format!("{}; chmod 600 f", set_access_list("f", "system.posix_acl_access"));
    alternates("journal", FIXTURE, &both);
}

#[test]
fn attributes_and_everything_else_come_back_together() {
    let attribute = set("f", "user.old", "2");
    for rest in [
        "echo more >> f",
        "chmod 600 f second",
        "touch -d @1 f",
        "rm f",
        "mv f moved",
        "rm f second; echo new > f",
        "rm -r d; mkdir d",
        "ln -sfn d l",
    ] {
        alternates("journal", FIXTURE, &format!("{attribute}; {rest}"));
        alternates(
            "journal",
            FIXTURE,
            &format!("{rest}; {}", attribute.replace("\"f\"", "\"second\"")).replace("rm f second", "rm f"),
        );
    }
}

#[test]
fn what_was_moved_away_before_comes_back_with_what_it_bore() {
    alternates("journal", FIXTURE, &format!("mv d e; {}; {}", set("e/g", "user.x", "1"), set("e", "user.x", "1")));
    let fixture = format!("{FIXTURE}; {}; {}", set("d/in", "user.kept", "1"), set("d/g", "user.kept", "1"));
    alternates("journal", &fixture, "rm -r d");
    alternates("journal", &fixture, "rm d/g; echo y > d/g; rmdir d/in; mkdir d/in");
}

#[test]
fn what_its_owner_has_closed_gets_its_attributes_back() {
    let write = |mode: &str| format!("chmod 700 bits; {}; chmod {mode} bits", set("bits", "user.x", "1"));
    for mode in ["444", "000"] {
        alternates("journal", &format!("{FIXTURE}; chmod {mode} bits"), &write(mode));
    }
    let directory = format!("chmod 700 d; {}; chmod 500 d", set("d", "user.x", "1"));
    alternates("journal", &format!("{FIXTURE}; chmod 500 d"), &directory);
}

#[test]
fn what_lies_behind_a_closed_directory_gets_its_attributes_back() {
    let scene = prepared(&format!("{FIXTURE}; chmod 000 d"));
    let command = format!("chmod 700 d; {}; chmod 000 d", set("d/g", "user.x", "1"));
    run(&scene, &["try", "--apply", "--", &command]).done();
    let told = run(&scene, &["undo"]).done();
    assert!(told.contains("  d/g  restored\n"), "{told}");
    assert_eq!(borne(&scene.work().join("d")).2, 0);
    run(&scene, &["redo"]).done();
    shell(&scene, "chmod 700 d");
    assert_eq!(borne(&scene.work().join("d/g")).3, [("user.x".to_owned(), b"1".to_vec())]);
    run(&scene, &["undo"]).done();
    assert!(borne(&scene.work().join("d/g")).3.is_empty());
}

#[test]
fn owners_and_groups_come_back_exactly() {
    if !is_root() {
        return;
    }
    for rung in ["journal", "snapshot"] {
        for command in [
            "chown 61234 f",
            "chgrp 61235 f",
            "chown 61234:61235 d/in",
            "chown -h 61234:61235 l",
            "chown -R 61234:61235 .",
            "chown 61234 bits; chmod 600 bits",
            "chown 61234 d/g; echo more >> d/g",
            "chown 61234 d/g; touch -d @1 d/g",
        ] {
            alternates(rung, FIXTURE, command);
        }
        alternates(rung, &format!("{FIXTURE}; chown 65534 bits; chmod 6755 bits"), "chown 61234:61235 bits");
    }
    for command in [
        "chown 61234 f; rm f second",
        "mv f moved; chown 61234 moved",
        "chown 61234 d; rm -r d",
        "mv d e; chown -R 61234 e",
        "chown -h 61234 l; rm l; ln -s d l",
        "rm d/g; echo y > d/g; chown 61234 d/g",
    ] {
        alternates("journal", FIXTURE, command);
        alternates("journal", &format!("{FIXTURE}; chown -Rh 61000:61001 d l bits"), command);
    }
}

#[test]
fn capabilities_come_back() {
    if !is_root() {
        return;
    }
    let low_ports = "0100000200040000000000000000000000000000";
    let value = format!("bytes.fromhex(\"{low_ports}\")");
    let give = python(&[&format!("os.setxattr(\"bits\", \"security.capability\", {value})")]);
    alternates("journal", FIXTURE, &give);
    alternates("journal", &format!("{FIXTURE}; {give}"), "chown 61234 bits");
    alternates("journal", &format!("{FIXTURE}; {give}"), "echo more >> bits");
    alternates("journal", FIXTURE, &set("l", "trusted.x", "1"));
}

#[test]
fn what_the_user_has_changed_since_is_his() {
    let command = python(&["os.setxattr(\"f\", \"user.x\", b\"1\")", "os.setxattr(\"bits\", \"user.x\", b\"1\")"]);
    let verdict = |since: &dyn Fn(&Scene)| {
        let scene = prepared(FIXTURE);
        shell(&scene, "rm second");
        run(&scene, &["try", "--apply", "--", &command]).done();
        since(&scene);
        let mine = all(&scene);
        let told = run(&scene, &["undo", "--json"]);
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        let paths = told["operations"][0]["paths"].as_array().unwrap().clone();
        let of = |name: &str| paths.iter().find(|path| path["path"] == json!(scene.work().join(name))).unwrap().clone();
        assert_eq!(of("bits")["verdict"], "restored", "{told}");
        assert!(all(&scene)["bits"].0.3.is_empty());
        let now = all(&scene).remove("f");
        (of("f")["verdict"].as_str().unwrap().to_owned(), mine.get("f").cloned(), now)
    };
    let (told, mine, now) = verdict(&|scene| mark(scene, "f", "user.x", b"mine"));
    assert_eq!((told.as_str(), mine), ("keptYours", now));
    let (told, mine, now) = verdict(&|scene| lremovexattr(scene.work().join("f"), "user.x").unwrap());
    assert_eq!((told.as_str(), mine), ("alreadySo", now));
    let (told, _, now) = verdict(&|scene| mark(scene, "f", "user.y", b"mine"));
    assert_eq!((told.as_str(), now.unwrap().0.3), ("merged", vec![("user.y".to_owned(), b"mine".to_vec())]));
    let (told, _, now) = verdict(&|scene| scene.write("f", "mine\n"));
    assert_eq!(
        (told.as_str(), now.map(|(borne, text)| (borne.3, text))),
        ("merged", Some((Vec::new(), "mine\n".to_owned())))
    );
    let (told, _, now) = verdict(&|scene| fs::remove_file(scene.work().join("f")).unwrap());
    assert_eq!((told.as_str(), now), ("keptYours", None));
}

#[test]
fn an_owner_that_the_user_has_set_since_stays() {
    if !is_root() {
        return;
    }
    let scene = prepared(FIXTURE);
    run(&scene, &["try", "--apply", "--", "chown 61234:61235 f d/g; echo more >> d/g; chown 61234 bits"]).done();
    for name in ["f", "d/g"] {
        lchown(scene.work().join(name), Some(65_534), None).unwrap();
    }
    let told = run(&scene, &["undo"]).done();
    assert!(told.contains("  f  merged\n") && told.contains("  d/g  merged\n"), "{told}");
    let found = all(&scene);
    let owners = |name: &str| (found[name].0.0, found[name].0.1, found[name].1.clone());
    assert_eq!((owners("f"), owners("d/g")), ((65_534, 0, "x\n".into()), (65_534, 0, "y\n".into())));
    assert_eq!(found["bits"].0.0, 0);
}

/// An ordinary user cannot give something away, and is told so.
#[test]
fn what_cannot_be_given_back_is_told_with_the_reason() {
    if !is_root() {
        return;
    }
    let scene = prepared(FIXTURE);
    let as_user = |arguments: &[&str]| {
        let program = scene.command(arguments);
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "61234", "--regid", "61234", "--groups", "61300", "--inh-caps=-all"]);
        command.arg(program.get_program()).args(program.get_args()).current_dir(scene.work()).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("DRYAD_REHEARSAL", "journal");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    };
    let root = scene.work().parent().unwrap().to_owned();
    shell(&scene, &format!("chmod 755 '{0}'; chown -R 61234:61234 '{0}'; chgrp 61999 f bits", root.display()));
    let command = format!("chgrp 61300 f bits d/g; {}", set("f", "user.x", "1"));
    let done = as_user(&["try", "--apply", "--", &command]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let why = "its owner or group could not be given back";
    for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = as_user(arguments);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stdout.contains(&format!("  bits  cannot ({why})\n")), "{told:?}");
        assert!(told.stdout.contains(&format!("  f  restored, but ({why})\n")), "{told:?}");
        assert!(told.stdout.contains("  d/g  restored\n") && !told.stdout.contains("verified"), "{told:?}");
    }
    let found = all(&scene);
    assert_eq!(["f", "bits", "d/g"].map(|name| found[name].0.1), [61_300, 61_300, 61_234]);
    assert!(found["f"].0.3.is_empty());
    // Who can takes the rest back.
    let told = run(&scene, &["undo"]).done();
    assert!(told.contains("  bits  restored\n") && told.contains("  d/g  already so\n"), "{told}");
    assert_eq!(["f", "bits"].map(|name| all(&scene)[name].0.1), [61_999; 2]);
}

/// A pipe, a socket or a device is no part of a change.
#[test]
fn what_is_no_part_of_a_change_is_told() {
    let told = "its owner, group or extended attributes were changed; an undo leaves them as they are now";
    let scene = prepared(&format!("{FIXTURE}; mkfifo pipe"));
    // A call that changes nothing is no change.
    let (_, shown) = ended(run(&scene, &["try", "--apply", "--", "chown $(id -u) f pipe"]), 0);
    assert!(!shown.contains(told) && shown.contains("no file in the granted roots is changed"), "{shown}");
    if is_root() {
        let (_, shown) = ended(run(&scene, &["try", "--apply", "--", "chown 61234 f pipe"]), 0);
        assert!(shown.contains(&format!("pipe: {told}\n")) && shown.matches(told).count() == 1, "{shown}");
    }
}

#[test]
fn what_was_changed_is_named() {
    let scene = prepared(FIXTURE);
    shell(&scene, "rm second");
    let (_, shown) = ended(run(&scene, &["try", "--apply", "--", &set("f", "user.x", "1")]), 0);
    assert!(shown.contains("changes: 1 path (1 changed)\n  M f (attribute user.x)\n"), "{shown}");
    let id = serde_json::from_str::<Value>(&scene.run(&["log", "--json"]).done()).unwrap()[0]["id"].clone();
    let id = id.as_str().unwrap();
    let shown = scene.run(&["show", id]).done();
    assert!(shown.ends_with("\nf  attribute user.x\n"), "{shown}");
    assert!(scene.run(&["show", "--stat", id]).done().contains("f  +0 -0  attribute user.x\n1 path"));
    let shown: Value = serde_json::from_str(&scene.run(&["show", "--json", id]).done()).unwrap();
    assert_eq!(shown["changes"][0]["bearing"], json!({"attributes": ["user.x"]}));
    assert!(scene.run(&["log"]).done().contains("1 path"));
    if is_root() {
        let done = run(&scene, &["try", "--apply", "--json", "--", "chown 61234 d"]).done();
        let done: Value = serde_json::from_str(&done).unwrap();
        let (before, after) = (json!({"user": 0, "group": 0}), json!({"user": 61234, "group": 0}));
        assert_eq!(done["changes"][0]["bearing"], json!({"attributes": [], "before": before, "after": after}));
    }
}

/// Without its record nobody knows what was borne; nothing is claimed then.
#[test]
fn what_is_not_known_any_more_is_not_said_to_be_right() {
    let scene = prepared(FIXTURE);
    run(&scene, &["try", "--apply", "--", &set("d", "user.x", "1")]).done();
    let state = fs::read_dir(scene.home().join("workspaces")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(state.join("bearings")).unwrap();
    let told = run(&scene, &["undo"]);
    assert!(told.code == Some(1) && told.stdout.contains("  d  cannot (its former owner"), "{told:?}");
}

/// The mark of the workspace is given back with everything else.
#[test]
fn a_whole_tree_is_given_back_with_dryads_own_files() {
    if !is_root() {
        return;
    }
    let scene = prepared(FIXTURE);
    run(&scene, &["try", "--apply", "--", "touch new"]).done();
    run(&scene, &["try", "--apply", "--", "chown -R 61234 ."]).done();
    run(&scene, &["undo"]).done();
    let owners = [".dryad", ".dryad/workspace-id", "f"].map(|name| borne(&scene.work().join(name)).0);
    assert_eq!(owners, [0; 3]);
}

#[test]
fn several_are_taken_back_at_once_as_a_dry_run_says() {
    let scene = prepared(FIXTURE);
    let before = all(&scene);
    for value in ["1", "2", "3"] {
        run(&scene, &["try", "--apply", "--", &set("d", "user.x", value)]).done();
    }
    let dry = run(&scene, &["undo", "--last", "3", "--dry-run"]).done();
    assert_eq!(dry.matches("  d  restored\n").count(), 3, "{dry}");
    let undone = run(&scene, &["undo", "--last", "3"]).done();
    assert_eq!((undone.matches("  d  restored\n").count(), all(&scene)), (3, before), "{undone}");
    run(&scene, &["redo", "3"]).done();
    assert_eq!(all(&scene)["d"].0.3, [("user.x".to_owned(), b"3".to_vec())]);
}
