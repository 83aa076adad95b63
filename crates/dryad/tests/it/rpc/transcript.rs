//! A conversation between a host and the program, as a text that can be read and played.
//!
//! | line | meaning |
//! |---|---|
//! | `# …` | a remark |
//! | `script […]` | the steps of the scripted model |
//! | `answer [{…}]` | the events of one answer of a model on loopback, whose address is `$server` |
//! | `refusal N {…}` | the status and the body of an answer of that model that is none |
//! | `file NAME "…"` | a file of the workspace |
//! | `setting {…}`, `home NAME {…}` | the user's settings, another file of the user's |
//! | `env NAME=VALUE`, `args …` | how the program is started |
//! | `> {…}` | sent when everything above was received |
//! | `raw "…"`, `hex …` | sent as it is, a line feed behind it |
//! | `< {…}` | received next, but for frames that only accompany others |
//! | `<~ {…}` | received next; several of these in any order |
//! | `exactly "…"` | received next, byte for byte |
//! | `deltas "…"` | the next deltas together |
//! | `strict TYPE` | frames of this type do not only accompany others here: each is expected |
//! | `check NAME "…"`, `missing NAME` | what the workspace holds by then |
//! | `close`, `term` | the host closes its side, or sends a signal |
//! | `nonsense` | what is sent need not follow the schema |
//! | `exit N` | the program ends so, and has said nothing more |

use super::pattern::{Names, filled, fits};
use crate::apis::events;
use crate::scene::{Scene, signal};
use dryad_rpc::schema;
use dryad_testkit::loopback::{Loopback, Reply};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than any answer here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// Frames that may come between those that are expected.
const COMPANIONS: [&str; 20] = [
    "message_update",
    "tool_execution_update",
    "queue_update",
    "agent_settled",
    "prompt_result",
    "session_settled",
    "compaction_start",
    "compaction_end",
    "safety_warning",
    "operation_recorded",
    "operation_undone",
    "pending_action_added",
    "pending_action_resolved",
    "permission_request",
    "permission_resolved",
    "checkpoint_request",
    "checkpoint_resolved",
    "bash_update",
    "todo_reminder",
    "ready",
];

/// A conversation that can be played.
pub(super) struct Transcript {
    steps: Vec<(usize, Step)>,
}

enum Step {
    Script(Value),
    File(String, String),
    Setting(Value),
    Home(String, Value),
    Answer(Vec<Value>),
    Refusal(u16, String),
    Environment(String, String),
    Arguments(Vec<String>),
    Send(Value),
    Bytes(Vec<u8>),
    Receive(Value),
    ReceiveAny(Vec<Value>),
    Exactly(String),
    Strict(String),
    Deltas(String),
    Check(String, Option<String>),
    Close,
    Terminate,
    Exit(i32),
    Nonsense,
}

/// The published schemas.
static INBOUND: LazyLock<Validator> = LazyLock::new(|| jsonschema::validator_for(&schema::inbound()).unwrap());
static OUTBOUND: LazyLock<Validator> = LazyLock::new(|| jsonschema::validator_for(&schema::outbound()).unwrap());

fn check(validator: &Validator, frame: &Value) -> Result<(), String> {
    match validator.validate(frame) {
        Ok(()) => Ok(()),
        Err(_) => Err(format!("not as the schema says: {frame}")),
    }
}

