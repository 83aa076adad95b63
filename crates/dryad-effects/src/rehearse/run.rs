//! dryad's side of a rehearsal: starts the helper, shows what the command prints, ends it when it must.

use super::calls::Unquit;
use super::channel::{Inbox, send};
use super::helper::NAME;
use super::message::{Answer, Ended, Failure, STOP, Task};
use super::terminal::Loan;
use super::{RehearsalError, RehearsalRequest, Streams};
use crate::process::{Group, ProcessError, Stream, Surroundings, UPDATE_INTERVAL, check_directory};
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandSpec};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as Pair;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How long the inside may take to end everybody before it is ended itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program that acts as the helper.
#[derive(Clone, Debug, Default)]
pub enum Helper {
    /// This one: its `main` calls [`helper_main`](super::helper_main) before all else.
    #[default]
    ThisProgram,
    /// Another one that does so.
    At(PathBuf),
}

/// A rehearsal that is over.
#[derive(Debug)]
pub(super) struct Performance {
    /// What the command did, as anybody would have seen it.
    pub(super) outcome: CommandOutcome,
    /// What was seen from inside.
    pub(super) ended: Ended,
    /// The file system in memory that holds the layers, if they are there.
    pub(super) memory: Option<OwnedFd>,
    /// What the namespaces wait for.
    pub(super) curtain: Curtain,
}

/// Keeps the namespaces of a command that is over. When it is dropped the kernel takes them down, which keeps a processor
/// busy for a while: whoever reads the layers does so first.
#[derive(Debug)]
pub(super) struct Curtain {
    _channel: Channel,
}

/// A helper that was started and waits for its task. It goes when it is dropped without one.
#[derive(Debug)]
pub(super) struct Summoned {
    child: Child,
    output: Receiver,
    channel: Pair,
    streams: Streams,
}

impl Helper {
    /// The program to start.
    pub(super) fn program(&self) -> PathBuf {
        match self {
            Self::ThisProgram => PathBuf::from("/proc/self/exe"),
            Self::At(path) => path.clone(),
        }
    }
}

/// dryad's end of the channel.
#[derive(Debug)]
struct Channel {
    stream: UnixStream,
    inbox: Inbox,
}

impl Channel {
    /// The next answer; nothing when the other end is closed. Cancel-safe: what has arrived is kept.
    async fn next(&mut self) -> io::Result<Option<Answer>> {
        let Self { stream, inbox } = self;
        let stream = &*stream;
        loop {
            if let Some(answer) = inbox.line()? {
                return Ok(Some(answer));
            }
            if !stream.async_io(Interest::READABLE, || inbox.fill(stream)).await? {
                return Ok(None);
            }
        }
    }
}

