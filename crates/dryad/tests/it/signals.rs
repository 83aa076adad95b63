//! Ctrl-C, TERM, and readers that go away.

use crate::scene::{Scene, finish, is_alive, signal, until};
use rustix::process::Signal;
use serde_json::json;
use std::io::Read as _;
use std::process::Child;
use std::time::{Duration, Instant};

/// A run in the middle of a command, and the command's process.
struct Busy {
    scene: Scene,
    child: Child,
    command: u32,
}

/// `trap` is what the command does when it is told to end.
fn busy(trap: &str, command: &str, more: &[&str]) -> Busy {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "bash", "arguments": {"command": format!("{trap}\necho $$ > pid.new; mv pid.new pid\n{command}")}}]},
        {"text": "never said"},
    ]));
    let mut program = scene.command(&[&["-p", "--script", "story.json", "x"], more].concat());
    // What a rehearsed command writes is not seen from here, nor is its number the one we know it by.
    let child = program.env("DRYAD_REHEARSAL", "direct").spawn().unwrap();
    let file = scene.work().join("pid");
    let command = until("the command starts", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    Busy { scene, child, command }
}

#[test]
fn an_interrupt_cancels_the_run_and_its_commands() {
    let busy = busy("", "exec sleep 1000", &[]);
    signal(busy.child.id(), Signal::INT);
    let outcome = finish(busy.child);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(130), ""), "{outcome:?}");
    until("the command ends", || (!is_alive(busy.command)).then_some(()));
}

#[test]
fn a_cancelled_run_still_tells_its_end() {
    let busy = busy("", "exec sleep 1000", &["--mode", "json"]);
    signal(busy.child.id(), Signal::INT);
    let outcome = finish(busy.child);
    assert_eq!(outcome.code, Some(130));
    let events = outcome.events();
    assert_eq!(events.last().unwrap()["type"], "agent_settled");
    let results = events.iter().filter(|event| event["type"] == "tool_execution_end");
    assert_eq!(results.filter(|event| event["isError"] == true).count(), 1, "{events:?}");
}

#[test]
fn a_second_interrupt_ends_at_once_whatever_the_command_does() {
    let busy = busy("trap 'echo > told' TERM", "while :; do sleep 0.01; done", &[]);
    signal(busy.child.id(), Signal::INT);
    // The first one must have been taken before the second is sent, or the two become one.
    let told = busy.scene.work().join("told");
    until("the command is told to end", || told.exists().then_some(()));
    let started = Instant::now();
    signal(busy.child.id(), Signal::INT);
    assert_eq!(finish(busy.child).code, Some(130));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    until("the command ends", || (!is_alive(busy.command)).then_some(()));
}

#[test]
fn a_termination_takes_less_than_a_second_whatever_the_command_does() {
    let busy = busy("trap '' TERM", "while :; do sleep 0.01; done", &["--no-session"]);
    let started = Instant::now();
    signal(busy.child.id(), Signal::TERM);
    let outcome = finish(busy.child);
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    until("the command ends", || (!is_alive(busy.command)).then_some(()));
    assert_eq!(crate::scene::names(&busy.scene.tmp()), Vec::<String>::new());
}

#[test]
fn a_reader_that_does_not_read_cannot_hold_a_termination_up() {
    let long = "word ".repeat(20_000);
    let scene = Scene::with_script(&json!([{"text": long, "chunkChars": 50}, {"text": "never said"}]));
    let mut child = scene.command(&["-p", "--mode", "json", "--script", "story.json", "x"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 1];
    out.read_exact(&mut first).unwrap();
    until("the pipe is full", || (rustix::io::ioctl_fionread(&out).unwrap() > 56 * 1024).then_some(()));
    let started = Instant::now();
    signal(child.id(), Signal::TERM);
    assert_eq!(finish(child).code, Some(130));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[test]
fn a_reader_that_goes_away_ends_the_run_without_a_word() {
    let long = "word ".repeat(20_000);
    for (mode, code) in [("json", 130), ("text", 0)] {
        let scene = Scene::with_script(&json!([{"text": long}]));
        let mut child = scene.command(&["-p", "--mode", mode, "--script", "story.json", "x"]).spawn().unwrap();
        drop(child.stdout.take());
        let outcome = finish(child);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(code), ""), "{mode}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let scene = Scene::with_script(&json!([{"text": "hello"}]));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = scene.command(&["-p", "--script", "story.json", "x"]);
    let outcome = finish(command.stdout(full).spawn().unwrap());
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("cannot write to standard output"), "{outcome:?}");
}

#[test]
fn an_interrupt_while_the_model_is_silent_closes_the_connection() {
    let server = dryad_testkit::loopback::Loopback::start([dryad_testkit::loopback::Reply::silent()]).unwrap();
    let scene = Scene::with_model("anthropic-messages", &server.url());
    let child = scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "x"]).spawn().unwrap();
    until("the request arrives", || (!server.requests().is_empty()).then_some(()));
    signal(child.id(), Signal::INT);
    assert_eq!(finish(child).code, Some(130));
}

#[test]
fn an_interrupt_while_the_prompt_is_awaited_ends_the_program() {
    let scene = Scene::new();
    let mut child = scene.command(&["-p"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    until("signals are watched", || watches_termination(child.id()).then_some(()));
    signal(child.id(), Signal::TERM);
    assert_eq!(finish(child).code, Some(130));
    drop(stdin);
}

/// Whether the process has a handler for TERM.
fn watches_termination(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap_or_default().trim(), 16).unwrap_or(0);
    caught & (1 << 14) != 0
}

#[test]
fn a_long_answer_that_nobody_reads_cannot_hold_a_termination_up() {
    let scene = Scene::with_script(&json!([{"text": "word ".repeat(40_000)}]));
    let mut child = scene.command(&["-p", "--script", "story.json", "x"]).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    until("the pipe is full", || (rustix::io::ioctl_fionread(&out).unwrap() > 56 * 1024).then_some(()));
    let started = Instant::now();
    signal(child.id(), Signal::TERM);
    assert_eq!(finish(child).code, Some(130));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}
