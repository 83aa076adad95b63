//! What a person sees of a run: the model's text as it comes, one line per tool call, the
//! difference an edit made.
//!
//! Text and activity may go to two streams (print mode: standard output and standard error) or to
//! one (the demo). Invariant: nothing a tool or a model prints can steer the terminal, and a known
//! key is covered even when it comes in pieces.

mod resolution;
mod summary;

pub(crate) use summary::summary;

use crate::terminal::{Style, harmless};
use dryad_agent::event_sink::EventSink;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::{Event, Growth, MessageEvent, SafetyEvent, ToolEvent};
use dryad_safety::mask::{Mask, MaskStream};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// How much of what tools give back is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Detail {
    /// Differences, and the first line of a failure.
    Brief,
    /// Also the first lines of every result.
    Results,
}

/// The tool that applies or discards what was staged.
const RESOLVE: &str = "resolve";

/// Lines of a result that are shown.
const RESULT_LINES: usize = 8;

/// Lines of a difference that are shown.
const DIFF_LINES: usize = 60;

/// A sink that shows a run.
pub(crate) struct Screen {
    state: Mutex<State>,
    cancel: CancellationToken,
}

/// Where a screen writes to, and how.
pub(crate) struct Streams {
    /// The model's text.
    pub(crate) text: Box<dyn Write + Send>,
    /// Everything else.
    pub(crate) activity: Box<dyn Write + Send>,
    /// How activity may be painted.
    pub(crate) style: Style,
}

struct State {
    streams: Streams,
    detail: Detail,
    mask: Mask,
    open_text: MaskStream,
    /// Whether the last character of the text was a line feed, or there was none.
    at_line_start: bool,
    /// What running calls are called.
    running: HashMap<String, String>,
    /// Lines about what was staged meanwhile; they come behind the call that staged it.
    staged: String,
    failure: Option<io::Error>,
}

impl Screen {
    /// A screen over these streams. When nobody reads any more, `cancel` is told.
    pub(crate) fn new(streams: Streams, detail: Detail, mask: Mask, cancel: CancellationToken) -> Self {
        let state = State {
            streams,
            detail,
            open_text: MaskStream::new(mask.clone()),
            mask,
            at_line_start: true,
            running: HashMap::new(),
            staged: String::new(),
            failure: None,
        };
        Self { state: Mutex::new(state), cancel }
    }

    /// Ends the text with a line feed and tells whether everything was written.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.failure.is_none() {
            state.end_line()?;
        }
        state.failure.take().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Screen {
    fn emit(&self, event: &Event<'_>) {
        let mut state = self.state();
        if state.failure.is_some() {
            return;
        }
        if let Err(error) = state.show(event) {
            state.failure = Some(error);
            self.cancel.cancel();
        }
    }
}