impl Transcript {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut steps: Vec<(usize, Step)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let at = |problem: serde_json::Error| format!("line {}: {problem}", index + 1);
            let json = || serde_json::from_str::<Value>(rest).map_err(at);
            let step = match word {
                "" | "#" => continue,
                "<~" => match steps.last_mut() {
                    Some((_, Step::ReceiveAny(frames))) => {
                        frames.push(json()?);
                        continue;
                    }
                    _ => Step::ReceiveAny(vec![json()?]),
                },
                "script" => Step::Script(json()?),
                "answer" => Step::Answer(serde_json::from_str(rest).map_err(at)?),
                "refusal" => {
                    let (status, body) = rest.split_once(' ').unwrap();
                    Step::Refusal(status.parse().unwrap(), body.to_owned())
                }
                "setting" => Step::Setting(json()?),
                "home" => {
                    let (name, content) = rest.split_once(' ').unwrap();
                    Step::Home(name.to_owned(), serde_json::from_str(content).map_err(at)?)
                }
                ">" => Step::Send(json()?),
                "<" => Step::Receive(json()?),
                "exactly" => Step::Exactly(serde_json::from_str(rest).map_err(at)?),
                "strict" => Step::Strict(rest.to_owned()),
                "deltas" => Step::Deltas(serde_json::from_str(rest).map_err(at)?),
                "raw" => Step::Bytes(serde_json::from_str::<String>(rest).map_err(at)?.into_bytes()),
                "hex" => Step::Bytes(rest.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()),
                "args" => Step::Arguments(rest.split(' ').map(str::to_owned).collect()),
                "file" | "check" => {
                    let (name, content) = rest.split_once(' ').unwrap();
                    let content = serde_json::from_str(content).map_err(at)?;
                    match word {
                        "file" => Step::File(name.to_owned(), content),
                        _ => Step::Check(name.to_owned(), Some(content)),
                    }
                }
                "missing" => Step::Check(rest.to_owned(), None),
                "env" => {
                    let (name, value) = rest.split_once('=').unwrap();
                    Step::Environment(name.to_owned(), value.to_owned())
                }
                "nonsense" => Step::Nonsense,
                "close" => Step::Close,
                "term" => Step::Terminate,
                "exit" => Step::Exit(rest.parse().unwrap()),
                other => return Err(format!("line {}: `{other}` means nothing", index + 1)),
            };
            steps.push((index + 1, step));
        }
        Ok(Self { steps })
    }

    /// Plays it; what goes otherwise is told with its line.
    pub(super) fn play(&self) -> Result<(), String> {
        let scene = Scene::new();
        let mut host = Host::start(&scene, &self.steps);
        for (line, step) in &self.steps {
            host.step(&scene, step).map_err(|problem| format!("line {line}: {problem}"))?;
        }
        Ok(())
    }
}

/// The program and everything that was received from it.
struct Host {
    program: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    names: Names,
    /// The last frames, for the report.
    seen: Vec<String>,
    /// Whether what is sent follows the published schema.
    sends_sense: bool,
    /// Frames that may come between those that are expected.
    companions: Vec<&'static str>,
    /// The model on loopback.
    _server: Option<Loopback>,
}

