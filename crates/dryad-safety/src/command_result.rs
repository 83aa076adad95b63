//! What a finished command says to the model.

use dryad_protocol::call::ToolResult;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandSpec};
use serde_json::json;

/// The result of a command that ran: its output, and how it ended when not well.
pub fn command_result(spec: &CommandSpec, outcome: &CommandOutcome) -> ToolResult {
    let mut text = outcome.output.text.clone();
    if let Some(number) = outcome.output.full_output {
        text.push_str(&format!("\n[Full output: artifact://{number}]"));
    }
    let failure = match outcome.end {
        CommandEnd::Exited { code: 0 } => None,
        CommandEnd::Exited { code } => Some(format!("Command exited with code {code}")),
        CommandEnd::TimedOut => Some(format!("Command timed out after {} seconds", spec.timeout_seconds)),
        CommandEnd::Cancelled => Some("Command aborted".to_owned()),
    };
    let result = match failure {
        None if text.is_empty() => ToolResult::text("(no output)"),
        None => ToolResult::text(text),
        Some(failure) if text.is_empty() => ToolResult::error(failure),
        Some(failure) => ToolResult::error(format!("{text}\n\n{failure}")),
    };
    result.with_details(details(spec, outcome))
}

fn details(spec: &CommandSpec, outcome: &CommandOutcome) -> serde_json::Value {
    let mut details = json!({"timeoutSeconds": spec.timeout_seconds, "durationMs": outcome.duration_ms});
    match outcome.end {
        CommandEnd::Exited { code } => details["exitCode"] = json!(code),
        CommandEnd::TimedOut => details["timedOut"] = json!(true),
        CommandEnd::Cancelled => details["cancelled"] = json!(true),
    }
    if let Some(kept) = outcome.output.truncated {
        details["truncation"] = json!({
            "headBytes": kept.head_bytes, "tailBytes": kept.tail_bytes,
            "totalBytes": outcome.output.total_bytes, "totalLines": outcome.output.total_lines,
        });
    }
    if let Some(number) = outcome.output.full_output {
        details["fullOutput"] = json!(number);
    }
    details
}