impl State {
    fn show(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(MessageEvent::MessageUpdate { assistant_message_event, .. }) => {
                self.grow(&assistant_message_event.growth)
            }
            Event::Message(MessageEvent::MessageEnd { .. }) => self.end_text(),
            Event::Tool(event) => self.tool(event),
            Event::Safety(event) => self.safety(event),
            Event::Message(MessageEvent::MessageStart { .. }) | Event::Run(_) | Event::Session(_) => Ok(()),
        }
    }

    fn grow(&mut self, growth: &Growth<'_>) -> io::Result<()> {
        match growth {
            Growth::TextDelta { delta, .. } => {
                let certain = self.open_text.push(delta.as_bytes());
                self.write_text(&certain)
            }
            Growth::TextEnd { .. } => self.end_text(),
            Growth::TextStart { .. }
            | Growth::ThinkingStart { .. }
            | Growth::ThinkingDelta { .. }
            | Growth::ThinkingEnd { .. }
            | Growth::ToolCallStart { .. }
            | Growth::ToolCallDelta { .. }
            | Growth::ToolCallEnd { .. } => Ok(()),
        }
    }

    fn write_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let text = harmless(&text);
        if text.is_empty() {
            return Ok(());
        }
        self.at_line_start = text.ends_with('\n');
        self.streams.text.write_all(text.as_bytes())?;
        self.streams.text.flush()
    }

    fn end_text(&mut self) -> io::Result<()> {
        let held = self.open_text.finish();
        self.write_text(&held)?;
        self.end_line()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.at_line_start { Ok(()) } else { self.write_text(b"\n") }
    }

    fn safety(&mut self, event: &SafetyEvent<'_>) -> io::Result<()> {
        let style = self.streams.style;
        let line = match event {
            SafetyEvent::SafetyWarning { text, .. } => style.dim(&format!("  ⚠ {text}")).into_owned(),
            SafetyEvent::PendingActionAdded { id, label, .. } => {
                let line = format!("{} waits: {} ({})", style.cyan("◇"), self.clean(label), style.dim(id));
                if !self.running.is_empty() {
                    self.staged.push_str(&line);
                    self.staged.push('\n');
                    return Ok(());
                }
                line
            }
            SafetyEvent::PermissionRequest { .. }
            | SafetyEvent::PermissionResolved { .. }
            | SafetyEvent::CheckpointRequest { .. }
            | SafetyEvent::CheckpointResolved { .. }
            | SafetyEvent::PendingActionResolved { .. }
            | SafetyEvent::OperationRecorded { .. }
            | SafetyEvent::OperationRolledBack { .. } => return Ok(()),
        };
        self.activity(&format!("{line}\n"))
    }

    fn tool(&mut self, event: &ToolEvent<'_>) -> io::Result<()> {
        match event {
            ToolEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let called = self.clean(&format!("{tool_name} {}", summary(args)));
                let line = format!("{} {}\n", self.streams.style.cyan("→"), called.trim_end());
                self.running.insert((*tool_call_id).to_owned(), called.trim_end().to_owned());
                // A resolution is one block, drawn when it is known what came of it.
                if *tool_name == RESOLVE { Ok(()) } else { self.activity(&line) }
            }
            ToolEvent::ToolExecutionUpdate { .. } => Ok(()),
            ToolEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error, .. } => {
                let called = self.running.remove(*tool_call_id).unwrap_or_else(|| (*tool_name).to_owned());
                let text = match *tool_name {
                    RESOLVE => resolution::block(result, *is_error, &|text| self.clean(text), self.streams.style),
                    _ => self.finished(&called, result, *is_error),
                };
                let staged = std::mem::take(&mut self.staged);
                self.activity(&(text + &staged))
            }
        }
    }

    fn finished(&self, called: &str, result: &ToolResult, is_error: bool) -> String {
        let style = self.streams.style;
        let text = self.clean(&result.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n"));
        let mut lines = String::new();
        if is_staged(result) && !is_error {
            // It is not done: what it would do is shown, and the line that says that it waits follows.
            return block(&text, DIFF_LINES, |line| paint_diff(line, style));
        }
        if self.detail == Detail::Results && !changes_files(result) {
            lines.push_str(&block(&text, RESULT_LINES, |line| style.dim(line).into_owned()));
        }
        if let Some(diff) = diff_of(result) {
            lines.push_str(&block(&self.clean(diff), DIFF_LINES, |line| paint_diff(line, style)));
        }
        if is_error {
            let reason = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("failed");
            lines.push_str(&format!("{} {called}: {reason}\n", style.red("✗")));
        } else {
            lines.push_str(&format!("{} {called}\n", style.green("✓")));
        }
        lines
    }

    fn activity(&mut self, text: &str) -> io::Result<()> {
        self.end_text()?;
        self.streams.activity.write_all(text.as_bytes())?;
        self.streams.activity.flush()
    }

    fn clean(&self, text: &str) -> String {
        harmless(&self.mask.text(text)).into_owned()
    }
}

/// The difference that a result tells of, if it changed a file.
fn diff_of(result: &ToolResult) -> Option<&str> {
    result.details.as_ref()?.get("diff")?.as_str().filter(|diff| !diff.is_empty())
}

/// Whether a result is only a preview.
fn is_staged(result: &ToolResult) -> bool {
    result.details.as_ref().is_some_and(|details| details.get("pendingAction").is_some())
}

fn changes_files(result: &ToolResult) -> bool {
    diff_of(result).is_some()
}

/// The first lines of a text, indented, and how many more there are.
fn block(text: &str, most: usize, paint: impl Fn(&str) -> String) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut shown: String = all.iter().take(most).map(|line| format!("    {}\n", paint(line))).collect();
    if all.len() > most {
        shown.push_str(&format!("    … {} more lines\n", all.len() - most));
    }
    shown
}

fn paint_diff(line: &str, style: Style) -> String {
    match line.bytes().next() {
        Some(b'+') => style.green(line).into_owned(),
        Some(b'-') => style.red(line).into_owned(),
        _ => style.dim(line).into_owned(),
    }
}

#[cfg(test)]
mod tests;
