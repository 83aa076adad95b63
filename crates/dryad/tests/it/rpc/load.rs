//! Many commands, long answers, and hosts that do not read.

use crate::scene::{Scene, is_alive, until};
use dryad_rpc::client::{Client, Events};
use dryad_rpc::command::{Command, PromptCommand};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdout};

const LIMIT: Duration = Duration::from_secs(60);

struct Program {
    child: Child,
    scene: Scene,
}

impl Program {
    fn start(script: &Value) -> Self {
        let scene = Scene::with_script(script);
        let mut command = scene.command(&["--mode", "rpc", "--script", "story.json"]);
        command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
        Self { child, scene }
    }

    fn client(&mut self) -> (Client, Events) {
        Client::over(self.child.stdout.take().unwrap(), self.child.stdin.take().unwrap())
    }

    /// Resident memory in kilobytes.
    fn memory(&self) -> u64 {
        kilobytes(self.child.id().unwrap(), "VmRSS:")
    }

    /// The most that ever was resident, in kilobytes.
    fn peak(&self) -> u64 {
        kilobytes(self.child.id().unwrap(), "VmHWM:")
    }

    async fn ended(mut self) -> ExitStatus {
        tokio::time::timeout(LIMIT, self.child.wait()).await.expect("the program does not end").unwrap()
    }
}

/// A figure of a process, as the kernel tells it.
fn kilobytes(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Reads until so many lines have come.
async fn read_lines(stdout: &mut ChildStdout, count: usize) {
    let (mut seen, mut piece) = (0, vec![0; 1 << 20]);
    while seen < count {
        let length = stdout.read(&mut piece).await.unwrap();
        assert!(length > 0, "the program has ended after {seen} lines");
        seen += memchr::memchr_iter(b'\n', &piece[..length]).count();
    }
    assert_eq!(seen, count);
}

fn prompt(message: &str) -> Command {
    Command::Prompt(PromptCommand::Prompt { message: message.to_owned(), images: None, streaming_behavior: None })
}

async fn say(program: &mut Program, lines: &str) {
    program.child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn ten_thousand_commands_in_flight_are_all_answered() {
    let mut program = Program::start(&json!([]));
    let (client, _events) = program.client();
    client.ready().await.unwrap();
    let commands = (0..10_000).map(|number| match number % 100 {
        0 => client.ask(json!({"type": "get_state"})),
        _ => client.ask(json!({"type": "get_last_assistant_text"})),
    });
    let answers = tokio::time::timeout(LIMIT, join_all(commands)).await.unwrap();
    assert_eq!(answers.len(), 10_000);
    assert!(answers.iter().all(Result::is_ok));
    client.close().await.unwrap();
    assert!(program.ended().await.success());
}

#[tokio::test]
async fn memory_stays_flat_over_a_hundred_thousand_calls() {
    let mut program = Program::start(&json!([]));
    let mut stdout = program.child.stdout.take().unwrap();
    read_lines(&mut stdout, 1).await;
    let commands = "{\"id\":\"g\",\"type\":\"get_state\"}\n".repeat(1_000);
    let mut memory = Vec::new();
    for round in 0..100 {
        tokio::join!(say(&mut program, &commands), read_lines(&mut stdout, 1_000));
        if round % 20 == 19 {
            memory.push(program.memory());
        }
    }
    assert!(memory[4] < memory[0] + 1_024, "kilobytes: {memory:?}");
}

#[tokio::test]
async fn a_host_that_asks_without_reading_is_read_no_further_until_it_does() {
    const COMMANDS: usize = 4_000;
    let mut program = Program::start(&json!([]));
    let mut stdout = program.child.stdout.take().unwrap();
    read_lines(&mut stdout, 1).await;
    let (pid, before) = (program.child.id().unwrap(), program.memory());
    let mut stdin = program.child.stdin.take().unwrap();
    let asking = tokio::spawn(async move {
        let commands = "{\"id\":\"g\",\"type\":\"get_state\"}\n".repeat(COMMANDS);
        stdin.write_all(commands.as_bytes()).await.unwrap();
        stdin
    });
    // As much is made ready as may wait, and nothing is read meanwhile.
    let is_full = move || (kilobytes(pid, "VmRSS:") > before + 7 * 1_024).then_some(());
    tokio::task::spawn_blocking(move || until("answers wait", is_full)).await.unwrap();
    tokio::time::timeout(LIMIT, read_lines(&mut stdout, COMMANDS)).await.unwrap();
    assert!(program.peak() < before + 24 * 1_024, "{} after {before}", program.peak());
    drop(asking.await.unwrap());
    assert!(program.ended().await.success());
}

/// An answer of a million characters in two hundred thousand pieces.
fn long_answer() -> (Value, String) {
    let text: String = (0..100_000).map(|number| format!("{number:>9} ")).collect();
    (json!([{ "text": text, "chunkChars": 5 }]), text)
}

#[tokio::test]
async fn an_answer_of_two_hundred_thousand_deltas_is_told_whole_in_few_frames_and_little_memory() {
    let (script, text) = long_answer();
    for mode in ["lean", "full"] {
        let mut program = Program::start(&script);
        let (client, mut events) = program.client();
        client.ready().await.unwrap();
        let before = program.memory();
        client.ask(json!({"type": "set_update_mode", "mode": mode})).await.unwrap();
        client.send(&prompt("go")).await.unwrap();
        let told = tokio::time::timeout(LIMIT, events.until("prompt_result")).await.unwrap();
        let deltas: Vec<&str> =
            told.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str()).collect();
        assert!(deltas.concat() == text);
        assert!(deltas.len() < 20_000, "{} updates", deltas.len());
        // The answer has a megabyte, of which there are a few copies while a frame is made.
        assert!(program.peak() < before + 32 * 1_024, "{mode}: {} after {before}", program.peak());
    }
}

#[tokio::test]
async fn a_host_that_reads_late_gets_everything_and_holds_nothing_up() {
    let (script, text) = long_answer();
    let mut program = Program::start(&script);
    say(&mut program, "{\"id\":\"p\",\"type\":\"prompt\",\"message\":\"go\"}\n").await;
    // Nothing is read until the run is over, which the session's file tells.
    let sessions = program.scene.home().join("sessions");
    let is_stored = move || {
        let directory = std::fs::read_dir(&sessions).ok()?.next()?.ok()?.path();
        let file = std::fs::read_dir(directory).ok()?.next()?.ok()?;
        (file.metadata().ok()?.len() > 400_000).then_some(())
    };
    tokio::task::spawn_blocking(|| until("the session is stored", is_stored)).await.unwrap();
    drop(program.child.stdin.take());
    let mut output = Vec::new();
    let mut stdout: ChildStdout = program.child.stdout.take().unwrap();
    tokio::time::timeout(LIMIT, stdout.read_to_end(&mut output)).await.unwrap().unwrap();
    let frames: Vec<Value> = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let deltas: Vec<&str> =
        frames.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str()).collect();
    assert!(deltas.concat() == text);
    assert!(deltas.len() < 100, "{} updates for a host that does not read", deltas.len());
    assert!(program.ended().await.success());
}

