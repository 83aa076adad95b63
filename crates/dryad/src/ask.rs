//! Questions to whoever sits at the terminal.

use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use std::io::{self, IsTerminal as _, Write as _};

/// Asks for yes or no on standard error; nothing when nobody can be asked. The end of the input is a no.
///
/// # Errors
///
/// When the answer cannot be read, or the user cancels.
pub(crate) async fn yes_or_no(question: &str, stops: &Stops) -> Result<Option<bool>, Failure> {
    if !is_possible() {
        return Ok(None);
    }
    loop {
        let answer = words(&format!("{question} [y]es, [n]o: "), stops).await?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" | "q" => return Ok(Some(false)),
            _ if answer.is_empty() => return Ok(Some(false)),
            _ => {}
        }
    }
}

/// Whether somebody sits there.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line on standard error. It is empty at the end of the input, and holds its line break otherwise.
///
/// # Errors
///
/// When it cannot be read, or the user cancels.
pub(crate) async fn words(question: &str, stops: &Stops) -> Result<String, Failure> {
    let mut err = io::stderr();
    err.write_all(question.as_bytes()).and_then(|()| err.flush()).or_else(|error| output::unless_closed(&error))?;
    line(stops).await
}

/// Waits for a line, on a thread of its own: a signal must get through.
///
/// # Errors
///
/// When it cannot be read, or the user cancels.
pub(crate) async fn line(stops: &Stops) -> Result<String, Failure> {
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        read = reading => match read {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) => Err(Failure::failed(format!("the answer cannot be read: {error}"))),
            Err(error) => Err(Failure::failed(format!("the answer cannot be read: {error}"))),
        },
        () = stops.cancel.cancelled() => Err(Failure::cancelled()),
    }
}
