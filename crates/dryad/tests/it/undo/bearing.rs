//! Owner, group, attributes and capabilities of what comes back: they are those that it had, whatever else holds the
//! same. Only root can give files away, so for others most of this says nothing.

use super::failed;
use crate::scene::Scene;
use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

/// Two who are neither of them root.
const NOBODY: (u32, u32) = (65_534, 65_534);
const SOMEBODY: (u32, u32) = (61_234, 61_235);

const NOTE: &str = "user.secret";
const CAPABILITY: &str = "security.capability";

/// A capability as the kernel writes it: that of opening low ports, in effect.
const LOW_PORTS: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn dress(path: &Path, (user, group): (u32, u32), mode: u32) {
    chown(path, Some(user), Some(group)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mark(path: &Path, name: &str, value: &[u8]) {
    lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
}

/// Owner, group and bits; note; capability.
type Bearing = ((u32, u32, u32), Option<Vec<u8>>, Option<Vec<u8>>);

fn bearing(path: &Path) -> Bearing {
    let facts = path.symlink_metadata().unwrap();
    let attribute = |name: &str| {
        let mut value = vec![0; 256];
        let length = lgetxattr(path, name, value.as_mut_slice()).ok()?;
        value.truncate(length);
        Some(value)
    };
    ((facts.uid(), facts.gid(), facts.mode() & 0o7777), attribute(NOTE), attribute(CAPABILITY))
}

fn all(scene: &Scene, names: &[&str]) -> Vec<Bearing> {
    names.iter().map(|name| bearing(&scene.work().join(name))).collect()
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Files of equal content that differ in everything else.
fn alike() -> Scene {
    let scene = Scene::new();
    for name in NAMES {
        scene.write(name, "x\n");
    }
    let at = |name: &str| scene.work().join(name);
    dress(&at("a"), NOBODY, 0o4755);
    mark(&at("a"), NOTE, b"of a");
    dress(&at("c"), SOMEBODY, 0o2711);
    dress(&at("d"), (0, 0), 0o4755);
    mark(&at("e"), CAPABILITY, &LOW_PORTS);
    scene
}

#[test]
fn what_comes_back_has_its_own_owner_and_attributes_whatever_holds_the_same() {
    if !is_root() {
        return;
    }
    for command in
        ["rm a b c d e", "for f in a b c d e; do rm $f; echo y > $f; done", "for f in a b c d e; do echo y > $f; done"]
    {
        let scene = alike();
        let before = all(&scene, &NAMES);
        scene.run(&["try", "--apply", "--", command]).done();
        for _ in 0..3 {
            let told = scene.run(&["undo"]).done();
            assert_eq!(told.matches("restored\n").count(), NAMES.len(), "{told}");
            assert_eq!(all(&scene, &NAMES), before, "{command}");
            scene.run(&["redo"]).done();
        }
    }
}

#[test]
fn what_is_made_and_taken_back_is_done_again_as_it_was() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    let made = "for f in a b; do echo x > $f; done; chown 65534:65534 a; chmod 4755 a; mkdir d; chown 61234:61235 d; \
                ln -s nowhere l; chown -h 65534:65534 l";
    scene.run(&["try", "--apply", "--", made]).done();
    let names = ["a", "b", "d", "l"];
    let before = all(&scene, &names);
    assert_eq!(before[0].0, (65_534, 65_534, 0o4755));
    for _ in 0..2 {
        scene.run(&["undo"]).done();
        scene.run(&["redo"]).done();
        assert_eq!(all(&scene, &names), before);
    }
}

#[test]
fn several_operations_in_a_row_bring_back_what_each_took() {
    if !is_root() {
        return;
    }
    let scene = alike();
    let before = all(&scene, &NAMES);
    for command in ["rm a c", "rm b", "rm d e"] {
        scene.run(&["try", "--apply", "--", command]).done();
    }
    scene.run(&["undo", "--last", "3"]).done();
    assert_eq!(all(&scene, &NAMES), before);
    scene.run(&["redo", "3"]).done();
    scene.run(&["undo", "--last", "3"]).done();
    assert_eq!(all(&scene, &NAMES), before);
}

#[test]
fn a_workspace_on_another_file_system_loses_no_owner() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let scene = Scene::new();
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    if !is_root() || device(elsewhere.path()) == device(&scene.work()) {
        return;
    }
    let at = |name: &str| elsewhere.path().join(name);
    for name in ["a", "b"] {
        fs::write(at(name), "x\n").unwrap();
    }
    dress(&at("a"), NOBODY, 0o4755);
    let before = ["a", "b"].map(|name| bearing(&at(name)));
    let run = |arguments: &[&str]| crate::scene::finish(scene.command_in(elsewhere.path(), arguments).spawn().unwrap());
    run(&["try", "--apply", "--", "rm a b"]).done();
    run(&["undo"]).done();
    assert_eq!(["a", "b"].map(|name| bearing(&at(name))), before);
}

#[test]
fn the_owner_of_a_file_that_the_user_gave_away_since_is_his_business() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    scene.write("f", "x\n");
    scene.run(&["try", "--apply", "--", "echo y > f"]).done();
    dress(&scene.work().join("f"), NOBODY, 0o644);
    scene.run(&["undo"]).done();
    assert_eq!((scene.read("f").as_str(), all(&scene, &["f"])[0].0), ("x\n", (65_534, 65_534, 0o644)));
}

