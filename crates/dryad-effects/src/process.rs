//! Runs one shell command to its end.
//!
//! The command has a process group of its own, no standard input, and one pipe for standard output
//! and standard error, so that what it prints arrives in the order it was written. What is kept in
//! memory is bounded; see [`output`].
//!
//! Nothing needs a hook between fork and exec, not even the floor of [`run_above`], so that the standard library
//! starts the process in the cheap way, which does not copy the memory map of a large program.

mod group;
mod output;
mod program;
#[cfg(test)]
mod tests;

pub use group::kill_all;
pub(crate) use group::{Group, group_lives};
pub use program::{Printed, ProgramEnd, ProgramOutcome, ProgramSpec, run_program};

use crate::artifact::Artifacts;
use crate::landlock::Floor;
use crate::mask::Mask;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandOutput, CommandSpec};
use output::Output;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

/// Background children may hold the pipe open; after the shell's end it is read so long.
const DRAIN: Duration = Duration::from_millis(100);

/// At most one update in this time.
pub(crate) const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes taken from the pipe at once: as many as it holds.
const PIECE: usize = 64 * 1024;

/// Why a command did not start.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The working directory is not there.
    #[error("Working directory does not exist: {}", .0.display())]
    NoDirectory(PathBuf),
    /// The working directory is something else.
    #[error("Working directory is not a directory: {}", .0.display())]
    NotADirectory(PathBuf),
    /// The system refused to start it.
    #[error("cannot start {shell}: {source}")]
    Start {
        /// The shell.
        shell: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Where a command's output goes besides its outcome.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Secrets to cover in everything it prints.
    pub mask: Mask,
    /// Where an output too long to keep in memory goes.
    pub artifacts: Artifacts,
}

