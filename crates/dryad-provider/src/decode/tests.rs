//! Answers that end well, end early, break, or go on too long.

use super::*;
use dryad_protocol::message::StopReason;
use futures_util::stream;

/// Each event is a text delta; `.` stops, `!` is the last, `x` fails.
struct Plain {
    has_stopped: bool,
}

impl Decode for Plain {
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        match event.data {
            "." => {
                self.has_stopped = true;
                Ok(Flow::Trailing)
            }
            "!" => {
                out.push_back(Delta::Stop(StopReason::Stop));
                Ok(Flow::Done)
            }
            "x" => Err(ended_early()),
            text => {
                out.push_back(Delta::Text(text.to_owned()));
                Ok(Flow::More)
            }
        }
    }

    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        if !self.has_stopped {
            return Err(ended_early());
        }
        out.push_back(Delta::Stop(StopReason::Stop));
        Ok(())
    }
}

fn plain(body: impl Stream<Item = Result<Bytes, ProviderError>> + Send + 'static) -> DeltaStream {
    let short = Patience { trailers: Duration::from_millis(20), end: Duration::from_millis(20) };
    patient_stream(SseBody::new(body), Plain { has_stopped: false }, short)
}

fn ready(chunks: &[&'static str]) -> impl Stream<Item = Result<Bytes, ProviderError>> + Send + use<> {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))).collect();
    stream::iter(chunks)
}

fn lost() -> ProviderError {
    ProviderError::StreamBroken { message: "lost".to_owned() }
}

async fn collect(deltas: DeltaStream) -> Vec<Result<Delta, ProviderError>> {
    deltas.collect().await
}

fn text(text: &str) -> Result<Delta, ProviderError> {
    Ok(Delta::Text(text.to_owned()))
}

const STOP: Result<Delta, ProviderError> = Ok(Delta::Stop(StopReason::Stop));

#[tokio::test]
async fn deltas_before_a_failure_are_delivered() {
    assert_eq!(collect(plain(ready(&["data: a\n\ndata: x\n\ndata: b\n\n"]))).await, [text("a"), Err(ended_early())]);
}

#[tokio::test]
async fn a_body_that_ends_early_is_broken() {
    assert_eq!(collect(plain(ready(&["data: a\n\n"]))).await, [text("a"), Err(ended_early())]);
}

#[tokio::test]
async fn a_broken_connection_after_the_stop_does_no_harm() {
    let body = ready(&["data: a\n\ndata: .\n\n"]).chain(stream::iter([Err(lost())]));
    assert_eq!(collect(plain(body)).await, [text("a"), STOP]);
}

#[tokio::test]
async fn a_broken_connection_before_the_stop_is_told() {
    let body = ready(&["data: a\n\n"]).chain(stream::iter([Err(lost())]));
    assert_eq!(collect(plain(body)).await, [text("a"), Err(lost())]);
}

#[tokio::test]
async fn a_server_that_keeps_the_connection_open_after_the_stop_is_not_waited_for() {
    let body = ready(&["data: a\n\ndata: .\n\n"]).chain(stream::pending());
    assert_eq!(collect(plain(body)).await, [text("a"), STOP]);
    let body = ready(&["data: a\n\ndata: !\n\n"]).chain(stream::pending());
    assert_eq!(collect(plain(body)).await, [text("a"), STOP]);
}

#[tokio::test]
async fn a_server_that_talks_on_after_the_last_event_is_left() {
    let body = ready(&["data: !\n\n"]).chain(stream::repeat_with(|| Ok(Bytes::from_static(&[b' '; 1024]))));
    assert_eq!(collect(plain(body)).await, [STOP]);
}

#[test]
fn garbage_is_shown_in_short() {
    let error = parse::<u32>(&"ü".repeat(500)).unwrap_err().to_string();
    assert!(
        error.starts_with("stream broken: an event cannot be read (expected value at line 1 column 1): üü"),
        "{error}"
    );
    assert!(error.chars().count() < 250, "{error}");
}
