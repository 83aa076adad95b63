//! Sessions of Pi itself: what it wrote is carried on here, and what was written here is carried on there.
//!
//! Needs Node 20 and Pi 0.74.2, which `cargo xtask ci` installs under the target directory;
//! `DRYAD_TEST_PI` names another directory.

use crate::stage::*;
use dryad_protocol::entry::{BranchSummary, EntryBody, ModelChange, TitleSource};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_session::context;
use dryad_session::session::Session;
use dryad_session::stats::{Scope, Stats, TITLE};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pi() -> PathBuf {
    let usual = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join("pi");
    let root = std::env::var_os("DRYAD_TEST_PI").map_or_else(usual, PathBuf::from);
    let package = root.join("node_modules/@earendil-works/pi-coding-agent");
    assert!(package.is_dir(), "Pi is needed in {}: `cargo xtask ci` installs it", root.display());
    package
}

/// A model on the loopback interface: it reads a file at first, and talks from then on.
fn model() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            answer_request(stream, number);
        }
    });
    port
}

fn answer_request(stream: TcpStream, number: usize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() <= 2 {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut request = vec![0; length];
    reader.read_exact(&mut request).unwrap();
    let call = json!([{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "read", "arguments": "{\"path\":\"hello.txt\"}"}}]);
    let (delta, reason) = match number {
        0 => (json!({"role": "assistant", "content": "Looking.", "tool_calls": call}), "tool_calls"),
        _ => (json!({"role": "assistant", "content": format!("Answer {number}.")}), "stop"),
    };
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "mock-a", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    let mut body = chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    body += &chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null);
    body += &chunk(json!([]), usage);
    body += "data: [DONE]\n\n";
    let mut stream = stream;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).ok();
}

