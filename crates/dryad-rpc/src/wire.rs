//! The wire as the program uses it: made first, given to the parts that talk to the host, then served.

use crate::desk::{Awaited, Desk, Results};
use crate::dialog::Dialogs;
use crate::event::WireEvent;
use crate::extension::ExtensionErrors;
use crate::handler::bash::BashRuns;
use crate::handler::state::ToldState;
use crate::host_tool::HostTools;
use crate::outbox::Outbox;
use crate::program::Program;
use crate::response::Ids;
use crate::server::{Ended, Server};
use crate::sink::{StagedNews, WireSink};
use crate::writer::write_from;
use dryad_agent::conversation::Conversation;
use dryad_safety::clock::Clock;
use dryad_safety::mask::Mask;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A host that has closed its side and takes nothing for so long gets no more.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(10);

/// How often it is looked whether the host has taken anything.
const LOOK: Duration = Duration::from_millis(100);

/// How long it is waited at the end.
const PATIENCE: Patience = Patience { without_a_byte: LAST_WORDS, when_told: Duration::from_secs(1) };

/// How long it is waited at the end.
#[derive(Clone, Copy)]
struct Patience {
    /// For a host that has closed its side and takes nothing.
    without_a_byte: Duration,
    /// In all, when the program was told to end or nobody reads.
    when_told: Duration,
}

/// How the wire behaves where clients differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireSettings {
    /// How much an answer to what could not be done says.
    pub ids: Ids,
    /// Whether the host is told the title of the window.
    pub emits_titles: bool,
}

/// The wire to the host.
pub struct Wire {
    settings: WireSettings,
    outbox: Outbox,
    dialogs: Dialogs,
    host_tools: HostTools,
    sink: Arc<WireSink>,
    staged: UnboundedReceiver<StagedNews>,
}

/// What is served.
pub struct Served {
    /// The conversation, whose events go to the wire's sink.
    pub conversation: Conversation,
    /// What only the program can do.
    pub program: Arc<dyn Program>,
    /// Where the time comes from.
    pub clock: Clock,
    /// The program's version, for the first frame.
    pub version: String,
}

impl Wire {
    /// A wire that covers these secrets in everything it carries.
    pub fn new(mask: Mask, settings: WireSettings) -> Self {
        let outbox = Outbox::new(mask);
        let (sender, staged) = unbounded_channel();
        Self {
            settings,
            dialogs: Dialogs::new(outbox.clone(), settings.emits_titles),
            host_tools: HostTools::new(outbox.clone()),
            sink: Arc::new(WireSink::new(outbox.clone(), sender)),
            outbox,
            staged,
        }
    }

    /// Where the conversation's events go.
    pub fn sink(&self) -> Arc<WireSink> {
        self.sink.clone()
    }

    /// Questions to the host's user, for gates and tools that ask.
    pub fn dialogs(&self) -> Dialogs {
        self.dialogs.clone()
    }

    /// Where failures of hooks are told.
    pub fn extension_errors(&self) -> ExtensionErrors {
        ExtensionErrors::new(self.outbox.clone())
    }

    /// Serves a host until it leaves or the program is told to end. Everything that went on is ended then,
    /// and what waits for the host is written if it takes it.
    pub async fn serve(
        self,
        served: Served,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin + Send + 'static,
        quit: &CancellationToken,
    ) -> Ended {
        let Self { settings, outbox, dialogs, host_tools, staged, .. } = self;
        let Served { conversation, program, clock, version } = served;
        outbox.send(&WireEvent::Ready { version });
        let writer = tokio::spawn({
            let outbox = outbox.clone();
            async move {
                if let Err(error) = write_from(&outbox, output).await {
                    tracing::info!("the host does not read any more: {error}");
                }
            }
        });
        let bash = BashRuns::default();
        let tools = host_tools.clone();
        conversation.when_equipped(move |pipeline| tools.equip(pipeline));
        let (results, outbox_of_desk) = (Results::default(), outbox.clone());
        let desk = Desk {
            conversation,
            outbox: outbox_of_desk,
            dialogs,
            host_tools,
            program,
            clock,
            bash,
            results,
            awaited: Awaited::default(),
            told_state: ToldState::default(),
        };
        let ended = Server::new(Arc::new(desk), settings.ids, staged).run(input, quit).await;
        outbox.close();
        last_words(&outbox, writer, (ended, quit), PATIENCE).await;
        ended
    }
}

/// Waits until what is left is written: as long as the host takes anything, or for a short while when the program
/// was told to end or nobody reads.
async fn last_words(
    outbox: &Outbox,
    mut writer: JoinHandle<()>,
    (ended, quit): (Ended, &CancellationToken),
    patience: Patience,
) {
    let (mut taken, mut since) = (outbox.taken(), Instant::now());
    let mut told = ended == Ended::Told;
    while tokio::time::timeout(LOOK, &mut writer).await.is_err() {
        if !told && quit.is_cancelled() {
            (told, since) = (true, Instant::now());
        }
        if !told && outbox.taken() != taken {
            (taken, since) = (outbox.taken(), Instant::now());
        }
        let limit = if told || outbox.is_gone() { patience.when_told } else { patience.without_a_byte };
        if since.elapsed() >= limit {
            return writer.abort();
        }
    }
}

#[cfg(test)]
mod tests;
