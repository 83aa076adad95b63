//! Every tool call has exactly one result, right after the message that made it, and no result lacks its call.
//!
//! Providers refuse anything else, so a branch that was cut short by a crash or a cancellation, and one
//! that was compacted between a call and its result, is mended here.

use dryad_protocol::content::UserBlock;
use dryad_protocol::message::{AssistantMessage, Message, ToolResultMessage};
use std::collections::HashMap;
use std::sync::Arc;

/// What stands in the place of a result that never came.
const NO_RESULT: &str = "Aborted: no result was recorded for this call";

/// Puts each call's result behind its message, makes up the missing ones and drops the homeless ones.
///
/// A result belongs to the nearest message before it that made the call: some servers number their
/// calls anew in every answer.
pub fn mend(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut mended = Vec::with_capacity(messages.len());
    for (position, message) in messages.iter().enumerate() {
        match message.as_ref() {
            Message::ToolResult(_) => {}
            Message::Assistant(answer) => {
                mended.push(message.clone());
                let mut results = results_of(messages.get(position + 1..).unwrap_or_default());
                mended.extend(answer.tool_calls().map(|call| {
                    results.remove(call.id.as_str()).unwrap_or_else(|| missing(answer, &call.id, &call.name))
                }));
            }
            Message::User(_) | Message::Developer(_) | Message::Custom(_) => mended.push(message.clone()),
            Message::BashExecution(_) | Message::FileMention(_) => mended.push(message.clone()),
            Message::BranchSummary(_) | Message::CompactionSummary(_) => mended.push(message.clone()),
        }
    }
    mended
}

/// The results up to the next answer, by call.
fn results_of(later: &[Arc<Message>]) -> HashMap<&str, Arc<Message>> {
    let mut results = HashMap::new();
    for message in later.iter().take_while(|message| message.as_assistant().is_none()) {
        if let Message::ToolResult(result) = message.as_ref() {
            results.entry(result.tool_call_id.as_str()).or_insert_with(|| message.clone());
        }
    }
    results
}

fn missing(answer: &AssistantMessage, id: &str, name: &str) -> Arc<Message> {
    Arc::new(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.to_owned(),
        content: vec![UserBlock::text(NO_RESULT)],
        details: None,
        is_error: true,
        timestamp: answer.timestamp,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn message(value: Value) -> Arc<Message> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn user(text: &str) -> Arc<Message> {
        message(json!({"role": "user", "content": text, "timestamp": 0}))
    }

    fn calls(ids: &[&str]) -> Arc<Message> {
        let content: Vec<_> =
            ids.iter().map(|id| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}})).collect();
        let cost = json!({"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0});
        message(json!({
            "role": "assistant", "content": content, "api": "scripted", "provider": "p", "model": "m",
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost},
            "stopReason": "toolUse", "timestamp": 0,
        }))
    }

    fn result(id: &str) -> Arc<Message> {
        message(json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": [],
            "isError": false, "timestamp": 0}))
    }

    fn shape(messages: &[Arc<Message>]) -> Vec<String> {
        let name = |message: &Arc<Message>| match message.as_ref() {
            Message::Assistant(_) => "assistant".to_owned(),
            Message::ToolResult(result) => format!("{}{}", result.tool_call_id, if result.is_error { "!" } else { "" }),
            _ => "user".to_owned(),
        };
        messages.iter().map(name).collect()
    }

    #[test]
    fn missing_results_are_made_up_and_homeless_ones_dropped() {
        let mended = mend(vec![user("go"), calls(&["a", "b"]), result("b"), result("x"), user("next")]);
        assert_eq!(shape(&mended), ["user", "assistant", "a!", "b", "user"]);
    }

    #[test]
    fn an_id_used_again_in_a_later_answer_finds_its_own_result() {
        let whole = vec![user("go"), calls(&["a"]), result("a"), calls(&["a"]), result("a")];
        assert_eq!(mend(whole.clone()), whole);
        assert_eq!(shape(&mend(whole[..4].to_vec())), ["user", "assistant", "a", "assistant", "a!"]);
    }

    #[test]
    fn a_whole_conversation_is_left_as_it_is() {
        let whole = vec![user("go"), calls(&["a"]), result("a"), calls(&[])];
        assert_eq!(mend(whole.clone()), whole);
    }
}
