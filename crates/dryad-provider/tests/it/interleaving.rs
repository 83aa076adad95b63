//! Pieces of several tool calls in any order give whole calls in the order of their index.

use crate::common::{model, prompt, request};
use dryad_protocol::model::Api;
use dryad_provider::decode::{Decode as _, SseEvent};
use dryad_provider::delta::Delta;
use dryad_provider::openai_chat::ChatDecoder;
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;

fn arguments(call: usize) -> String {
    json!({"call": call, "text": "}\"{ ä", "list": [{}, []]}).to_string()
}

/// Which call the next piece is of; each call has three pieces.
fn orders() -> impl Strategy<Value = Vec<usize>> {
    Just([0, 1, 2, 3].repeat(3)).prop_shuffle()
}

/// The pieces of a call: its name with nothing, then two halves of its arguments.
fn piece(call: usize, number: usize) -> serde_json::Value {
    let text = arguments(call);
    let middle = text.floor_char_boundary(call * 5 + 3);
    let (first, second) = text.split_at(middle);
    match number {
        0 => json!({"index": call, "id": format!("id{call}"), "function": {"name": format!("tool{call}")}}),
        1 => json!({"index": call, "function": {"arguments": first}}),
        _ => json!({"index": call, "function": {"arguments": second}}),
    }
}

/// The calls out of the deltas, checking that one is open at a time.
fn calls(deltas: impl IntoIterator<Item = Delta>) -> Vec<(String, String, String)> {
    let mut calls = Vec::new();
    let mut open: Option<(String, String, String)> = None;
    for delta in deltas {
        match delta {
            Delta::ToolCallStart { id, name } => {
                assert_eq!(open.replace((id, name, String::new())), None);
            }
            Delta::ToolCallArguments(text) => open.as_mut().unwrap().2.push_str(&text),
            Delta::ToolCallEnd { .. } => calls.push(open.take().unwrap()),
            other => assert!(matches!(other, Delta::Stop(_)), "{other:?}"),
        }
    }
    calls
}

proptest! {
    #[test]
    fn any_order_of_pieces_gives_the_same_calls(order in orders()) {
        let model = model(Api::OpenAiCompletions, "http://unused");
        let messages = prompt();
        let mut decoder = ChatDecoder::new(&request(&model, &messages));
        let mut deltas = VecDeque::new();
        let mut seen = [0; 4];
        for call in order {
            let chunk = json!({"choices": [{"delta": {"tool_calls": [piece(call, seen[call])]}}]}).to_string();
            seen[call] += 1;
            decoder.event(SseEvent { name: "", data: &chunk }, &mut deltas).unwrap();
        }
        decoder.event(SseEvent { name: "", data: "[DONE]" }, &mut deltas).unwrap();
        let expected: Vec<_> =
            (0..4).map(|call| (format!("id{call}"), format!("tool{call}"), arguments(call))).collect();
        prop_assert_eq!(calls(deltas), expected);
    }
}
