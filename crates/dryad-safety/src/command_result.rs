//! What a finished command says to the model.

use crate::rehearsal::{Rehearsed, one_line};
use dryad_protocol::call::ToolResult;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandSpec};
use dryad_protocol::content::UserBlock;
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

/// The same with what was special about how the command was run: what it did that is not there now, and why it may
/// have failed.
pub fn with_rehearsal(mut result: ToolResult, rehearsed: &Rehearsed) -> ToolResult {
    let notes = notes(rehearsed, result.is_error);
    if !notes.is_empty() {
        let text: String = notes.iter().map(|note| format!("\n[{note}]")).collect();
        result.content.push(UserBlock::text(text.trim_start().to_owned()));
    }
    let details = result.details.get_or_insert_with(|| json!({}));
    details["rehearsal"] = json!({
        "rung": rehearsed.rung,
        "paths": rehearsed.changes.len(),
        "undo": rehearsed.rung.can_undo() && !rehearsed.changes.is_empty(),
        "notes": notes,
    });
    result
}

fn notes(rehearsed: &Rehearsed, has_failed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |about: &str, items: Vec<String>| {
        if !items.is_empty() {
            notes.push(format!("{about}: {}", shortened(&items)));
        }
    };
    let outside = match rehearsed.rung.is_dry_run() {
        true => "not kept, because it lies outside the granted roots",
        false => "changed outside the granted roots; an undo will not take it back",
    };
    note(outside, rehearsed.outside_writes.iter().map(|write| write.path.to_string()).collect());
    let beside = if rehearsed.rung.is_dry_run() { "done, but not kept" } else { "done; an undo will not take it back" };
    note(beside, rehearsed.not_carried.iter().map(ToString::to_string).collect());
    note("ended together with the command", rehearsed.left_running.clone());
    if has_failed {
        note("limits of this place", rehearsed.limits.iter().map(ToString::to_string).collect());
    }
    notes
}

fn shortened(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = items.iter().take(SHOWN).map(|item| one_line(item)).collect::<Vec<_>>().join(", ");
    if items.len() > SHOWN {
        text.push_str(&format!(" and {} more", items.len() - SHOWN));
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::command::{CommandOutput, KeptBytes};
    use dryad_protocol::path::FilePath;
    use std::collections::BTreeMap;

    fn result(end: CommandEnd, output: CommandOutput) -> ToolResult {
        let spec = CommandSpec {
            command: "make".to_owned(),
            cwd: FilePath::new("/w"),
            env: BTreeMap::new(),
            shell: "/bin/sh".to_owned(),
            timeout_seconds: 30,
        };
        command_result(&spec, &CommandOutcome { end, output, duration_ms: 7 })
    }

    fn printed(text: &str) -> CommandOutput {
        CommandOutput { text: text.to_owned(), ..CommandOutput::default() }
    }

    #[test]
    fn success_is_the_output_or_a_word_about_its_absence() {
        let well = CommandEnd::Exited { code: 0 };
        let details = json!({"timeoutSeconds": 30, "durationMs": 7, "exitCode": 0});
        assert_eq!(result(well, printed("done\n")), ToolResult::text("done\n").with_details(details.clone()));
        assert_eq!(result(well, printed("")), ToolResult::text("(no output)").with_details(details));
    }

    #[test]
    fn failure_is_the_output_and_how_it_ended() {
        let cases = [
            (CommandEnd::Exited { code: 2 }, "Command exited with code 2", json!({"exitCode": 2})),
            (CommandEnd::TimedOut, "Command timed out after 30 seconds", json!({"timedOut": true})),
            (CommandEnd::Cancelled, "Command aborted", json!({"cancelled": true})),
        ];
        for (end, sentence, own) in cases {
            let mut details = json!({"timeoutSeconds": 30, "durationMs": 7});
            details.as_object_mut().unwrap().extend(own.as_object().cloned().unwrap());
            let expected = ToolResult::error(format!("half\n\n{sentence}")).with_details(details.clone());
            assert_eq!(result(end, printed("half")), expected);
            assert_eq!(result(end, printed("")), ToolResult::error(sentence).with_details(details));
        }
    }

    #[test]
    fn a_cut_output_names_where_all_of_it_is() {
        let output = CommandOutput {
            text: "a\n[... 7 bytes truncated ...]\nb".to_owned(),
            total_bytes: 10,
            total_lines: 3,
            truncated: Some(KeptBytes { head_bytes: 2, tail_bytes: 1 }),
            full_output: Some(4),
        };
        let result = result(CommandEnd::Exited { code: 0 }, output);
        let text = "a\n[... 7 bytes truncated ...]\nb\n[Full output: artifact://4]";
        let truncation = json!({"headBytes": 2, "tailBytes": 1, "totalBytes": 10, "totalLines": 3});
        let details = json!({
            "timeoutSeconds": 30, "durationMs": 7, "exitCode": 0, "truncation": truncation, "fullOutput": 4,
        });
        assert_eq!(result, ToolResult::text(text).with_details(details));
    }
}
