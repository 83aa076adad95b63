//! Many commands, long answers, and hosts that do not read.

use crate::scene::{Scene, is_alive, until};
use dryad_rpc::client::{Client, Events};
use dryad_rpc::command::{Command, PromptCommand, StateCommand};
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
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    async fn ended(mut self) -> ExitStatus {
        tokio::time::timeout(LIMIT, self.child.wait()).await.expect("the program does not end").unwrap()
    }
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
async fn memory_stays_flat_over_many_calls() {
    let mut program = Program::start(&json!([]));
    let (client, _events) = program.client();
    client.ready().await.unwrap();
    let get_state = Command::State(StateCommand::GetState);
    let mut memory = Vec::new();
    for _ in 0..5 {
        for _ in 0..500 {
            client.send(&get_state).await.unwrap();
        }
        memory.push(program.memory());
    }
    assert!(memory[4] < memory[0] + 2_048, "kilobytes: {memory:?}");
}

/// An answer of a million characters in two hundred thousand pieces.
fn long_answer() -> (Value, String) {
    let text: String = (0..100_000).map(|number| format!("{number:>9} ")).collect();
    (json!([{ "text": text, "chunkChars": 5 }]), text)
}

#[tokio::test]
async fn a_long_answer_is_told_whole_in_few_frames_and_little_memory() {
    let (script, text) = long_answer();
    let mut program = Program::start(&script);
    let (client, mut events) = program.client();
    client.ready().await.unwrap();
    let before = program.memory();
    client.ask(json!({"type": "set_update_mode", "mode": "lean"})).await.unwrap();
    client.send(&prompt("go")).await.unwrap();
    let told = tokio::time::timeout(LIMIT, events.until("prompt_result")).await.unwrap();
    let deltas: Vec<&str> = told.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str()).collect();
    assert!(deltas.concat() == text);
    assert!(deltas.len() < 20_000, "{} updates", deltas.len());
    assert!(program.memory() < before + 64 * 1024, "{} after {before}", program.memory());
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
