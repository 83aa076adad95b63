//! Standard output and standard error: the one place that writes to them.
//!
//! A reader that went away is no error worth a word; every other failure is told.

mod stream;

pub(crate) use stream::{JsonList, Stream};

use crate::report::Failure;
use crate::terminal::Style;
use dryad_effects::pager::page;
use std::io::{self, IsTerminal as _, Write as _};

/// Writes a text to standard output, whole.
///
/// # Errors
///
/// When it cannot be written, except that nobody reads it any more.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).or_else(|error| unless_closed(&error))
}

/// Writes a text to standard output; to a person, and if it does not fit the screen, through the pager
/// that `PAGER` names (`less -R` if it names none).
///
/// # Errors
///
/// As [`print`].
pub(crate) fn print_paged(text: &str) -> Result<(), Failure> {
    let out = io::stdout();
    let height = rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_row));
    let is_long = height > 0 && text.lines().count() >= height;
    if !out.is_terminal() || !is_long {
        return print(text);
    }
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.is_empty());
    match page(pager.as_deref().unwrap_or("less -R"), text) {
        true => Ok(()),
        false => print(text),
    }
}

/// Nothing, if `error` is that nobody reads any more, else the failure.
pub(crate) fn unless_closed(error: &io::Error) -> Result<(), Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
    }
}

/// Writes a failure to standard error.
pub(crate) fn report(failure: &Failure) {
    let mut err = io::stderr().lock();
    let text = failure.text(Style::of(&err));
    err.write_all(text.as_bytes()).ok();
}

/// Writes a text to standard error, beside what goes to standard output.
///
/// # Errors
///
/// As [`print`].
pub(crate) fn aside(text: &str) -> Result<(), Failure> {
    io::stderr().lock().write_all(text.as_bytes()).or_else(|error| unless_closed(&error))
}

/// Writes a remark to standard error.
pub(crate) fn note(text: &str) {
    let mut err = io::stderr().lock();
    let mark = Style::of(&err).cyan("note:").into_owned();
    writeln!(err, "{mark} {text}").ok();
}

/// Writes a remark to standard error if a person may be looking.
pub(crate) fn note_on_terminal(text: &str) {
    if io::stderr().is_terminal() {
        note(text);
    }
}

/// Writes a value to standard output as indented JSON.
///
/// # Errors
///
/// As [`print`].
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::failed(format!("no JSON: {error}")))?;
    print(&(text + "\n"))
}
