//! Whatever dies or fails on the way, owners, groups and attributes are those from before or those from after.

use super::{FIXTURE, all, is_root, prepared, python, run, set};
use crate::scene::{Scene, finish};
use serde_json::Value;
use std::fs;

#[test]
fn whoever_dies_on_the_way_leaves_one_side_or_the_other() {
    let scene = prepared(&format!("{FIXTURE}; {}", set("d", "user.old", "1")));
    let mut lines = vec!["os.setxattr(\"f\", \"user.x\", b\"1\")", "os.removexattr(\"d\", \"user.old\")"];
    lines.extend(["os.setxattr(\"d/g\", \"user.x\", b\"1\")", "os.chmod(\"d/g\", 0o600)"]);
    let owners = if is_root() { "; chown -h 61234 l d bits" } else { "" };
    let faulty = |arguments: &[&str], fault: String| {
        let mut program = scene.command(arguments);
        finish(program.env("DRYAD_REHEARSAL", "journal").env("DRYAD_FAULT", fault).spawn().unwrap())
    };
    let before = all(&scene);
    run(&scene, &["try", "--apply", "--", &format!("{}; echo more >> bits{owners}", python(&lines))]).done();
    let after = all(&scene);
    let length =
        || serde_json::from_str::<Vec<Value>>(&scene.run(&["log", "-n", "10000", "--json"]).done()).unwrap().len();
    let mut steps = Vec::new();
    for deed in ["undo", "redo"] {
        let count = scene.tmp().join("count");
        faulty(&[deed], format!("count:{}", count.display())).done();
        steps.push(fs::read_to_string(count).unwrap().parse::<u32>().unwrap());
    }
    for (deed, inverse, count, from, to) in
        [("undo", "redo", steps[0], &after, &before), ("redo", "undo", steps[1], &before, &after)]
    {
        if deed == "redo" {
            run(&scene, &["undo"]).done();
        }
        for (step, fault) in (1..=count).flat_map(|step| ["kill", "eio"].map(|fault| (step, fault))) {
            let (what, known) = (format!("{deed}, {fault} at {step}"), length());
            let outcome = faulty(&[deed], format!("{fault}:{step}"));
            // The last steps of the first time are not always taken again.
            assert!(fault == "eio" || outcome.code.is_none() || (step > 10 && outcome.code == Some(0)), "{what}");
            // A failure may show when all is done.
            let is_done = length() > known;
            assert_eq!(&all(&scene), if is_done { to } else { from }, "{what}: {outcome:?}");
            if !is_done {
                run(&scene, &[deed]).done();
                assert_eq!(&all(&scene), to, "{what}");
            }
            run(&scene, &[inverse]).done();
            assert_eq!(&all(&scene), from, "{what}");
        }
    }
}

/// There is no moment in which a kill loses what was borne before.
#[test]
fn a_command_whose_dryad_dies_is_taken_back_with_what_it_changed_so() {
    let owners = if is_root() { "; chown -h 61234 l d" } else { "" };
    let command = format!("{}; echo more >> bits{owners}", set("d", "user.x", "1"));
    let faulty = |scene: &Scene, fault: String| {
        let mut program = scene.command(&["try", "--apply", "--", &command]);
        finish(program.env("DRYAD_REHEARSAL", "journal").env("DRYAD_FAULT", fault).spawn().unwrap())
    };
    let reference = prepared(FIXTURE);
    let count = reference.tmp().join("count");
    faulty(&reference, format!("count:{}", count.display())).done();
    let steps: u32 = fs::read_to_string(count).unwrap().parse().unwrap();
    for step in 1..=steps {
        let scene = prepared(FIXTURE);
        let before = all(&scene);
        // The helper takes steps of its own, which may be those that are counted.
        assert!(matches!(faulty(&scene, format!("kill:{step}")).code, None | Some(0)), "{step}");
        drop(scene.run(&["log"]));
        if all(&scene) != before {
            run(&scene, &["undo"]).done();
        }
        assert_eq!(all(&scene), before, "{step}");
    }
}