/// Runs `spec`. `on_update` gets the output so far, first empty at the start, then at most ten
/// times a second.
///
/// Cancelling or running out of time ends the whole process group: TERM, then KILL after two seconds.
/// Dropping the future kills the group at once. A command that ends by itself leaves its background
/// children alone.
pub async fn run(
    spec: &CommandSpec,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<CommandOutcome, ProcessError> {
    run_above(None, spec, surroundings, cancel, on_update).await
}

/// Runs `spec` as [`run`] does, on a floor: outside the floor's directories it can delete nothing.
pub async fn run_above(
    floor: Option<&Floor>,
    spec: &CommandSpec,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<CommandOutcome, ProcessError> {
    run_noted(floor, spec, surroundings, cancel, on_update, &|_| {}).await
}

/// Runs `spec` as [`run_above`] does; `on_start` is told the leader of its process group.
pub(crate) async fn run_noted(
    floor: Option<&Floor>,
    spec: &CommandSpec,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
    on_start: &(dyn Fn(u32) + Send + Sync),
) -> Result<CommandOutcome, ProcessError> {
    let started = Instant::now();
    if cancel.is_cancelled() {
        return Ok(CommandOutcome { end: CommandEnd::Cancelled, output: CommandOutput::default(), duration_ms: 0 });
    }
    let (mut child, pipe) = start(spec, floor)?;
    let group = Group::of(&child);
    child.id().inspect(|leader| on_start(*leader));
    on_update(String::new());
    let mut stream = Stream::new(pipe, surroundings);
    let deadline = started + Duration::from_secs(spec.timeout_seconds);
    let end = watch(&mut child, &mut stream, deadline, cancel, on_update).await;
    match end {
        CommandEnd::Exited { .. } => {}
        CommandEnd::TimedOut | CommandEnd::Cancelled => stop(&group, &mut child, &mut stream).await,
    }
    stream.drain().await;
    group.release();
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(CommandOutcome { end, output: stream.finish(), duration_ms })
}

/// Whether a process of this number is there.
pub fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Whether a command has a directory to run in.
pub(crate) fn check_directory(spec: &CommandSpec) -> Result<(), ProcessError> {
    let directory = spec.cwd.as_path();
    match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(ProcessError::NotADirectory(directory.to_owned())),
        Err(_) => Err(ProcessError::NoDirectory(directory.to_owned())),
    }
}

fn start(spec: &CommandSpec, floor: Option<&Floor>) -> Result<(Child, Receiver), ProcessError> {
    check_directory(spec)?;
    let start = || -> io::Result<(Child, Receiver)> {
        let (reader, writer) = io::pipe()?;
        let receiver = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut command = Command::new(&spec.shell);
        command
            .arg("-c")
            .arg(&spec.command)
            .current_dir(spec.cwd.as_path())
            .envs(&spec.env)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        let child = match floor {
            Some(floor) => spawn_above(floor, &mut command)?,
            None => command.spawn()?,
        };
        Ok((child, receiver))
    };
    start().map_err(|source| ProcessError::Start { shell: spec.shell.clone(), source })
}

/// Spawns from a thread that stands on the floor: what a thread may not do, the processes it starts may not do.
fn spawn_above(floor: &Floor, command: &mut Command) -> io::Result<Child> {
    let runtime = Handle::current();
    std::thread::scope(|scope| {
        let spawn = move || {
            let _guard = runtime.enter();
            floor.enter()?;
            command.spawn()
        };
        let thread = std::thread::Builder::new().name("floor".to_owned()).spawn_scoped(scope, spawn)?;
        thread.join().map_err(|_| io::Error::other("the thread that starts it panicked"))?
    })
}

/// Reads what the command prints until the shell is gone, its time is up or nobody wants it any more.
///
/// The order matters: a command that never stops printing must not keep the other events waiting.
async fn watch(
    child: &mut Child,
    stream: &mut Stream,
    deadline: Instant,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> CommandEnd {
    let mut deadline = std::pin::pin!(sleep_until(deadline));
    let mut cancelled = std::pin::pin!(cancel.cancelled());
    let mut shown = Instant::now();
    loop {
        tokio::select! {
            biased;
            () = &mut cancelled => return CommandEnd::Cancelled,
            () = &mut deadline => return CommandEnd::TimedOut,
            status = child.wait() => return CommandEnd::Exited { code: exit_code(status) },
            () = sleep_until(shown + UPDATE_INTERVAL), if stream.unseen => {
                on_update(stream.view());
                shown = Instant::now();
            }
            () = stream.read(), if stream.open => {}
        }
    }
}

/// Ends the group while reading on, so that nobody's last words keep him from going.
async fn stop(group: &Group, child: &mut Child, stream: &mut Stream) {
    let mut stopping = std::pin::pin!(group.stop(child));
    loop {
        tokio::select! {
            biased;
            () = &mut stopping => return,
            () = stream.read(), if stream.open => {}
        }
    }
}

fn exit_code(status: io::Result<ExitStatus>) -> i32 {
    // A shell reports a signal the same way.
    status.map_or(-1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// The reading end of the pipe and what came out of it.
pub(crate) struct Stream {
    pipe: Receiver,
    /// Somebody may still write.
    open: bool,
    /// Something came since the last view.
    unseen: bool,
    piece: Vec<u8>,
    output: Output,
}

impl Stream {
    pub(crate) fn new(pipe: Receiver, surroundings: &Surroundings) -> Self {
        Self { pipe, open: true, unseen: false, piece: Vec::new(), output: Output::new(surroundings) }
    }

    /// Whether somebody may still write.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether something came since the last view.
    pub(crate) fn has_news(&self) -> bool {
        self.unseen
    }

    /// Takes what is there, or waits for it. Cancel-safe: nothing is lost when dropped.
    pub(crate) async fn read(&mut self) {
        self.piece.clear();
        self.piece.reserve(PIECE);
        match self.pipe.read_buf(&mut self.piece).await {
            Ok(count) if count > 0 => {
                self.output.push(&self.piece);
                self.unseen = true;
            }
            Ok(_) | Err(_) => self.open = false,
        }
    }

    pub(crate) fn view(&mut self) -> String {
        self.unseen = false;
        self.output.view()
    }

    /// Reads to the end of the stream, but for a moment at most: somebody may hold it open. What the
    /// pipe holds already is taken however late it is.
    pub(crate) async fn drain(&mut self) {
        let until = Instant::now() + DRAIN;
        let mut taken = 0;
        while self.open && (taken < PIECE || Instant::now() < until) {
            if timeout_at(until, self.read()).await.is_err() {
                return;
            }
            taken += self.piece.len();
        }
    }

    /// Everything that came. What a background child prints from now on is read and dropped:
    /// it would otherwise die of a closed pipe.
    pub(crate) fn finish(self) -> CommandOutput {
        if self.open {
            tokio::spawn(discard(self.pipe));
        }
        self.output.finish()
    }
}

/// Reads until the last writer is gone; that, or the end of the runtime, is the end of this task.
async fn discard(mut pipe: Receiver) {
    let mut piece = vec![0; PIECE / 16];
    while pipe.read(&mut piece).await.is_ok_and(|count| count > 0) {}
}
