//! A frame of the host, sorted: what is handled at once, and what waits for its turn.

use crate::command::{Command, NoCommand};
use crate::dialog::UiResponse;
use crate::frame::{InboundFrame, ParseFailure};
use crate::host_tool::HostToolAnswer;
use crate::response::{Ids, Label, Response, unreadable};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What a frame turned out to be.
pub(crate) enum Inbound {
    /// A command, to be carried out in its turn.
    Command(Label, Command),
    /// An answer to a question.
    Ui(UiResponse),
    /// News of a call that the host carries out.
    HostTool(HostToolAnswer),
    /// Nothing that could be carried out: this is the answer to it.
    Refused(Response<Arc<RawValue>>),
}

impl Inbound {
    /// Sorts a frame, or what stands in its place.
    pub(crate) fn sort(frame: Result<InboundFrame, ParseFailure>, ids: Ids) -> Self {
        let InboundFrame { kind, id, mut fields } = match frame {
            Ok(frame) => frame,
            Err(failure) => return Self::Refused(unreadable(failure.to_string())),
        };
        if kind == "extension_ui_response" {
            // One that makes no sense answers no question.
            return Self::Ui(serde_json::from_value(Value::Object(fields)).unwrap_or_default());
        }
        if let Some(answer) = HostToolAnswer::read(&kind, &fields) {
            return Self::HostTool(answer);
        }
        fields.shift_remove("id");
        let label = Label { id, command: kind };
        match Command::read(&label.command, fields) {
            Ok(command) => Self::Command(label, command),
            Err(NoCommand::Unknown) => Self::Refused(label.unknown(ids)),
            Err(NoCommand::Malformed(error)) => Self::Refused(label.senseless(&error.to_string(), ids)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(line: &str, ids: Ids) -> Value {
        match Inbound::sort(InboundFrame::parse(line.as_bytes()), ids) {
            Inbound::Refused(response) => serde_json::to_value(response).unwrap(),
            Inbound::Command(..) | Inbound::Ui(_) | Inbound::HostTool(_) => panic!("not refused: {line}"),
        }
    }

    #[test]
    fn what_makes_no_sense_is_answered_in_the_founding_form() {
        let unknown = refusal(r#"{"id":"odd-1","type":"no_such_command"}"#, Ids::Founding);
        let expected = json!({
            "type": "response", "command": "no_such_command", "success": false,
            "error": "Unknown command: no_such_command",
        });
        assert_eq!(unknown, expected);
        let bad = refusal(r#"{"id":"bad-1","type":"set_session_name"}"#, Ids::Founding);
        assert_eq!((&bad["command"], bad.get("id")), (&json!("parse"), None));
        assert_eq!(bad["error"], "Failed to parse command: missing field `name`");
        for line in ["[]", "1", "null", "\"x\"", "{}", "{\"type\":7}", "{", "{\"type\":\"abort\"} x"] {
            let refused = refusal(line, Ids::Strict);
            assert_eq!((&refused["command"], refused.get("id")), (&json!("parse"), None), "{line}");
            assert!(refused["error"].as_str().unwrap().starts_with("Failed to parse command: "), "{line}");
        }
    }

    #[test]
    fn strict_ids_are_echoed() {
        let unknown = refusal(r#"{"id":"odd-1","type":"no_such_command"}"#, Ids::Strict);
        assert_eq!(unknown["id"], "odd-1");
        let bad = refusal(r#"{"id":7,"type":"set_session_name"}"#, Ids::Strict);
        let expected = json!({
            "id": 7, "type": "response", "command": "set_session_name", "success": false,
            "error": "missing field `name`",
        });
        assert_eq!(bad, expected);
    }

    #[test]
    fn a_result_without_content_is_an_unknown_command() {
        let refused = refusal(r#"{"type":"host_tool_result","id":"h","result":{}}"#, Ids::Founding);
        assert_eq!(refused["error"], "Unknown command: host_tool_result");
        let sorted = Inbound::sort(
            InboundFrame::parse(br#"{"type":"host_tool_result","id":"h","result":{"content":[]}}"#),
            Ids::Founding,
        );
        assert!(matches!(sorted, Inbound::HostTool(_)));
    }
}