impl Host {
    fn start(scene: &Scene, steps: &[(usize, Step)]) -> Self {
        let mut arguments = vec!["--mode".to_owned(), "rpc".to_owned()];
        let mut names = Names::new();
        names.insert("$work".to_owned(), json!(scene.work()));
        let server = server(steps);
        names.extend(server.iter().map(|server| ("$server".to_owned(), json!(server.url()))));
        for (_, step) in steps {
            match step {
                Step::Script(script) => {
                    scene.write("story.json", json!({ "steps": script }).to_string());
                    arguments.extend(["--script".to_owned(), "story.json".to_owned()]);
                }
                Step::File(name, content) => scene.write(name, content),
                Step::Setting(settings) => scene.write_home("settings.json", &settings.to_string()),
                Step::Home(name, content) => scene.write_home(name, &filled(content, &names).to_string()),
                Step::Arguments(more) => arguments.extend(more.iter().cloned()),
                _ => {}
            }
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = scene.command(&arguments);
        for (_, step) in steps {
            if let Step::Environment(name, value) = step {
                command.env(name, value);
            }
        }
        let mut program = command.stdin(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(program.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let input = program.stdin.take();
        let sends_sense = !steps.iter().any(|(_, step)| matches!(step, Step::Nonsense));
        let is_strict = |kind: &str| steps.iter().any(|(_, step)| matches!(step, Step::Strict(of) if of == kind));
        let companions = COMPANIONS.into_iter().filter(|kind| !is_strict(kind)).collect();
        Self { program, input, lines, names, seen: Vec::new(), sends_sense, companions, _server: server }
    }

    fn step(&mut self, scene: &Scene, step: &Step) -> Result<(), String> {
        match step {
            Step::Script(_) | Step::File(..) | Step::Setting(_) | Step::Home(..) | Step::Answer(_) => Ok(()),
            Step::Refusal(..) | Step::Environment(..) | Step::Arguments(_) => Ok(()),
            Step::Strict(_) | Step::Nonsense => Ok(()),
            Step::Send(frame) => {
                let frame = filled(frame, &self.names);
                if self.sends_sense {
                    check(&INBOUND, &frame)?;
                }
                self.send(frame.to_string().as_bytes())
            }
            Step::Bytes(bytes) => self.send(bytes),
            Step::Receive(pattern) => self.receive(&mut vec![pattern.clone()]),
            Step::ReceiveAny(patterns) => self.receive(&mut patterns.clone()),
            Step::Exactly(line) => self.exactly(line),
            Step::Deltas(text) => self.deltas(text),
            Step::Check(name, content) => {
                let found = std::fs::read_to_string(scene.work().join(name)).ok();
                if found == *content { Ok(()) } else { Err(format!("{name} holds {found:?}")) }
            }
            Step::Close => {
                self.input = None;
                Ok(())
            }
            Step::Terminate => {
                signal(self.program.id(), rustix::process::Signal::TERM);
                Ok(())
            }
            Step::Exit(code) => self.exit(*code),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("the host has closed its side")?;
        input.write_all(bytes).and_then(|()| input.write_all(b"\n")).map_err(|error| error.to_string())
    }

    fn receive(&mut self, patterns: &mut Vec<Value>) -> Result<(), String> {
        while !patterns.is_empty() {
            let frame = self.next()?;
            let fitting = patterns.iter().position(|pattern| {
                let mut names = self.names.clone();
                let is_fitting = fits(&filled(pattern, &self.names), &frame, &mut names);
                if is_fitting {
                    self.names = names;
                }
                is_fitting
            });
            match fitting {
                Some(position) => drop(patterns.remove(position)),
                None if self.is_companion(&frame) => {}
                None => return Err(format!("expected {}\n  received {frame}", json!(patterns))),
            }
        }
        Ok(())
    }

    fn exactly(&mut self, expected: &str) -> Result<(), String> {
        loop {
            let (line, frame) = self.next_line()?;
            if line == expected {
                return Ok(());
            }
            if !self.is_companion(&frame) {
                return Err(format!("expected {expected}\n  received {line}"));
            }
        }
    }

    fn is_companion(&self, frame: &Value) -> bool {
        self.companions.iter().any(|kind| frame["type"] == *kind)
    }

    fn deltas(&mut self, text: &str) -> Result<(), String> {
        let mut told = String::new();
        while told != text {
            let frame = self.next()?;
            match frame["assistantMessageEvent"]["delta"].as_str() {
                Some(delta) => told.push_str(delta),
                None if frame["type"] == "message_update" => {}
                None => return Err(format!("told {told:?}, then {frame}")),
            }
            if !text.starts_with(&told) {
                return Err(format!("told {told:?}"));
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Value, String> {
        Ok(self.next_line()?.1)
    }

    fn next_line(&mut self) -> Result<(String, Value), String> {
        let line = self.lines.recv_timeout(LIMIT).map_err(|error| {
            let last = self.seen.iter().rev().take(4).rev().cloned().collect::<Vec<_>>().join("\n  ");
            match error {
                RecvTimeoutError::Timeout => format!("nothing came for {LIMIT:?}, after\n  {last}"),
                RecvTimeoutError::Disconnected => format!("the program has ended, after\n  {last}"),
            }
        })?;
        self.seen.push(line.chars().take(300).collect());
        let frame = serde_json::from_str(&line).map_err(|error| format!("no frame: {error}: {line}"))?;
        check(&OUTBOUND, &frame)?;
        Ok((line, frame))
    }

    fn exit(&mut self, code: i32) -> Result<(), String> {
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => {
                    let frame: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
                    if !self.is_companion(&frame) {
                        return Err(format!("received {frame}"));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err("the program does not end".to_owned()),
            }
        }
        let status = self.program.wait().map_err(|error| error.to_string())?;
        if status.code() == Some(code) { Ok(()) } else { Err(format!("it ended with {status}")) }
    }
}

/// A server that gives the answers of a transcript, if it has any.
fn server(steps: &[(usize, Step)]) -> Option<Loopback> {
    let answers = steps.iter().filter_map(|(_, step)| match step {
        Step::Answer(given) => Some(Reply::sse(events(given.iter().cloned()))),
        Step::Refusal(status, body) => Some(Reply::json(*status, body.as_str())),
        _ => None,
    });
    let answers: Vec<Reply> = answers.collect();
    (!answers.is_empty()).then(|| Loopback::start(answers).unwrap())
}

impl Drop for Host {
    fn drop(&mut self) {
        self.input = None;
        // It has ended already, but for a transcript that failed.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}
