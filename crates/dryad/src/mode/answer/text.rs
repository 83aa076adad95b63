//! The answer as text: streamed on a terminal, whole at the end in a pipe.

use super::{Nobody, Said, note_cut, play, verdict, with_answer};
use crate::output;
use crate::report::{Exit, Failure};
use crate::screen::{Detail, Screen, Streams};
use crate::signals::Stops;
use crate::terminal::Style;
use crate::wiring::{Bench, Line};
use std::io::{self, BufWriter};
use std::sync::Arc;

/// Room for the text of one event.
const TEXT_BUFFER: usize = 16 * 1024;

/// Streams the text, with what tools do on standard error.
pub(super) async fn on_terminal(line: &Line, bench: &Bench<'_>, said: Said, stops: &Stops) -> Result<Exit, Failure> {
    let streams = Streams {
        text: Box::new(BufWriter::with_capacity(TEXT_BUFFER, io::stdout())),
        activity: Box::new(io::stderr()),
        style: Style::of(&io::stderr()),
    };
    let screen = Arc::new(Screen::new(streams, Detail::Brief, line.mask.clone(), stops.cancel.clone()));
    let (agent, end) = play(line, bench, screen.clone(), said, stops).await?;
    screen.finish().or_else(|error| output::unless_closed(&error))?;
    note_cut(&agent);
    verdict(end, &line.last_error)
}

/// Prints the last answer's text, and nothing before it is there.
pub(super) async fn piped(line: &Line, bench: &Bench<'_>, said: Said, stops: &Stops) -> Result<Exit, Failure> {
    let (agent, end) = play(line, bench, Arc::new(Nobody), said, stops).await?;
    let exit = verdict(end, &line.last_error)?;
    let mut text = String::new();
    with_answer(&agent, |answer| text = answer.text());
    let text = line.mask.text(text.trim_end_matches('\n')).into_owned();
    if !text.is_empty() {
        print(text + "\n").await?;
    }
    note_cut(&agent);
    Ok(exit)
}

/// Prints a text; a long one beside the run, since whoever reads it may be slow.
async fn print(text: String) -> Result<(), Failure> {
    if text.len() < TEXT_BUFFER {
        return output::print(&text);
    }
    let printing = tokio::task::spawn_blocking(move || output::print(&text)).await;
    printing.unwrap_or_else(|error| Err(Failure::failed(format!("cannot write to standard output: {error}"))))
}
