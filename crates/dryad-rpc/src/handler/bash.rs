//! Commands of the user, beside the conversation.
//!
//! A command runs beside the queue, so that `abort_bash` reaches it. When it has ended it joins the session that it was
//! begun in: at once when nothing goes on there, else after the run.

use crate::command::BashCommand;
use crate::data::BashResult;
use crate::desk::Desk;
use crate::dispatch::Outcome;
use crate::event::WireEvent;
use crate::id::Id;
use crate::program::{SHOWN_BYTES, ShellRun};
use crate::response::Reply;
use dryad_protocol::command::CommandEnd;
use dryad_protocol::message::{BashExecutionMessage, Message};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The commands that run.
#[derive(Debug, Default)]
pub(crate) struct BashRuns {
    cancel: Mutex<CancellationToken>,
}

impl BashRuns {
    /// Ends every command that runs.
    pub(crate) fn cancel_all(&self) {
        std::mem::take(&mut *self.token()).cancel();
    }

    fn next(&self) -> CancellationToken {
        self.token().child_token()
    }

    fn token(&self) -> MutexGuard<'_, CancellationToken> {
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn handle(desk: &Arc<Desk>, command: BashCommand, id: Option<Id>) -> Outcome {
    match command {
        BashCommand::Bash { command, exclude_from_context } => {
            let (desk, origin, cancel) = (desk.clone(), desk.conversation.origin(), desk.bash.next());
            Outcome::Beside(Box::pin(async move {
                let (reply, message) = run(&desk, command, exclude_from_context, id, &cancel).await;
                if let Some(message) = message {
                    desk.conversation.add(origin, message).await;
                }
                reply
            }))
        }
        BashCommand::AbortBash => {
            desk.bash.cancel_all();
            Outcome::Answer(Reply::Done)
        }
    }
}

/// Runs a command to its end: the answer to it, and what the session keeps of it.
async fn run(
    desk: &Desk,
    command: String,
    exclude_from_context: Option<bool>,
    id: Option<Id>,
    cancel: &CancellationToken,
) -> (Reply, Option<Message>) {
    let key = format!("bash {}", id.as_ref().map(Id::as_json).unwrap_or_default());
    let on_update = |output: String| {
        if !output.is_empty() {
            desk.outbox.send_state_of(&key, &WireEvent::BashUpdate { id: id.clone(), output });
        }
    };
    let ended = match desk.program.run_shell(&command, cancel, &on_update).await {
        Ok(ended) => ended,
        Err(error) => return (Reply::Refused(error), None),
    };
    let result = told(ended);
    let message = Message::BashExecution(BashExecutionMessage {
        command,
        output: result.output.clone(),
        exit_code: result.exit_code,
        cancelled: result.cancelled,
        truncated: result.truncated,
        full_output_path: result.full_output_path.as_ref().map(|path| path.display().to_string()),
        exclude_from_context: exclude_from_context.filter(|exclude| *exclude),
        timestamp: desk.clock.now(),
    });
    (Reply::data(&result), Some(message))
}

fn told(ended: ShellRun) -> BashResult {
    let ShellRun { outcome, full_output } = ended;
    let (exit_code, cancelled) = match outcome.end {
        CommandEnd::Exited { code } => (Some(code), false),
        CommandEnd::TimedOut | CommandEnd::Cancelled => (None, true),
    };
    let output = end_of(&outcome.output.text).to_owned();
    let truncated = outcome.output.truncated.is_some() || output.len() < outcome.output.text.len();
    BashResult {
        exit_code,
        cancelled,
        truncated,
        total_lines: outcome.output.total_lines + 1,
        total_bytes: outcome.output.total_bytes,
        output_lines: output.split('\n').count() as u64,
        output_bytes: output.len() as u64,
        full_output_path: full_output,
        output,
    }
}

/// The last lines of a text, as many as are kept.
fn end_of(text: &str) -> &str {
    let Some(cut) = text.len().checked_sub(SHOWN_BYTES) else { return text };
    let kept = text.get(text.ceil_char_boundary(cut)..).unwrap_or(text);
    // A half line is no line, unless it is the only one.
    kept.split_once('\n').map_or(kept, |(_, whole)| if whole.is_empty() { kept } else { whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_last_whole_lines_are_kept() {
        assert_eq!(end_of("short\n"), "short\n");
        let long: String = (0..20_000).map(|number| format!("line {number} ü\n")).collect();
        let kept = end_of(&long);
        assert!(kept.len() <= SHOWN_BYTES && kept.len() > SHOWN_BYTES - 32);
        assert!(kept.starts_with("line ") && long.ends_with(kept));
        let one_line = "ü".repeat(SHOWN_BYTES);
        assert_eq!(end_of(&one_line).len(), SHOWN_BYTES);
    }
}
