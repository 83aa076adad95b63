//! Runs one shell command to its end.
//!
//! The command has a process group of its own, no standard input, and one pipe for standard output
//! and standard error, so that what it prints arrives in the order it was written. What is kept in
//! memory is bounded; see [`output`].

mod group;
mod output;

pub use group::kill_all;

use crate::artifact::Artifacts;
use crate::mask::Mask;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandSpec};
use group::Group;
use output::Output;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Background children may hold the pipe open; after the shell's end it is read so long.
const DRAIN: Duration = Duration::from_millis(100);

/// At most one update in this time.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

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
/// Dropping the future kills the group at once.
pub async fn run(
    spec: &CommandSpec,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<CommandOutcome, ProcessError> {
    let started = Instant::now();
    let (mut child, mut pipe) = start(spec)?;
    let group = Group::of(&child);
    let mut output = Output::new(surroundings);
    on_update(String::new());
    let deadline = started + Duration::from_secs(spec.timeout_seconds);
    let end = tokio::select! {
        status = watch(&mut child, &mut pipe, &mut output, on_update) => CommandEnd::Exited { code: exit_code(status) },
        () = sleep_until(deadline) => CommandEnd::TimedOut,
        () = cancel.cancelled() => CommandEnd::Cancelled,
    };
    if end == CommandEnd::TimedOut || end == CommandEnd::Cancelled {
        group.stop(&mut child).await;
    }
    drain(&mut pipe, &mut output).await;
    group.release();
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(CommandOutcome { end, output: output.finish(), duration_ms })
}

fn start(spec: &CommandSpec) -> Result<(Child, Receiver), ProcessError> {
    let directory = spec.cwd.as_path();
    match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(ProcessError::NotADirectory(directory.to_owned())),
        Err(_) => return Err(ProcessError::NoDirectory(directory.to_owned())),
    }
    let start = || -> io::Result<(Child, Receiver)> {
        let (reader, writer) = io::pipe()?;
        let child = Command::new(&spec.shell)
            .arg("-c")
            .arg(&spec.command)
            .current_dir(directory)
            .envs(&spec.env)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        Ok((child, Receiver::from_owned_fd(OwnedFd::from(reader))?))
    };
    start().map_err(|source| ProcessError::Start { shell: spec.shell.clone(), source })
}

/// Reads what the command prints until the shell is gone.
async fn watch(
    child: &mut Child,
    pipe: &mut Receiver,
    output: &mut Output,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> io::Result<ExitStatus> {
    let mut piece = vec![0; 64 * 1024];
    let mut open = true;
    let mut shown = Instant::now();
    let mut unseen = false;
    loop {
        tokio::select! {
            biased;
            read = pipe.read(&mut piece), if open => match read {
                Ok(count) if count > 0 => {
                    output.push(piece.get(..count).unwrap_or_default());
                    unseen = true;
                }
                _ => open = false,
            },
            () = sleep_until(shown + UPDATE_INTERVAL), if unseen => {
                on_update(output.view());
                shown = Instant::now();
                unseen = false;
            }
            status = child.wait() => return status,
        }
    }
}

/// Reads what is left in the pipe, as long as somebody holds it open and for a moment at most.
async fn drain(pipe: &mut Receiver, output: &mut Output) {
    let mut piece = vec![0; 64 * 1024];
    let until = Instant::now() + DRAIN;
    loop {
        match tokio::time::timeout_at(until, pipe.read(&mut piece)).await {
            Ok(Ok(count)) if count > 0 => output.push(piece.get(..count).unwrap_or_default()),
            _ => return,
        }
    }
}

fn exit_code(status: io::Result<ExitStatus>) -> i32 {
    // A shell reports a signal the same way.
    status.map_or(-1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}
