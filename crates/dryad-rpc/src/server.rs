//! The loop: reads frames, carries commands out one after the other, and lets the rest go on beside.
//!
//! ```text
//! input ─► reader ─► inbound ─┬─► answers to questions and host calls: at once
//!                             ├─► aborts: begun at once, answered in their turn
//!                             └─► queue ─► dispatch ─► response ─► outbox ─► writer ─► output
//! ```
//!
//! Invariants: every command is answered once, before the next one starts, save `bash`, which runs
//! beside; no command is started or read while the host does not take what waits for it. At most
//! [`MAX_WAITING`] commands wait; those beyond are refused at once, so that what overtakes the queue
//! still gets through.

mod staged;

use crate::command::{BashCommand, Command, ContextCommand, PromptCommand};
use crate::data::{Disposed, Disposition};
use crate::desk::Desk;
use crate::dispatch::{Outcome, carry_out};
use crate::frame::{InboundFrame, ParseFailure};
use crate::inbound::Inbound;
use crate::reader::FrameReader;
use crate::response::{Ids, Label, Reply};
use crate::sink::StagedNews;
use crate::wire::LAST_WORDS;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use staged::Asked;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// At most so many commands wait for their turn.
pub const MAX_WAITING: usize = 65_536;

/// Bytes taken from the input at once.
const PIECE: usize = 64 * 1024;

/// When the host has gone, each thing that is left gets so long.
const GRACE: Duration = Duration::from_millis(800);

/// Why the server has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The host has closed its side.
    HostLeft,
    /// The program was told to end.
    Told,
}

/// What can wake the loop.
enum Wake {
    /// Bytes came, none at the end.
    Input(io::Result<usize>),
    /// The command in hand is done.
    Done(Outcome),
    /// The host has taken so much that the next command may start.
    Room,
    /// Something that went on beside is over.
    Beside,
    /// Something was staged or resolved.
    Staged(StagedNews),
    /// Nobody reads what is written.
    Gone,
    /// The program was told to end.
    Quit,
}

/// The server's state.
pub(crate) struct Server {
    desk: Arc<Desk>,
    ids: Ids,
    reader: FrameReader,
    waiting: VecDeque<(Label, Command)>,
    in_hand: Option<(Label, BoxFuture<'static, Outcome>)>,
    /// Runs, commands of the user, questions about what was staged. Ended with the server.
    beside: JoinSet<()>,
    staged: UnboundedReceiver<StagedNews>,
    asked: Asked,
}

impl Server {
    pub(crate) fn new(desk: Arc<Desk>, ids: Ids, staged: UnboundedReceiver<StagedNews>) -> Self {
        Self {
            desk,
            ids,
            reader: FrameReader::default(),
            waiting: VecDeque::new(),
            in_hand: None,
            beside: JoinSet::new(),
            staged,
            asked: Asked::default(),
        }
    }

    /// Serves until the host leaves or the program is told to end, then ends everything that goes on.
    pub(crate) async fn run(mut self, mut input: impl AsyncRead + Unpin, quit: &CancellationToken) -> Ended {
        let mut piece = vec![0; PIECE];
        let ended = loop {
            self.start_waiting();
            match self.wake(&mut input, &mut piece, quit).await {
                Wake::Input(Ok(length)) if length > 0 => {
                    self.reader.push(piece.get(..length).unwrap_or_default());
                    self.take_frames();
                }
                Wake::Input(_) => {
                    let last = std::mem::take(&mut self.reader).finish();
                    last.into_iter().for_each(|frame| self.take(frame));
                    break Ended::HostLeft;
                }
                Wake::Done(outcome) => self.finish_in_hand(outcome),
                Wake::Room | Wake::Beside => {}
                Wake::Staged(news) => self.take_news(news),
                Wake::Gone => break Ended::HostLeft,
                Wake::Quit => break Ended::Told,
            }
        };
        self.desk.dialogs.close();
        self.desk.host_tools.close();
        if ended == Ended::HostLeft {
            tokio::select! {
                () = self.finish_waiting() => {}
                () = quit.cancelled() => {}
            }
        }
        // What hangs on is given up: the writer still has to write what there is.
        tokio::time::timeout(GRACE, self.end()).await.ok();
        ended
    }

