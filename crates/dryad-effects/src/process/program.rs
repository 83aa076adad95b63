//! Runs one program with something on its standard input, and keeps what it prints apart: hooks.
//!
//! It has a process group of its own, so that running out of time ends its children, too. What is kept of each
//! stream is bounded; the rest is read and dropped.

use super::{DRAIN, Group};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Bytes taken from a stream at once.
const PIECE: usize = 16 * 1024;

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    /// The executable.
    pub program: &'a Path,
    /// Where it runs.
    pub cwd: &'a Path,
    /// What it finds on its standard input.
    pub input: &'a [u8],
    /// How long it may take.
    pub limit: Duration,
    /// Of each of its streams so many bytes are kept.
    pub kept_bytes: usize,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct ProgramOutcome {
    /// How.
    pub end: ProgramEnd,
    /// What it wrote to standard output.
    pub output: Printed,
    /// What it wrote to standard error.
    pub errors: Printed,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProgramEnd {
    /// By itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// By a signal.
    Killed {
        /// Which.
        signal: i32,
    },
    /// Its time was up.
    TimedOut,
}

/// What a program wrote to one stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Printed {
    /// The beginning of it.
    pub bytes: Vec<u8>,
    /// Whether that is not all.
    pub cut: bool,
}

/// Runs `spec` to its end. When its time is up the whole process group is ended: TERM, then KILL after two
/// seconds. Dropping the future kills the group at once. A program that ends by itself leaves its background
/// children alone.
///
/// # Errors
///
/// What the system said when it did not start.
pub async fn run_program(spec: &ProgramSpec<'_>) -> io::Result<ProgramOutcome> {
    let until = Instant::now() + spec.limit;
    let mut child = Command::new(spec.program)
        .current_dir(spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = Group::of(&child);
    let (mut output, mut errors) =
        (Capture::new(child.stdout.take(), spec.kept_bytes), Capture::new(child.stderr.take(), spec.kept_bytes));
    let (mut feeding, mut fed) = (std::pin::pin!(feed(child.stdin.take(), spec.input)), false);
    let mut deadline = std::pin::pin!(sleep_until(until));
    let end = loop {
        tokio::select! {
            biased;
            () = &mut deadline => break ProgramEnd::TimedOut,
            status = child.wait() => break ended(status?),
            () = &mut feeding, if !fed => fed = true,
            () = output.read(), if output.is_open() => {}
            () = errors.read(), if errors.is_open() => {}
        }
    };
    match end {
        ProgramEnd::TimedOut => group.stop(&mut child).await,
        ProgramEnd::Exited { .. } | ProgramEnd::Killed { .. } => {}
    }
    // A background child may hold the streams open.
    let until = Instant::now() + DRAIN;
    output.drain(until).await;
    errors.drain(until).await;
    group.release();
    Ok(ProgramOutcome { end, output: output.printed, errors: errors.printed })
}

/// Writes the input and closes it. A program that does not read it is no failure.
async fn feed(input: Option<ChildStdin>, bytes: &[u8]) {
    let Some(mut input) = input else { return };
    if input.write_all(bytes).await.is_ok() {
        input.shutdown().await.ok();
    }
}

fn ended(status: ExitStatus) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited { code },
        (None, signal) => ProgramEnd::Killed { signal: signal.unwrap_or_default() },
    }
}

/// One stream of a program.
struct Capture<R> {
    stream: Option<R>,
    printed: Printed,
    kept: usize,
    /// What came last; not in the future itself, which would carry it along wherever it goes.
    piece: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Capture<R> {
    fn new(stream: Option<R>, kept: usize) -> Self {
        Self { stream, printed: Printed::default(), kept, piece: vec![0; PIECE] }
    }

    fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Takes what is there, or waits for it. Cancel-safe: nothing is lost when dropped.
    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let count = stream.read(&mut self.piece).await.unwrap_or(0);
        let came = self.piece.get(..count).unwrap_or_default();
        let room = self.kept.saturating_sub(self.printed.bytes.len()).min(came.len());
        self.printed.bytes.extend_from_slice(came.get(..room).unwrap_or_default());
        self.printed.cut |= room < came.len();
        if came.is_empty() {
            self.stream = None;
        }
    }

    async fn drain(&mut self, until: Instant) {
        while self.is_open() && timeout_at(until, self.read()).await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn script(directory: &TempDir, text: &str) -> PathBuf {
        let path = directory.path().join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    async fn run(text: &str, input: &[u8], limit: Duration) -> (TempDir, io::Result<ProgramOutcome>) {
        let directory = tempfile::tempdir().unwrap();
        let program = script(&directory, text);
        let spec = ProgramSpec { program: &program, cwd: directory.path(), input, limit, kept_bytes: 1000 };
        // Another thread of the tests may be starting a process just now, which holds the script open for writing.
        let mut outcome = run_program(&spec).await;
        while outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ExecutableFileBusy) {
            tokio::task::yield_now().await;
            outcome = run_program(&spec).await;
        }
        (directory, outcome)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn input_goes_in_and_the_streams_are_kept_apart() {
        let (_place, outcome) = run("cat; echo oh >&2; exit 3", b"{\"a\":1}\n", LONG).await;
        let outcome = outcome.unwrap();
        assert_eq!(outcome.end, ProgramEnd::Exited { code: 3 });
        assert_eq!(
            (outcome.output.bytes.as_slice(), outcome.errors.bytes.as_slice()),
            (&b"{\"a\":1}\n"[..], &b"oh\n"[..])
        );
        assert!(!outcome.output.cut);
    }

    #[tokio::test]
    async fn a_program_that_reads_nothing_and_prints_a_lot_comes_to_its_end() {
        let input = vec![b'x'; 300_000];
        let (_place, outcome) = run("exec 0<&-; head -c 300000 /dev/zero", &input, LONG).await;
        let outcome = outcome.unwrap();
        assert_eq!(outcome.end, ProgramEnd::Exited { code: 0 });
        assert_eq!((outcome.output.bytes.len(), outcome.output.cut), (1000, true));
    }

    #[tokio::test]
    async fn when_its_time_is_up_its_children_end_with_it() {
        let (place, outcome) = run("sleep 1000 & echo $! > child; wait", b"", Duration::from_secs(2)).await;
        assert_eq!(outcome.unwrap().end, ProgramEnd::TimedOut);
        let child = fs::read_to_string(place.path().join("child")).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        assert!(stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])), "{stat}");
    }

    #[tokio::test]
    async fn a_background_child_keeps_nobody_waiting_and_a_signal_is_told() {
        let started = Instant::now();
        let (_place, outcome) = run("sleep 30 & kill -9 $$", b"", LONG).await;
        assert_eq!(outcome.unwrap().end, ProgramEnd::Killed { signal: 9 });
        assert!(started.elapsed() < LONG);
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("missing");
        let spec = ProgramSpec { program: &program, cwd: directory.path(), input: b"", limit: LONG, kept_bytes: 10 };
        assert_eq!(run_program(&spec).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
