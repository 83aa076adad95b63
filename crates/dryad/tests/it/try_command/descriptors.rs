//! What whoever starts dryad has open is no way past the layers.

use super::{ended, print, scene};
use crate::scene::{Outcome, Scene, finish};
use std::fs;
use std::io::{Seek as _, SeekFrom};
use std::process::{Command, Stdio};

/// Runs the program with files opened by a shell.
fn run_with(scene: &Scene, arguments: &[&str], opened: &str) -> Outcome {
    let program = scene.command(arguments);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec \"$@\" {opened}")).arg("sh").arg(program.get_program()).args(program.get_args());
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let streams = shell.current_dir(scene.work()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(streams.spawn().unwrap())
}

#[test]
fn files_and_directories_that_are_open_already_lead_nowhere() {
    let scene = scene();
    scene.write("open/file", "old\n");
    let before = print(&scene);
    for (command, opened) in [
        ("echo new >&9", "9>>open/file"),
        ("rm /proc/self/fd/9/file", "9<open"),
        ("rm /proc/self/fd/0/file && ls /proc/self/fd/0", "<open"),
        ("echo new > /proc/self/fd/0", "<open/file"),
        ("echo new >> /dev/stdin", "<>open/file"),
    ] {
        let outcome = run_with(&scene, &["try", "--discard", command], opened);
        assert_eq!(print(&scene), before, "{command} {opened}: {outcome:?}");
    }
    let applied = run_with(&scene, &["try", "--apply", "echo new > /dev/stdin"], "<open/file");
    ended(applied, 0);
    assert_eq!(scene.read("open/file"), "new\n", "it was written to as it is seen inside");
}

#[test]
fn a_file_is_read_on_from_where_it_stood() {
    let scene = scene();
    fs::write(scene.tmp().join("lines"), "one\ntwo\nthree\n").unwrap();
    let lines = scene.tmp().join("lines");
    let script = format!("<'{}'", lines.display());
    let (shown, _) = ended(run_with(&scene, &["try", "--discard", "cat > copy; cat copy"], &script), 0);
    assert_eq!(shown, "one\ntwo\nthree\n");
    let mut input = fs::File::open(&lines).unwrap();
    input.seek(SeekFrom::Start(4)).unwrap();
    let mut program = scene.command(&["try", "--discard", "head -n1; touch seen"]);
    let (shown, _) = ended(finish(program.stdin(input).spawn().unwrap()), 0);
    assert_eq!(shown, "two\n");
}
