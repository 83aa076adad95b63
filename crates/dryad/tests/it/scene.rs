//! A home, a workspace, and the program in them.

use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes, so that a test which waits in vain says so.
const LIMIT: Duration = Duration::from_secs(20);

/// The key that the tests' models are asked with; it must never be seen.
pub(crate) const KEY: &str = "sk-test-4f1d8e7a9b";

/// A home and a workspace of their own. Both are gone when this is dropped.
pub(crate) struct Scene {
    root: tempfile::TempDir,
}

/// What the program did.
#[derive(Debug)]
#[must_use]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    /// A scene whose `models.json` knows one model, `mock/mock-1`, at this address.
    pub(crate) fn with_model(api: &str, base_url: &str) -> Self {
        let scene = Self::new();
        let model = json!({"id": "mock-1", "input": ["text", "image"], "cost": {"input": 1, "output": 2}});
        let provider = json!({"baseUrl": base_url, "api": api, "apiKey": KEY, "models": [model]});
        scene.write_home("models.json", &json!({"providers": {"mock": provider}}).to_string());
        scene
    }

    /// A scene with a script to play: `--script story.json`.
    pub(crate) fn with_script(steps: &Value) -> Self {
        let scene = Self::new();
        scene.write("story.json", json!({"steps": steps}).to_string());
        scene
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home/.dryad")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    /// Where the program puts what is temporary.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        write(&self.work().join(name), bytes.as_ref());
    }

    pub(crate) fn write_home(&self, name: &str, text: &str) {
        write(&self.home().join(name), text.as_bytes());
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// The program with these arguments, nothing on its input, and a clean environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.work(), arguments)
    }

    /// The same in another directory.
    pub(crate) fn command_in(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        self.prepare(command.args(arguments), directory);
        command
    }

    /// The program with these arguments as somebody sits before it: the terminal it gets is its own, so that its keys
    /// are for one group of processes at a time.
    pub(crate) fn command_at_terminal(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        self.prepare(command.args(["--ctty", "--wait"]).arg(program()).args(arguments), &self.work());
        command
    }

    fn prepare(&self, command: &mut Command, directory: &Path) {
        command
            .env_clear()
            .env("HOME", self.root.path().join("home"))
            .env("TMPDIR", self.tmp())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        finish(self.command(arguments).spawn().unwrap())
    }

    /// Runs bound by the permissions of files, as root is only without some of its powers.
    pub(crate) fn run_bound(&self, arguments: &[&str]) -> Outcome {
        if !rustix::process::geteuid().is_root() {
            return self.run(arguments);
        }
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search"]).arg(program()).args(arguments);
        self.prepare(&mut command, &self.work());
        finish(command.spawn().unwrap())
    }

    /// Runs with this on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        finish(child)
    }

    /// Answers a prompt with the model of [`Scene::with_model`].
    pub(crate) fn ask(&self, more: &[&str]) -> Outcome {
        self.run(&[&["-p", "--provider", "mock", "--model", "mock-1"], more].concat())
    }

    /// Answers a prompt with the script of [`Scene::with_script`].
    pub(crate) fn play(&self, more: &[&str]) -> Outcome {
        self.run(&[&["-p", "--script", "story.json"], more].concat())
    }
}

/// The program, or the copy of it that this user may run.
fn program() -> PathBuf {
    std::env::var_os("DRYAD_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_dryad").into()).into()
}

impl Outcome {
    /// Checks that everything went well and returns what was printed.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Checks the exit code, that nothing was printed, and returns the complaint.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        self.stderr
    }

    /// The events of `--mode json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// Waits for the program's end; one that does not come fails the test.
pub(crate) fn finish(child: Child) -> Outcome {
    let id = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(LIMIT).unwrap_or_else(|_| {
        signal(id, rustix::process::Signal::KILL);
        panic!("the program does not end")
    });
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

pub(crate) fn signal(id: u32, signal: rustix::process::Signal) {
    rustix::process::kill_process(pid(id), signal).ok();
}

/// Whether the process is there and no zombie.
pub(crate) fn is_alive(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Waits until `condition` gives something.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(started.elapsed() < LIMIT, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn pid(id: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}
