//! One model request and its answer.

use crate::draft::Draft;
use crate::event_sink::EventSink;
use crate::stream_rules::{Seen, Watch};
use dryad_protocol::call::Call;
use dryad_protocol::event::{Event, GuideEvent, MessageEvent};
use dryad_protocol::message::{AssistantMessage, Message, StopReason};
use dryad_protocol::rule::StreamRule;
use dryad_provider::delta::Delta;
use dryad_provider::error::ProviderError;
use dryad_provider::provider::{DeltaStream, Provider};
use dryad_provider::request::Request;
use dryad_safety::clock::Clock;
use futures_util::StreamExt as _;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio_util::sync::CancellationToken;

/// What an aborted message says.
const ABORTED: &str = "Request was aborted";

/// An answer and the calls it makes.
pub(crate) struct Answer {
    /// The answer, always an assistant message.
    pub(crate) message: Arc<Message>,
    /// Why it ended.
    pub(crate) stop_reason: StopReason,
    /// Its calls, in order.
    pub(crate) calls: Vec<Call>,
    /// Why it failed, if it did.
    pub(crate) error: Option<ProviderError>,
    /// The rules that interrupted it.
    pub(crate) interrupted_by: Vec<StreamRule>,
}

/// Asks the model and tells how the answer grows. Failure and cancellation are answers too: what
/// arrived is kept, with the reason.
///
/// Cancelling drops the stream, which closes the connection.
pub(crate) async fn ask(
    provider: &dyn Provider,
    request: Request<'_>,
    sink: &dyn EventSink,
    clock: &Clock,
    watch: &mut Watch,
    cancel: &CancellationToken,
) -> Answer {
    let mut draft = Draft::new(request.model, sink, clock.now());
    let start = Message::Assistant(draft.message().clone());
    sink.emit(&Event::from(MessageEvent::MessageStart { message: &start }));
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => End::Cancelled,
        ended = receive(provider, request, &mut draft, Watcher { watch, sink }, clock, cancel) => ended,
    };
    let (mut failure, mut interrupted_by) = (None, Vec::new());
    match ended {
        End::Complete => {}
        End::Cancelled => draft.fail(StopReason::Aborted, ABORTED.to_owned()),
        End::Failed(error) => {
            draft.fail(StopReason::Error, error.to_string());
            failure = Some(error);
        }
        End::Interrupted(rules) => {
            let names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
            draft.fail(StopReason::Aborted, format!("Interrupted by rule {}", names.join(", ")));
            interrupted_by = rules;
        }
    }
    let (message, calls) = draft.finish(clock.now());
    let stop_reason = settled(&message, &calls);
    let message = Arc::new(Message::Assistant(AssistantMessage { stop_reason, ..message }));
    sink.emit(&Event::from(MessageEvent::MessageEnd { message: &message }));
    Answer { message, stop_reason, calls, error: failure, interrupted_by }
}

enum End {
    Complete,
    Cancelled,
    Failed(ProviderError),
    Interrupted(Vec<StreamRule>),
}

/// A watch, and who is told of what it sees.
struct Watcher<'a> {
    watch: &'a mut Watch,
    sink: &'a dyn EventSink,
}

impl Watcher<'_> {
    /// Looks at one delta; the rules that it must not go on for.
    fn see(&mut self, delta: &Delta) -> Option<Vec<StreamRule>> {
        let seen = self.watch.see(delta);
        let rules = match &seen {
            Seen::Nothing => return None,
            Seen::Noted(rules) | Seen::Interrupt(rules) => rules,
        };
        self.sink.emit(&Event::from(GuideEvent::TtsrTriggered { rules }));
        match seen {
            Seen::Interrupt(rules) => Some(rules),
            Seen::Noted(_) | Seen::Nothing => None,
        }
    }
}

async fn receive(
    provider: &dyn Provider,
    request: Request<'_>,
    draft: &mut Draft<'_>,
    mut watcher: Watcher<'_>,
    clock: &Clock,
    cancel: &CancellationToken,
) -> End {
    let mut stream = match provider.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return End::Failed(error),
    };
    while let Some(delta) = next(&mut stream, draft).await {
        match delta {
            Ok(delta) => {
                draft.note_first_delta(clock);
                let broken = watcher.see(&delta);
                draft.push(delta);
                if let Some(rules) = broken {
                    return End::Interrupted(rules);
                }
            }
            Err(error) => return End::Failed(error),
        }
        // A stream that is always ready would never let go otherwise.
        if cancel.is_cancelled() {
            return End::Cancelled;
        }
    }
    if draft.stopped() {
        End::Complete
    } else {
        End::Failed(ProviderError::StreamBroken { message: "the answer ended without a stop".to_owned() })
    }
}

/// The next delta. Before it has to wait for one, it tells what the draft has grown by.
///
/// Connections hand over a piece at a time, so the next one may be there already and only need a turn
/// to be handed over: what arrived together is told together.
async fn next(stream: &mut DeltaStream, draft: &mut Draft<'_>) -> Option<Result<Delta, ProviderError>> {
    let mut had_turn = !draft.has_untold();
    poll_fn(|context| match stream.poll_next_unpin(context) {
        Poll::Pending if !std::mem::replace(&mut had_turn, true) => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Pending => {
            draft.tell();
            Poll::Pending
        }
        ready => ready,
    })
    .await
}

/// A message with calls asks for tools, whatever the provider called its end.
fn settled(message: &AssistantMessage, calls: &[Call]) -> StopReason {
    match message.stop_reason {
        StopReason::Stop if !calls.is_empty() => StopReason::ToolUse,
        reason => reason,
    }
}
