//! Commands that really run, in trees that make it hard to take them back.

use super::{print, scene};
use crate::scene::{Outcome, Scene, finish, names};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// Runs something in the work tree without dryad.
fn shell(scene: &Scene, script: &str) {
    let status = Command::new("/bin/bash").args(["-c", script]).current_dir(scene.work()).status().unwrap();
    assert!(status.success(), "{script}");
}

fn on(scene: &Scene, rung: &str, arguments: &[&str]) -> Outcome {
    finish(scene.command(arguments).env("DRYAD_REHEARSAL", rung).spawn().unwrap())
}

/// A tree in which this was done, and what it holds.
fn prepared(fixture: &str) -> Scene {
    let scene = scene();
    shell(&scene, fixture);
    scene
}

/// Runs commands on rungs and takes them back; everything must be as it was.
fn are_taken_back(rungs: &[&str], cases: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for rung in rungs {
        for (fixture, command) in cases {
            let scene = prepared(fixture);
            let before = print(&scene);
            let done = on(&scene, rung, &["try", "--apply", "--", &format!("{command}\nexit 3")]);
            let undone = on(&scene, rung, &["undo"]);
            let after = print(&scene);
            if (done.code, undone.code) != (Some(3), Some(0)) || after != before {
                failures.push(format!("{rung}: {fixture}: {command}\n{done:?}\n{undone:?}\n{before:?}\n{after:?}\n"));
            }
            shell(&scene, "chmod -R u+rwx .");
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_a_command_could_not_get_at_is_not_taken_for_new() {
    let directory = "mkdir -p d/in; echo precious > d/f; echo deep > d/in/f";
    let closed = &format!("{directory}; chmod 000 d");
    are_taken_back(
        &["journal", "snapshot"],
        &[
            (directory, "chmod 000 d; touch d/f; echo x > d/in/f; mv notes.txt d/f; mkdir d/f"),
            (closed, "echo x > d/f; echo y > other; ln notes.txt d/f; ln -s x d/f"),
            (closed, "chmod 700 d; echo x > d/f; chmod 000 d; echo y > d/f"),
            // What is open already is still within reach.
            (directory, "cd d/in; chmod 000 ..; echo x > f; echo y > new"),
            (directory, "exec 3< d/f; chmod 000 d; echo x > /dev/fd/3"),
            ("mkdir -p d/in; echo 1 > d/in/f; chmod 000 d/in", "mv d e"),
            ("mkdir -p d/in e; echo 1 > d/in/f; chmod 000 e", "perl -e 'rename(qw(d), qw(e)) or die'"),
            ("mkdir -p d/in; echo 1 > d/in/f; chmod 600 d/in", "mv d e; chmod 700 e/in; echo 2 > e/in/f"),
        ],
    );
}

#[test]
fn a_file_is_written_to_under_whatever_name_the_command_has_it_open() {
    are_taken_back(
        &["journal"],
        &[
            ("echo precious > a", "exec 3< a; echo gone > /dev/fd/3"),
            ("echo precious > a", "exec 3< a; echo gone > /proc/self/fd/3"),
            ("echo precious > a", "exec 3< a; echo gone > /proc/thread-self/fd/3"),
            ("echo precious > a", "exec 3< a; echo gone > /proc/$$/fd/3"),
            ("echo precious > a; ln -s /dev/fd/3 l; ln -s l m", "exec 3< a; echo gone > m"),
            ("echo precious > a", "exec 3< a; cd /proc; echo gone > self/fd/3"),
            ("echo precious > a", "exec 3< a; cd /proc/self/fd; echo gone > 3"),
            ("echo precious > a", "exec 0< a; echo gone > /dev/stdin"),
            // Its name may be gone: then it is what is kept for the undo, or it has another.
            ("echo precious > a", "exec 3< a; rm a; echo gone > /dev/fd/3"),
            ("echo precious > a", "exec 3< a; mv notes.txt a; echo gone > /dev/fd/3"),
            ("echo precious > a; ln a b", "exec 3< a; rm a; echo gone > /proc/self/fd/3"),
            ("mkdir d; echo precious > d/a", "cd d; echo gone > /proc/self/cwd/a; echo new > /proc/self/cwd/b"),
            (
                "mkdir d; echo precious > d/a",
                "cd /proc/self/cwd/d; rm /proc/self/cwd/a; mv ../notes.txt /proc/self/cwd/b",
            ),
            (
                "echo precious > a",
                "python3 -c 'import os; f = os.open(\"a\", os.O_PATH); \
              os.write(os.open(f\"/proc/self/fd/{f}\", os.O_WRONLY | os.O_TRUNC), b\"gone\")'",
            ),
            (
                "echo precious > a",
                "python3 -c 'import os; p = os.open(\"/proc\", os.O_RDONLY); f = os.open(\"a\", os.O_RDONLY); \
              os.write(os.open(f\"self/fd/{f}\", os.O_WRONLY | os.O_TRUNC, dir_fd=p), b\"gone\")'",
            ),
            (
                "echo precious > a",
                "python3 -c 'import os; f = os.open(\"a\", os.O_RDONLY); os.chmod(f, 0o600); \
              os.chmod(f\"/proc/self/fd/{f}\", 0o640); os.truncate(f\"/dev/fd/{f}\", 2)'",
            ),
        ],
    );
}

#[test]
fn what_its_owner_may_not_read_comes_back_with_its_bits() {
    let unreadable = "echo precious > f; chmod 000 f";
    let linked = "echo precious > f; ln f k; chmod 000 f";
    are_taken_back(
        &["journal", "snapshot"],
        &[
            (unreadable, "mv f h"),
            (unreadable, "mv f h; chmod 600 h; echo more >> h"),
            (unreadable, "rm -f f"),
            (unreadable, "rm -f f; echo other > f"),
            ("echo precious > f; chmod 200 f", "echo more >> f"),
            (linked, "mv f h"),
            (linked, "mv f h; chmod 600 k; echo more >> k"),
            ("mkdir d; echo precious > d/f; chmod 000 d/f d", "mv d e; chmod 700 e; rm -f e/f"),
            // A directory that can be changed and not be listed.
            ("mkdir d; echo precious > d/f; chmod 000 d/f; chmod 300 d", "rm -f d/f"),
            ("mkdir d; echo precious > d/f; chmod 300 d", "chmod 600 d/f d"),
            ("mkdir d; echo precious > d/f; chmod 300 d", "chmod 600 d/f; rm d/f; echo other > d/g; chmod 600 d"),
        ],
    );
    for rung in ["journal", "snapshot"] {
        let scene = prepared(unreadable);
        assert_eq!(on(&scene, rung, &["try", "--apply", "--", "mv f g"]).code, Some(0));
        let bits = scene.work().join("g").metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(bits, 0, "{rung}");
    }
}

#[test]
fn what_a_command_closes_behind_itself_is_exact_however_deep() {
    are_taken_back(
        &["journal", "snapshot"],
        &[
            ("true", "mkdir -p n/c/q; chmod 600 n/c"),
            ("true", "mkdir -p n/c/q; echo x > n/c/q/f; chmod 000 n/c/q n/c n"),
            ("mkdir -p d/a; echo 1 > d/a/f", "rm d/a/f; chmod 600 d"),
            ("mkdir -p d/a; echo 1 > d/a/f", "rm -r d/a; chmod 000 d"),
            ("mkdir -p d/a; echo 1 > d/a/f", "echo 2 > d/a/f; mkdir d/a/b; chmod 000 d/a d"),
            ("mkdir d; echo 1 > d/f", "mv d/f d/g; chmod 000 d"),
            ("mkdir d; echo 1 > d/f; chmod 500 d", "chmod 700 d; mv d/f d/g; chmod 000 d"),
            ("mkdir -p d/a/b; echo 1 > d/a/b/f; chmod 500 d/a/b d/a d", "chmod -R u+w d; rm -r d/a; chmod 500 d"),
        ],
    );
}

#[test]
fn a_file_with_several_names_comes_back_under_all_of_them() {
    let linked = "mkdir d; echo orig > a; ln a b; ln a d/c";
    are_taken_back(
        &["journal", "snapshot"],
        &[
            (linked, "echo new > a"),
            (linked, "echo new > a; rm a"),
            (linked, "echo new > a; mv b z"),
            (linked, "mv a z; echo app >> z"),
            (linked, "mv d e; mv a z; rm b; echo app >> e/c"),
            (linked, "chmod 600 a; echo new > b; chmod 640 d/c"),
            (linked, "rm a b; rm -r d"),
            (linked, "truncate -s 2 b; ln b again; echo x > again"),
            ("echo orig > a", "ln a b; echo new > b"),
            ("echo orig > a", "chmod 600 a; ln a b"),
            ("echo 1 > a; ln a c; echo 2 > b", "mv a b; chmod 000 c"),
            ("echo orig > a", "mv a m; ln m n; echo new > n"),
            ("echo orig > a", "mv a m; chmod 600 m; echo new > m"),
            ("echo orig > a; ln a b; echo x > x; ln x y", "echo 1 > a; mv x z; mv z v; echo 2 > v"),
        ],
    );
}

#[test]
fn names_outside_the_roots_are_told() {
    for rung in ["journal", "snapshot"] {
        let scene = prepared("echo orig > a; ln a ../outside; echo orig > c; ln c ../other; echo orig > e; ln e f");
        let done = on(&scene, rung, &["try", "--apply", "--", "echo new > a; echo more > d; mv d c; echo new > e"]);
        let told = done.stderr.split("not undone by an undo").nth(1).unwrap_or_default();
        assert!(told.contains("a: it has other names outside the granted roots"), "{rung}: {}", done.stderr);
        assert!(!told.contains("c: it has") && !told.contains("e: it has"), "{rung}: {}", done.stderr);
        on(&scene, rung, &["undo"]).done();
        assert_eq!(
            (scene.read("a"), scene.read("c"), scene.read("f")),
            ("orig\n".into(), "orig\n".into(), "orig\n".into())
        );
    }
}

#[test]
fn a_file_that_gave_way_to_a_pipe_or_a_socket_is_brought_back_beside_it() {
    let socket = "rm a; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"a\")'";
    for rung in ["journal", "snapshot"] {
        for command in ["rm a; mkfifo a", "mkfifo p; mv p a", socket] {
            let scene = prepared("echo precious > a");
            let done = on(&scene, rung, &["try", "--apply", "--", command]);
            assert!(done.code == Some(0) && done.stderr.contains("a: a pipe, socket or device was made"), "{done:?}");
            let undone = on(&scene, rung, &["undo"]);
            let beside = names(&scene.work()).into_iter().find(|name| name.starts_with("a.before-")).unwrap();
            assert!(undone.code != Some(0) && undone.stdout.contains(&beside), "{rung} {command}: {undone:?}");
            assert_eq!(scene.read(&beside), "precious\n");
        }
        let scene = prepared("echo precious > a");
        assert_eq!(on(&scene, rung, &["try", "--apply", "--", "rm a; mkfifo a"]).code, Some(0));
        shell(&scene, "rm a");
        on(&scene, rung, &["undo"]).done();
        assert_eq!(scene.read("a"), "precious\n");
    }
}

#[test]
fn a_socket_that_was_made_is_told_and_what_the_floor_refused_is_not() {
    let scene = prepared("mkdir ../outside; echo o > ../outside/o; echo p > ../outside/p");
    let command = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; \
                   mv ../outside/o ../outside/zz; rm ../outside/p; echo more >> ../outside/p; echo q > ../outside/q";
    let done = on(&scene, "journal", &["try", "--apply", "--", command]);
    assert!(done.stderr.contains("s: a pipe, socket or device was made"), "{done:?}");
    let outside = done.stderr.split("written outside").nth(1).unwrap().split("\n\n").next().unwrap();
    let told = ["outside/o", "outside/zz", "outside/p", "outside/q"].map(|name| outside.contains(name));
    assert_eq!(told, [false, false, true, true], "{done:?}");
}

#[test]
fn the_network_is_off_or_said_to_be_on() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for (rung, code, said, json) in
        [("journal", 1, "rung: journal, network off", "none"), ("snapshot", 0, "rung: snapshot, network on", "allow")]
    {
        let scene = scene();
        let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        let done = on(&scene, rung, &["try", "--apply", "--net", "none", "--", &command]);
        assert!(done.code == Some(code) && done.stderr.contains(said), "{done:?}");
        assert_eq!(done.stderr.contains("nothing keeps a command from it"), code == 0, "{done:?}");
        let done = on(&scene, rung, &["try", "--apply", "--net", "none", "--json", "--", &command]);
        let value: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!((&value["network"], done.code), (&json.into(), Some(code)), "{done:?}");
        // What stays on this machine needs no network.
        let local = "python3 -c 'import socket; socket.socketpair(); socket.socket(socket.AF_UNIX)'";
        assert_eq!(on(&scene, rung, &["try", "--apply", "--net", "none", "--", local]).code, Some(0));
        let allowed = on(&scene, rung, &["try", "--apply", "--net", "allow", "--", &command]);
        assert!(allowed.code == Some(0) && allowed.stderr.contains("network on"), "{allowed:?}");
    }
}