    async fn wake(&mut self, input: &mut (impl AsyncRead + Unpin), piece: &mut [u8], quit: &CancellationToken) -> Wake {
        let outbox = &self.desk.outbox;
        let reads = async {
            outbox.has_room().await;
            input.read(piece).await
        };
        let may_start = self.in_hand.is_none() && !self.waiting.is_empty();
        let in_hand = async {
            match &mut self.in_hand {
                Some((_, work)) => work.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = reads => Wake::Input(read),
            outcome = in_hand => Wake::Done(outcome),
            () = outbox.has_room(), if may_start => Wake::Room,
            Some(_) = self.beside.join_next() => Wake::Beside,
            Some(news) = self.staged.recv() => Wake::Staged(news),
            () = outbox.gone() => Wake::Gone,
            () = quit.cancelled() => Wake::Quit,
        }
    }

    fn take_frames(&mut self) {
        while let Some(frame) = self.reader.next_frame() {
            self.take(frame);
        }
    }

    fn take(&mut self, frame: Result<InboundFrame, ParseFailure>) {
        match Inbound::sort(frame, self.ids) {
            Inbound::Ui(response) => self.desk.dialogs.answer(response),
            Inbound::HostTool(answer) => self.desk.host_tools.answer(answer),
            Inbound::Refused(response) => self.desk.outbox.answer(&response),
            Inbound::Command(label, command) => {
                if self.waiting.len() >= MAX_WAITING {
                    let error = format!("{MAX_WAITING} commands wait already");
                    return self.desk.outbox.answer(&label.failure(error));
                }
                self.begin_abort(&command);
                if label.is_prompt() {
                    self.desk.awaited.read();
                }
                self.waiting.push_back((label, command));
                self.start_waiting();
            }
        }
    }

    /// An abort takes effect when it is read, whatever else is being done.
    fn begin_abort(&self, command: &Command) {
        match command {
            Command::Prompt(PromptCommand::Abort | PromptCommand::AbortAndPrompt { .. }) if !self.is_idle() => {
                self.desk.begin_abort();
            }
            Command::Context(ContextCommand::AbortRetry) => self.desk.conversation.abort_retry(),
            Command::Bash(BashCommand::AbortBash) => self.desk.bash.cancel_all(),
            _ => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.in_hand.is_none() && self.waiting.is_empty() && !self.desk.conversation.is_streaming()
    }

    /// Starts commands until one takes its time, or until the host should read first.
    fn start_waiting(&mut self) {
        while self.in_hand.is_none()
            && self.desk.outbox.has_room().now_or_never().is_some()
            && let Some((label, command)) = self.waiting.pop_front()
        {
            let mut work: BoxFuture<'static, Outcome> =
                Box::pin(carry_out(self.desk.clone(), command, label.id.clone()));
            match (&mut work).now_or_never() {
                Some(outcome) => self.settle(label, outcome),
                None => self.in_hand = Some((label, work)),
            }
        }
    }

    fn finish_in_hand(&mut self, outcome: Outcome) {
        if let Some((label, _)) = self.in_hand.take() {
            self.settle(label, outcome);
        }
    }

    /// Answers a command, and starts what follows from it.
    fn settle(&mut self, label: Label, outcome: Outcome) {
        let (desk, ids) = (self.desk.clone(), self.ids);
        let is_owed = label.is_prompt() && desk.awaited.turn_came();
        match outcome {
            Outcome::Answer(reply) => {
                desk.outbox.answer(&label.answer(reply, ids));
                // A prompt that goes on tells it at its end.
                if is_owed {
                    desk.tell_settled();
                }
            }
            Outcome::Start(accepted) => {
                let started = Reply::data(&Disposed { disposition: Disposition::Started });
                desk.outbox.answer(&label.answer(started, ids));
                self.beside.spawn(async move { desk.run(accepted, label).await });
            }
            Outcome::Late { error, retryable } => {
                desk.outbox.answer(&label.success(None));
                desk.outbox.answer(&label.failure(error.clone()));
                desk.prompt_failed(label.id, error, retryable);
            }
            Outcome::Beside(work) => {
                self.beside.spawn(async move {
                    let reply = work.await;
                    desk.outbox.answer(&label.answer(reply, ids));
                });
            }
        }
    }

    /// Carries out what was sent before the host left, as long as it takes what it is answered.
    async fn finish_waiting(&mut self) {
        loop {
            self.start_waiting();
            if self.in_hand.is_none() && self.waiting.is_empty() {
                return;
            }
            // Only what is being done may hang; what is written waits for the host.
            let patience = if self.in_hand.is_some() { GRACE } else { LAST_WORDS };
            let step = async {
                match &mut self.in_hand {
                    // It may wait for a run that nobody else ends any more.
                    Some((_, work)) => Some(tokio::select! {
                        biased;
                        outcome = &mut *work => outcome,
                        () = self.desk.conversation.abort() => work.await,
                    }),
                    None => {
                        self.desk.outbox.has_room().await;
                        None
                    }
                }
            };
            match tokio::time::timeout(patience, step).await {
                Ok(Some(outcome)) => self.finish_in_hand(outcome),
                Ok(None) if self.desk.outbox.gone().now_or_never().is_none() => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Ends everything that goes on.
    async fn end(&mut self) {
        self.desk.bash.cancel_all();
        self.asked.cancel_all();
        self.desk.conversation.abort().await;
        while self.beside.join_next().await.is_some() {}
        self.desk.close_results();
        if let Err(error) = self.desk.conversation.flush() {
            tracing::error!("the session is not stored whole: {error}");
        }
    }
}