/// Without its record nobody knows whose a file was.
#[test]
fn bits_that_lend_an_owners_rights_come_back_only_with_that_owner() {
    if !is_root() {
        return;
    }
    let scene = alike();
    scene.run(&["try", "--apply", "--", "rm a b"]).done();
    let states = scene.home().join("workspaces");
    let state = fs::read_dir(&states).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(state.join("bearings")).unwrap();
    for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = failed(scene.run(arguments), 1);
        assert!(told.contains("  a  restored, but (its setuid and setgid bits were dropped, "), "{told}");
        assert!(told.contains("  b  restored\n") && !told.contains("verified"), "{told}");
    }
    assert_eq!(all(&scene, &["a", "b"]), [((0, 0, 0o755), None, None), ((0, 0, 0o644), None, None)]);
}

#[test]
fn bits_are_not_set_again_on_what_belongs_to_somebody_else_by_now() {
    if !is_root() {
        return;
    }
    let scene = alike();
    scene.run(&["try", "--apply", "--", "chmod u-s a d"]).done();
    chown(scene.work().join("d"), Some(NOBODY.0), Some(NOBODY.1)).unwrap();
    let told = failed(scene.run(&["undo"]), 1);
    assert!(told.contains("  a  restored\n") && told.contains("  d  restored, but ("), "{told}");
    assert_eq!(all(&scene, &["a", "d"]).iter().map(|bearing| bearing.0.2).collect::<Vec<_>>(), [0o4755, 0o755]);
}

#[test]
fn files_that_changed_places_with_those_of_a_batch_come_back_as_their_own() {
    if !is_root() {
        return;
    }
    let scene = alike();
    let before = all(&scene, &NAMES);
    let run = |arguments: &[&str]| {
        crate::scene::finish(scene.command(arguments).env("DRYAD_BATCH_FROM", "2").spawn().unwrap()).done()
    };
    run(&["try", "--apply", "--", "for f in a b c d e; do echo y > $f; done"]);
    for _ in 0..3 {
        run(&["undo"]);
        assert_eq!(all(&scene, &NAMES), before);
        // What is remembered of the exchange is lost: the files look alike.
        for batch in fs::read_dir(scene.home().join("vault/batches")).unwrap() {
            fs::remove_file(batch.unwrap().path().join("marks")).ok();
        }
        run(&["redo"]);
    }
}

#[test]
fn whoever_dies_on_the_way_loses_nobodys_owner() {
    if !is_root() {
        return;
    }
    let reference = alike();
    let before = all(&reference, &NAMES);
    let steps = |scene: &Scene, arguments: &[&str]| -> u32 {
        let count = scene.tmp().join("count");
        let mut program = scene.command(arguments);
        let counted = program.env("DRYAD_FAULT", format!("count:{}", count.display())).spawn().unwrap();
        crate::scene::finish(counted).done();
        fs::read_to_string(count).unwrap().parse().unwrap()
    };
    let remove = &["try", "--apply", "--", "rm a b c d e"][..];
    let (removing, undoing) = (steps(&reference, remove), steps(&reference, &["undo"]));
    let killed = |scene: &Scene, arguments: &[&str], step: u32| {
        let mut program = scene.command(arguments);
        let dead = crate::scene::finish(program.env("DRYAD_FAULT", format!("kill:{step}")).spawn().unwrap());
        assert_ne!(dead.code, Some(1), "{dead:?}");
    };
    for step in 1..=removing {
        let scene = alike();
        killed(&scene, remove, step);
        scene.run(&["log"]).done();
        if !scene.work().join("a").exists() {
            scene.run(&["undo"]).done();
        }
        assert_eq!(all(&scene, &NAMES), before, "removing, {step}");
    }
    for step in 1..=undoing {
        let scene = alike();
        scene.run(remove).done();
        killed(&scene, &["undo"], step);
        scene.run(&["log"]).done();
        if !scene.work().join("a").exists() {
            scene.run(&["undo"]).done();
        }
        assert_eq!(all(&scene, &NAMES), before, "undoing, {step}");
    }
}

#[test]
fn every_rung_keeps_whose_a_file_was() {
    if !is_root() {
        return;
    }
    for rung in ["overlay", "tmpfs", "journal", "snapshot"] {
        for command in ["unlink a; unlink b; unlink c; unlink d; unlink e", "for f in a b c d e; do echo y >> $f; done"]
        {
            let scene = alike();
            let call = json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
            scene.write("story.json", json!({"steps": [call, {"text": "Done."}]}).to_string());
            let before = all(&scene, &NAMES);
            let mut program = scene.command(&["-p", "--script", "story.json", "--yolo", "x"]);
            crate::scene::finish(program.env("DRYAD_REHEARSAL", rung).spawn().unwrap()).done();
            for _ in 0..2 {
                let told = scene.run(&["undo"]).done();
                assert_eq!(all(&scene, &NAMES), before, "{rung}: {command}: {told}");
                scene.run(&["redo"]).done();
            }
        }
    }
}
