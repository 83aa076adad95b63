//! The program in RPC mode, with a host that hears everything it tells.

use crate::scene::{Scene, until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

/// The program in RPC mode, and everything it has told.
pub(crate) struct Host {
    child: Child,
    input: ChildStdin,
    told: Arc<Mutex<Vec<Value>>>,
    sent: usize,
}

impl Host {
    /// With these arguments besides `--mode rpc`.
    pub(crate) fn start(scene: &Scene, arguments: &[&str]) -> Self {
        Self::start_command(scene.command(&[&["--mode", "rpc"], arguments].concat()))
    }

    pub(crate) fn start_command(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let told: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = told.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                heard.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, input, told, sent: 0 }
    }

    pub(crate) fn send(&mut self, command: &Value) {
        writeln!(self.input, "{command}").unwrap();
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn ask(&mut self, mut command: Value) -> Value {
        self.sent += 1;
        let id = json!(format!("asked-{}", self.sent));
        command["id"] = id.clone();
        self.send(&command);
        until(&command.to_string(), || self.find(|frame| frame["id"] == id && frame["type"] == "response"))
    }

    /// What a command that succeeds carries.
    pub(crate) fn data(&mut self, command: Value) -> Value {
        let answer = self.ask(command);
        assert_eq!(answer["success"], json!(true), "{answer}");
        answer["data"].clone()
    }

    /// Waits for so many events of a kind; the last of them.
    pub(crate) fn wait_for(&self, kind: &str, count: usize) -> Value {
        until(kind, || self.all(kind).get(count - 1).cloned())
    }

    /// All frames of a kind so far.
    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        self.told.lock().unwrap().iter().filter(|frame| frame["type"] == kind).cloned().collect()
    }

    fn find(&self, is_it: impl Fn(&Value) -> bool) -> Option<Value> {
        self.told.lock().unwrap().iter().find(|frame| is_it(frame)).cloned()
    }

    pub(crate) fn prompt(&mut self, text: &str, count: usize) {
        self.send(&json!({"type": "prompt", "message": text}));
        self.wait_for("agent_settled", count);
    }

    /// The host leaves, and the program ends well.
    pub(crate) fn leave(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
