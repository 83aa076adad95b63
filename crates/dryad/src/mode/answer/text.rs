//! The answer as text: streamed on a terminal, whole at the end in a pipe.

use super::{Nobody, Said, play};
use crate::output;
use crate::report::{Exit, Failure};
use crate::screen::{Detail, Screen, Streams};
use crate::signals::Stops;
use crate::terminal::Style;
use crate::wiring::Line;
use std::io::{self, BufWriter};
use std::sync::Arc;

/// Room for the text of one event.
const TEXT_BUFFER: usize = 16 * 1024;

/// Streams the text, with what tools do on standard error.
pub(super) async fn on_terminal(line: &Line, said: Said<'_>, stops: &Stops) -> Result<Exit, Failure> {
    let streams = Streams {
        text: Box::new(BufWriter::with_capacity(TEXT_BUFFER, io::stdout())),
        activity: Box::new(io::stderr()),
        style: Style::of(&io::stderr()),
    };
    let screen = Arc::new(Screen::new(streams, Detail::Brief, line.mask.clone(), stops.cancel.clone()));
    let played = play(line, said, screen.clone(), stops).await?;
    screen.finish().or_else(|error| output::unless_closed(&error))?;
    played.note_cut();
    played.ending(&line.last_error)
}

/// Prints the last answer's text, and nothing before it is there.
pub(super) async fn piped(line: &Line, said: Said<'_>, stops: &Stops) -> Result<Exit, Failure> {
    let played = play(line, said, Arc::new(Nobody), stops).await?;
    played.verdict(&line.last_error)?;
    let mut text = String::new();
    played.with_answer(|answer| text = answer.text());
    let text = line.mask.text(text.trim_end_matches('\n')).into_owned();
    if !text.is_empty() {
        print(text + "\n").await?;
    }
    played.note_cut();
    played.ending(&line.last_error)
}

/// Prints a text; a long one beside the run, since whoever reads it may be slow.
async fn print(text: String) -> Result<(), Failure> {
    if text.len() < TEXT_BUFFER {
        return output::print(&text);
    }
    let printing = tokio::task::spawn_blocking(move || output::print(&text)).await;
    printing.unwrap_or_else(|error| Err(Failure::failed(format!("cannot write to standard output: {error}"))))
}
