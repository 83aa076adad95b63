//! The wire form of events.

use super::*;
use crate::content::AssistantBlock;
use crate::message::StopReason;
use crate::model::Api;
use crate::time::Timestamp;
use crate::usage::Usage;
use serde_json::json;

fn assistant(content: Vec<AssistantBlock>) -> AssistantMessage {
    AssistantMessage {
        content,
        api: Api::OpenAiCompletions,
        provider: "mock".into(),
        model: "mock-a".into(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        timestamp: Timestamp::default(),
        response_id: None,
        error_message: None,
        duration: None,
        ttft: None,
    }
}

fn wire(event: impl Into<Event<'static>>) -> Value {
    serde_json::to_value(event.into()).unwrap()
}

#[test]
fn an_update_carries_the_message_with_its_role_in_both_places() {
    let message = assistant(vec![AssistantBlock::text("hi")]);
    let event = Event::from(MessageEvent::MessageUpdate {
        assistant_message_event: AssistantMessageEvent {
            growth: Growth::TextDelta { content_index: 0, delta: "hi" },
            partial: &message,
        },
        message: &message,
    });
    let whole = serde_json::to_value(Message::Assistant(message.clone())).unwrap();
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        json!({
            "type": "message_update",
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "hi", "partial": whole},
            "message": whole,
        })
    );
}

#[test]
fn tool_call_growth_has_the_wires_own_spelling() {
    let call = ToolCall { id: "c1".into(), name: "read".into(), ..ToolCall::default() };
    let growth = Growth::ToolCallEnd { content_index: 1, tool_call: &call };
    assert_eq!(
        serde_json::to_value(growth).unwrap(),
        json!({
            "type": "toolcall_end", "contentIndex": 1,
            "toolCall": {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}},
        })
    );
}

#[test]
fn run_events_are_flat_objects_with_a_type() {
    assert_eq!(wire(RunEvent::AgentStart), json!({"type": "agent_start"}));
    assert_eq!(
        wire(RunEvent::AgentEnd { messages: &[], will_retry: false }),
        json!({"type": "agent_end", "messages": [], "willRetry": false})
    );
}
