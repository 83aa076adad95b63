//! From the bytes of a streamed answer to its deltas.
//!
//! An API gives a [`Decode`]; [`delta_stream`] drives it. Invariants: deltas that came before a
//! failure are delivered before it; after an answer's last event the body is read to its end, as
//! long as that takes no time worth mentioning, so that the connection serves the next turn.

use crate::delta::Delta;
use crate::error::ProviderError;
use crate::http::SseBody;
use crate::provider::DeltaStream;
pub use crate::sse::{Flow, SseEvent};

use crate::sse::SseDecoder;
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt as _};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

const PATIENCE: Patience = Patience { trailers: Duration::from_secs(5), end: Duration::from_millis(250) };

/// How much may follow a last event until the connection is given up.
const DRAIN_BYTES: usize = 64 * 1024;

/// One API's way from events to deltas.
pub trait Decode: Send {
    /// Takes one event and says what to expect after it.
    ///
    /// # Errors
    ///
    /// When the event cannot be understood, or is the server's report of a failure.
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError>;

    /// Takes the end of a body whose last event was not marked as [`Flow::Done`].
    ///
    /// # Errors
    ///
    /// [`ProviderError::StreamBroken`] when the answer is not complete.
    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError>;
}

/// A text inside of an event: borrowed where it has no escapes, also behind an `Option`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// Decodes a streamed answer.
pub fn delta_stream(body: SseBody, decoder: impl Decode + 'static) -> DeltaStream {
    patient_stream(body, decoder, PATIENCE)
}

fn patient_stream(body: SseBody, decoder: impl Decode + 'static, patience: Patience) -> DeltaStream {
    Deltas {
        patience,
        body: Some(body),
        events: SseDecoder::new(),
        decoder: Box::new(decoder),
        queue: VecDeque::new(),
        failure: None,
        drain: None,
    }
    .boxed()
}

/// Reads the JSON of an event.
pub(crate) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ProviderError> {
    serde_json::from_str(data).map_err(|error| {
        let shown: String = data.chars().take(120).collect();
        let more = if shown.len() < data.len() { "…" } else { "" };
        ProviderError::StreamBroken { message: format!("an event cannot be read ({error}): {shown}{more}") }
    })
}

/// The failure of a body that ends before its answer does.
pub(crate) fn ended_early() -> ProviderError {
    ProviderError::StreamBroken { message: "the server ended its answer before it was complete".to_owned() }
}

/// How long to wait once an answer is complete.
#[derive(Clone, Copy)]
struct Patience {
    /// For trailers such as token counts.
    trailers: Duration,
    /// For the end of the body after its last event.
    end: Duration,
}

struct Deltas {
    patience: Patience,
    /// None once the end is reached: the connection is closed or back in the pool.
    body: Option<SseBody>,
    events: SseDecoder,
    decoder: Box<dyn Decode>,
    queue: VecDeque<Delta>,
    failure: Option<ProviderError>,
    /// Bytes that may still follow the last event; none as long as that has not come. Only the
    /// body's end is waited for then.
    drain: Option<usize>,
}

impl Deltas {
    fn take(&mut self, chunk: Option<Result<Bytes, ProviderError>>) {
        let result = match chunk {
            Some(Ok(chunk)) => {
                if let Some(budget) = self.drain {
                    return self.drain(budget.checked_sub(chunk.len()));
                }
                let Self { events, decoder, queue, .. } = self;
                events.feed(&chunk, |event| decoder.event(event, queue))
            }
            // An answer that was complete stays complete, whatever becomes of the connection.
            Some(Err(error)) => self.end().map_err(|_| error),
            None => self.end(),
        };
        match result {
            Ok(Flow::More) => {}
            Ok(Flow::Trailing) => self.hurry(self.patience.trailers),
            Ok(Flow::Done) => {
                self.drain = Some(DRAIN_BYTES);
                self.hurry(self.patience.end);
            }
            Err(error) => {
                self.failure = Some(match self.body.take() {
                    Some(body) => body.redact(error),
                    None => error,
                });
            }
        }
    }

    /// Takes the body's end.
    fn end(&mut self) -> Result<Flow, ProviderError> {
        let Self { events, decoder, queue, .. } = self;
        if self.drain.is_none() && events.finish(|event| decoder.event(event, queue))? != Flow::Done {
            decoder.end(queue)?;
        }
        self.body = None;
        Ok(Flow::More)
    }

    /// Goes on to wait for the body's end, unless the server talks on and on.
    fn drain(&mut self, budget: Option<usize>) {
        match budget {
            Some(_) => self.drain = budget,
            None => self.body = None,
        }
    }

    fn hurry(&mut self, patience: Duration) {
        if let Some(body) = &mut self.body {
            body.hurry(patience);
        }
    }
}

impl Stream for Deltas {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(delta) = this.queue.pop_front() {
                return Poll::Ready(Some(Ok(delta)));
            }
            if let Some(error) = this.failure.take() {
                return Poll::Ready(Some(Err(error)));
            }
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            let chunk = ready!(body.poll_chunk(context));
            this.take(chunk);
        }
    }
}

#[cfg(test)]
mod tests;
