//! Hosts that are programs of their own: the client that Pi publishes, and the examples.
//!
//! Needs Node 20 and Pi 0.74.2, which `cargo xtask ci` installs under the target directory;
//! `DRYAD_TEST_PI` names another directory.

use crate::scene::{Scene, finish};
use expect_test::expect;
use std::path::{Path, PathBuf};
use std::process::Command;

fn pi() -> PathBuf {
    let usual = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join("pi");
    let root = std::env::var_os("DRYAD_TEST_PI").map_or_else(usual, PathBuf::from);
    assert!(root.join("node_modules").is_dir(), "Pi is needed in {}: `cargo xtask ci` installs it", root.display());
    root
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap()
}

/// Another program in the scene.
fn program(scene: &Scene, name: &str, arguments: &[&Path]) -> Command {
    let ours = scene.command(&[]);
    let mut command = Command::new(name);
    command.args(arguments).current_dir(scene.work()).env_clear();
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

#[test]
fn the_client_of_pi_finds_everything_it_expects() {
    let scene = Scene::new();
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    scene.write("story.json", std::fs::read(clients.join("story.json")).unwrap());
    scene.write("hello.txt", "alpha\n");
    let mut command = program(&scene, "node", &[&clients.join("pi.mjs")]);
    command.env("DRYAD", env!("CARGO_BIN_EXE_dryad")).env("PI", pi()).env("DRYAD_RPC_STRICT_IDS", "1");
    assert_eq!(finish(command.spawn().unwrap()).done(), "pi: everything is as its client expects\n");
}

/// Runs an example with a story in which something waits for its review.
fn example(program_name: &str, before: &[&Path], host: &str) -> String {
    let scene = Scene::new();
    scene.write_home("settings.json", r#"{"safety": {"autoPreview": "all", "resolver": "user"}}"#);
    scene.write("story.json", std::fs::read(repository("examples/hosts/story.json")).unwrap());
    let host = repository(host);
    let words = [env!("CARGO_BIN_EXE_dryad"), "--script", "story.json", "Write the greeting"].map(Path::new);
    let command = program(&scene, program_name, &[before, &[host.as_path()], &words].concat()).spawn();
    let printed = finish(command.unwrap()).done();
    assert!(!scene.work().join("greeting.txt").exists(), "it was taken back");
    // The question and the answer of the model come side by side.
    let mut lines: Vec<&str> = printed.lines().collect();
    lines[..2].sort_unstable();
    lines.join("\n")
}

#[test]
fn the_hosts_in_python_and_typescript_review_and_take_back() {
    let expected = expect![[r#"
        The greeting waits for your review.
        asked: Apply write: greeting.txt?
        pending: write: greeting.txt
        greeting.txt: new file (11 bytes)
        +1 Hello, Ada
        done: write: greeting.txt
        undone: write: greeting.txt, complete: true"#]];
    expected.assert_eq(&example("python3", &[], "examples/hosts/host.py").replace("complete: True", "complete: true"));
    let loader = pi().join("node_modules/jiti/lib/jiti-cli.mjs");
    expected.assert_eq(&example("node", &[&loader], "examples/hosts/host.ts"));
}