#[tokio::test]
async fn a_host_that_closes_its_end_ends_the_program_and_its_children() {
    for closes_output in [true, false] {
        let mut program = Program::start(&json!([]));
        say(&mut program, "{\"type\":\"bash\",\"command\":\"echo $$ > pid; exec sleep 60\"}\n").await;
        let pid: u32 = {
            let file = program.scene.work().join("pid");
            let read = move || until("the command runs", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
            tokio::task::spawn_blocking(read).await.unwrap()
        };
        if closes_output {
            drop(program.child.stdout.take());
            // The next frame finds nobody.
            say(&mut program, "{\"type\":\"get_state\"}\n").await;
        } else {
            drop(program.child.stdin.take());
        }
        let (child, scene) = (program.child, program.scene);
        let status = Program { child, scene }.ended().await;
        assert!(status.success(), "{status}");
        assert!(!is_alive(pid), "its command still runs");
    }
}

#[tokio::test]
async fn a_line_over_the_limit_is_answered_and_the_next_one_read() {
    let mut program = Program::start(&json!([]));
    let (client, mut events) = program.client();
    client.ready().await.unwrap();
    let long = "x".repeat(dryad_rpc::reader::MAX_FRAME_BYTES);
    let refused = client.ask(json!({"type": "set_session_name", "name": long})).await;
    assert!(refused.unwrap_err().to_string().contains("longer than 67108864 bytes"));
    let large = "y".repeat(300_000);
    client.ask(json!({"type": "set_locale", "locale": large})).await.unwrap();
    assert_eq!(events.next().await.unwrap()["type"], "ready");
}