/// A directory to work in, with Pi set up to talk to the model.
struct Stage {
    home: Home,
    work: PathBuf,
    sessions: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = Home::new();
        let [work, sessions, agent] = ["work", "pi-sessions", "pi-agent"].map(|name| home.root.path().join(name));
        for directory in [&work, &sessions, &agent] {
            std::fs::create_dir(directory).unwrap();
        }
        std::fs::write(work.join("hello.txt"), "hello from a file\n").unwrap();
        let models = json!({"providers": {"mock": {"baseUrl": format!("http://127.0.0.1:{}/v1", model()),
            "api": "openai-completions", "apiKey": "none", "models": [{"id": "mock-a"}]}}});
        std::fs::write(agent.join("models.json"), models.to_string()).unwrap();
        Self { home, work, sessions }
    }

    fn node(&self, arguments: &[&str]) -> Output {
        let output = Command::new("node")
            .args(arguments)
            .current_dir(&self.work)
            .env("PI_CODING_AGENT_DIR", self.home.root.path().join("pi-agent"))
            .env("PI_OFFLINE", "1")
            .env("HOME", self.home.root.path())
            .stdin(std::process::Stdio::null())
            .output()
            .expect("Node is needed: see the beginning of this file");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Runs a prompt in Pi.
    fn prompt(&self, text: &str, more: &[&str]) {
        let cli = pi().join("dist/cli.js");
        let sessions = self.sessions.to_str().unwrap();
        let mut arguments = vec![cli.to_str().unwrap(), "--model", "mock/mock-a", "--session-dir", sessions];
        arguments.extend(["--no-extensions", "--no-skills", "--no-context-files"]);
        arguments.extend(more);
        arguments.extend(["-p", text]);
        self.node(&arguments);
    }

    /// What Pi makes of a session file.
    fn read_by_pi(&self, file: &Path) -> Value {
        let script = r#"
            const { SessionManager } = await import(process.argv[1]);
            const session = SessionManager.open(process.argv[2]);
            const context = session.buildSessionContext();
            const entries = session.getEntries().map(entry => [entry.type, entry.id, entry.parentId]);
            const labels = session.getEntries().map(entry => session.getLabel(entry.id) ?? null).filter(label => label);
            console.log(JSON.stringify({...context, entries, labels, name: session.getSessionName() ?? null, leaf: session.getLeafId()}));
        "#;
        let module = format!("file://{}", pi().join("dist/index.js").display());
        let output = self.node(&["--input-type=module", "-e", script, &module, file.to_str().unwrap()]);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The messages of a session, without what each program adds for itself.
fn told(messages: &[Value]) -> Vec<Value> {
    let part = |message: &Value| {
        let content = match &message["content"] {
            Value::String(text) => json!([{"type": "text", "text": text}]),
            other => other.clone(),
        };
        json!({"role": message["role"], "content": content, "summary": message["summary"], "stop": message["stopReason"],
            "call": message["toolCallId"], "command": message["command"]})
    };
    messages.iter().map(part).collect()
}

fn told_here(session: &Session) -> Vec<Value> {
    let context = context::build(session);
    assert_eq!(context.problems, []);
    let messages: Vec<_> =
        context.messages.iter().map(|message| serde_json::to_value(message.as_ref()).unwrap()).collect();
    told(&messages)
}

#[test]
fn a_session_made_by_pi_is_carried_on_here_and_there_again() {
    let stage = Stage::new();
    stage.prompt("read hello.txt", &["--tools", "read"]);
    let file = std::fs::read_dir(&stage.sessions).unwrap().next().unwrap().unwrap().path();
    let mut session = stage.home.open(&file).unwrap();
    assert_eq!(session.problems(), []);
    let pi = stage.read_by_pi(&file);
    assert_eq!(told_here(&session), told(pi["messages"].as_array().unwrap()));
    let said = texts(&session);
    assert_eq!((said[0].as_str(), said.last().unwrap().as_str()), ("read hello.txt", "Answer 1."));
    assert!(said[2].contains("hello from a file"));
    let state = context::build(&session).state;
    assert_eq!(state.model(), Some("mock/mock-a"));
    assert_eq!(session.cwd().canonicalize().unwrap(), stage.work.canonicalize().unwrap());

    session.append(user("and here?"), NOW);
    session.append(assistant("here as well"), NOW);
    session.flush().unwrap();
    drop(session);
    stage.prompt("and there again?", &["--session", file.to_str().unwrap()]);
    let session = stage.home.open(&file).unwrap();
    assert_eq!(session.problems(), []);
    let said = texts(&session);
    assert_eq!(said[said.len() - 4..], ["and here?", "here as well", "and there again?", "Answer 2."]);
    assert_eq!(told_here(&session), told(stage.read_by_pi(&file)["messages"].as_array().unwrap()));
}

#[test]
fn whatever_is_written_here_is_read_the_same_by_pi() {
    let stage = Stage::new();
    let mut session = Session::create(&stage.home.places, &stage.work, None, NOW);
    session.append(EntryBody::ModelChange(ModelChange { model: "mock/mock-b".to_owned(), role: None }), NOW);
    session.append(EntryBody::ThinkingLevelChange { thinking_level: ThinkingLevel::High }, NOW);
    session.append(user("one ü \u{2028} \"quoted\""), NOW);
    session.append(calling("c", "read", &json!({"path": "hello.txt"})), NOW);
    let kept = session.append(result("c", "read", "hello"), NOW);
    session.append(message(json!({"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0, "cancelled": false, "truncated": false, "timestamp": 1})), NOW);
    let first = session.append(assistant("two"), NOW);
    session.append(compaction("what came before", &first), NOW);
    session.append(user("three"), NOW);
    session.append(EntryBody::TtsrInjection { injected_rules: vec!["r".to_owned()] }, NOW);
    session.append(EntryBody::Pruning { entry_ids: vec![kept] }, NOW);
    let here = session.append(assistant("four"), NOW);
    let usage = json!({"input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
        "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5}});
    let data = Some(json!({"model": "mock/small", "usage": usage}));
    session.append(EntryBody::Custom { custom_type: TITLE.to_owned(), data }, NOW);
    session.set_label(&first, Some("mark"), NOW).unwrap();
    let summary = BranchSummary { summary: "went elsewhere".to_owned(), ..BranchSummary::default() };
    session.branch_with_summary(Some(&here), summary, NOW).unwrap();
    session.append(user("five"), NOW);
    session.set_name("A name", TitleSource::User, NOW).unwrap();
    session.flush().unwrap();
    let file = session.file().unwrap().to_owned();
    let pi = stage.read_by_pi(&file);
    assert_eq!(told_here(&session), told(pi["messages"].as_array().unwrap()));
    assert_eq!(pi["thinkingLevel"], "high");
    let named = Stats::of(&session, Scope::All, &|_| false).models["mock/small"];
    assert_eq!((named.requests, named.tokens.total, named.cost), (1, 10, 0.5), "what naming it took is counted");
    assert_eq!(
        (&pi["name"], &pi["labels"], &pi["leaf"]),
        (&json!("A name"), &json!(["mark"]), &json!(session.leaf().unwrap()))
    );
    let nodes = session.tree().nodes().iter().map(|node| {
        let parent = session.tree().parent(&node.id).unwrap().map(|parent| parent.id.clone());
        json!([node.id, parent])
    });
    let theirs = pi["entries"].as_array().unwrap().iter().map(|entry| json!([entry[1], entry[2]]));
    assert_eq!(theirs.collect::<Vec<_>>(), nodes.collect::<Vec<_>>());
    drop(session);
    stage.prompt("and you?", &["--session", file.to_str().unwrap()]);
    let session = stage.home.open(&file).unwrap();
    assert_eq!((session.problems(), session.name()), (&[][..], Some("A name")));
    assert_eq!(told_here(&session), told(stage.read_by_pi(&file)["messages"].as_array().unwrap()));
}