/// Runs a task to its end; `earlier` are the layers in memory that it goes on with. Dropping the future ends everybody
/// inside at once.
pub(super) async fn perform(
    helper: Summoned,
    task: &Task,
    earlier: Option<BorrowedFd<'_>>,
    spec: &CommandSpec,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<Performance, RehearsalError> {
    let started = Instant::now();
    check_directory(spec)?;
    let loan = if helper.streams == Streams::Own { Loan::new() } else { None };
    // Not before the helper is started, which would pass it on to the command.
    let unquit = loan.as_ref().map(|_| Unquit::new());
    let (mut child, output, mut channel) = helper.take(task, earlier).map_err(RehearsalError::Helper)?;
    let group = Group::of(&child);
    on_update(String::new());
    let mut stream = Stream::new(output, surroundings);
    let deadline = started + Duration::from_secs(spec.timeout_seconds);
    let mut memory = None;
    let watched = watch(&mut channel, &mut stream, deadline, cancel, on_update, &mut memory).await;
    if watched.is_err() {
        group.kill();
        timeout(PATIENCE, child.wait()).await.ok();
    }
    // The helper ends when the kernel has taken the namespaces down; nobody needs to wait for that.
    stream.drain().await;
    drop((loan, unquit));
    group.release();
    let (end, ended) = watched?;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (outcome, curtain) =
        (CommandOutcome { end, output: stream.finish(), duration_ms }, Curtain { _channel: channel });
    Ok(Performance { outcome, ended, memory, curtain })
}

impl Summoned {
    /// Starts the helper for this request's command, before it is known what its task will be: both can be prepared at the
    /// same time. With a terminal nothing comes out of the pipe, whose other end is closed, and the helper belongs to this
    /// process's group, as whoever reads from a terminal must.
    pub(super) fn new(request: &RehearsalRequest) -> io::Result<Self> {
        let (channel, theirs) = Pair::pair()?;
        let (reader, writer) = io::pipe()?;
        let output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut command = Command::new(request.helper.program());
        command.arg0(NAME).envs(&request.command.env).stdin(OwnedFd::from(theirs));
        let child = match request.streams {
            Streams::Own => {
                drop(writer);
                command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).spawn()?
            }
            Streams::Kept => command.stdout(writer.try_clone()?).stderr(writer).process_group(0).spawn()?,
        };
        Ok(Self { child, output, channel, streams: request.streams })
    }

    /// Gives it its task.
    fn take(self, task: &Task, earlier: Option<BorrowedFd<'_>>) -> io::Result<(Child, Receiver, Channel)> {
        let input = (self.streams == Streams::Own).then(rustix::stdio::stdin);
        send(&self.channel, task, &input.into_iter().chain(earlier).collect::<Vec<_>>())?;
        self.channel.set_nonblocking(true)?;
        let channel = Channel { stream: UnixStream::from_std(self.channel)?, inbox: Inbox::default() };
        Ok((self.child, self.output, channel))
    }
}

/// Reads what comes until the end is told. The order matters: a command that never stops printing must not keep
/// the other events waiting.
async fn watch(
    channel: &mut Channel,
    stream: &mut Stream,
    deadline: Instant,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
    memory: &mut Option<OwnedFd>,
) -> Result<(CommandEnd, Ended), RehearsalError> {
    let mut shown = Instant::now();
    let mut stopping: Option<(CommandEnd, Instant)> = None;
    loop {
        let stopped = stopping.is_some();
        let force = stopping.map_or(deadline, |(_, force)| force);
        let end = tokio::select! {
            biased;
            () = cancel.cancelled(), if !stopped => CommandEnd::Cancelled,
            () = sleep_until(force), if stopped => return Err(RehearsalError::Helper(io::ErrorKind::TimedOut.into())),
            () = sleep_until(deadline), if !stopped => CommandEnd::TimedOut,
            answer = channel.next() => {
                match answer.map_err(RehearsalError::Helper)? {
                    Some(Answer::Layer) => *memory = channel.inbox.descriptor(),
                    Some(Answer::Failed(failure)) => return Err(refused(failure)),
                    Some(Answer::Ended(ended)) => {
                        let end = stopping.map_or(CommandEnd::Exited { code: ended.code }, |(end, _)| end);
                        return Ok((end, ended));
                    }
                    None => return Err(RehearsalError::Helper(io::ErrorKind::UnexpectedEof.into())),
                }
                continue;
            }
            () = sleep_until(shown + UPDATE_INTERVAL), if stream.has_news() => {
                on_update(stream.view());
                shown = Instant::now();
                continue;
            }
            () = stream.read(), if stream.is_open() => continue,
        };
        channel.stream.try_write(&[STOP]).map_err(RehearsalError::Helper)?;
        stopping = Some((end, Instant::now() + PATIENCE));
    }
}

fn refused(failure: Failure) -> RehearsalError {
    if failure.shell {
        let shell = failure.step.strip_prefix("start ").unwrap_or(&failure.step).to_owned();
        return ProcessError::Start { shell, source: io::Error::other(failure.reason) }.into();
    }
    RehearsalError::Refused { step: failure.step, reason: failure.reason }
}
