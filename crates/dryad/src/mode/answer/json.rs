//! The session's header and every event of the run, as one JSON line each.

use super::{Said, play};
use crate::output;
use crate::report::{Exit, Failure};
use crate::signals::Stops;
use crate::wiring::Line;
use dryad_agent::event_sink::EventSink;
use dryad_protocol::event::Event;
use dryad_rpc::frame::encode_frame;
use dryad_safety::mask::Mask;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Runs the prompt and prints its events.
pub(super) async fn run(line: &Line, said: Said<'_>, stops: &Stops) -> Result<Exit, Failure> {
    let sink = Arc::new(JsonLines { mask: line.mask.clone(), cancel: stops.cancel.clone(), failure: Mutex::default() });
    sink.told(encode_frame(said.session.header()));
    let played = play(line, said, sink.clone(), stops).await?;
    let failure = sink.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    match failure {
        None => played.ending(&line.last_error),
        Some(error) => output::unless_closed(&error).and(Err(Failure::cancelled())),
    }
}

/// Writes each event to standard output at once. The first write that fails cancels the run.
struct JsonLines {
    mask: Mask,
    cancel: CancellationToken,
    failure: Mutex<Option<io::Error>>,
}

impl JsonLines {
    /// Writes a line, unless one could not be written before.
    fn told(&self, line: io::Result<Vec<u8>>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none()
            && let Err(error) = line.and_then(|line| self.write(&line))
        {
            *failure = Some(error);
            self.cancel.cancel();
        }
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let mut out = io::stdout().lock();
        out.write_all(self.mask.text(&text).as_bytes())?;
        out.flush()
    }
}

impl EventSink for JsonLines {
    fn emit(&self, event: &Event<'_>) {
        self.told(encode_frame(event));
    }
}
