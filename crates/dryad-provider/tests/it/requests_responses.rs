//! Request bodies of the Responses API.

use crate::common::{conversation, fields, lines, model, pretty, request, tool};
use dryad_protocol::message::Message;
use dryad_protocol::model::{Api, Input, Model, ThinkingMode, ThinkingRange};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::openai_responses::body;
use dryad_provider::request::ToolChoice;
use expect_test::expect;
use serde_json::json;
use std::sync::Arc;

/// A reasoning item with odd spacing and order: it must come back byte for byte.
const REASONING: &str = r#"{"type":"reasoning", "id":"rs_1","summary":[],"encrypted_content":"gA=="}"#;

fn the_model() -> Model {
    model(Api::OpenAiResponses, "http://unused")
}

fn with_range(min_level: ThinkingLevel, max_level: ThinkingLevel) -> Model {
    let thinking = Some(ThinkingRange { mode: ThinkingMode::Effort, min_level, max_level });
    Model { thinking, ..the_model() }
}

/// An answer of the model itself, with reasoning, a marked text and a call, and the call's result.
fn own_conversation(stop_reason: &str, model: &str) -> Vec<Arc<Message>> {
    let messages = json!([
        {"role": "assistant", "timestamp": 1, "api": "openai-responses", "provider": "acme", "model": model,
         "usage": dryad_protocol::usage::Usage::default(), "stopReason": stop_reason,
         "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": REASONING},
            {"type": "text", "text": "I look", "textSignature": "msg_1|commentary"},
            {"type": "text", "text": "again", "textSignature": "msg_2"},
            {"type": "toolCall", "id": "call_a|fc_1", "name": "read", "arguments": {"path": "b"}}]},
        {"role": "toolResult", "timestamp": 2, "toolCallId": "call_a|fc_1", "toolName": "read", "isError": false,
         "content": [{"type": "text", "text": "seen"}]},
    ]);
    serde_json::from_value(messages).unwrap()
}

#[test]
fn a_whole_request() {
    let model = the_model();
    let messages = conversation(Api::OpenAiResponses, REASONING);
    let tools = [tool("read"), tool("ls")];
    let mut request = request(&model, &messages);
    request.system = "be brief";
    request.tools = &tools;
    request.thinking = ThinkingLevel::Medium;
    request.max_tokens = Some(5);
    request.cache_key = Some("session-ü-0123456789012345678901234567890123456789012345678901234567890");
    expect![[r#"
        {
          "model": "m-1",
          "stream": true,
          "store": false,
          "instructions": "be brief",
          "input": [
            {
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "look"
                },
                {
                  "type": "input_image",
                  "detail": "auto",
                  "image_url": "data:image/png;base64,QUJD"
                }
              ]
            },
            {
              "type": "message",
              "role": "assistant",
              "content": [
                {
                  "type": "output_text",
                  "text": "I look",
                  "annotations": []
                }
              ]
            },
            {
              "type": "function_call",
              "call_id": "call",
              "name": "read",
              "arguments": "{\"path\":\"b\",\"a\":1}"
            },
            {
              "type": "function_call",
              "call_id": "call_b",
              "name": "ls",
              "arguments": "{}"
            },
            {
              "type": "function_call_output",
              "call_id": "call",
              "output": [
                {
                  "type": "input_text",
                  "text": "seen"
                },
                {
                  "type": "input_image",
                  "detail": "auto",
                  "image_url": "data:image/png;base64,QUJD"
                }
              ]
            },
            {
              "type": "function_call_output",
              "call_id": "call_b",
              "output": "no such directory"
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "go on"
                }
              ]
            }
          ],
          "tools": [
            {
              "type": "function",
              "name": "read",
              "description": "does read",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  },
                  "a": {}
                },
                "required": [
                  "path"
                ]
              },
              "strict": false
            },
            {
              "type": "function",
              "name": "ls",
              "description": "does ls",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  },
                  "a": {}
                },
                "required": [
                  "path"
                ]
              },
              "strict": false
            }
          ],
          "tool_choice": "auto",
          "parallel_tool_calls": true,
          "reasoning": {
            "effort": "medium",
            "summary": "auto"
          },
          "include": [
            "reasoning.encrypted_content"
          ],
          "max_output_tokens": 16,
          "prompt_cache_key": "session-ü-01234567890123456789012345678901234567890123456789012"
        }"#]]
    .assert_eq(&pretty(body(&request)));
}

#[test]
fn an_own_answer_is_replayed_whole() {
    let model = the_model();
    let messages = own_conversation("toolUse", "m-1");
    let text = String::from_utf8(body(&request(&model, &messages)).unwrap()).unwrap();
    assert!(text.contains(REASONING), "{text}");
    expect![[r#"
        {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA=="}
        {"type":"message","role":"assistant","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"I look","annotations":[]}]}
        {"type":"message","role":"assistant","id":"msg_2","content":[{"type":"output_text","text":"again","annotations":[]}]}
        {"type":"function_call","id":"fc_1","call_id":"call_a","name":"read","arguments":"{\"path\":\"b\"}"}
        {"type":"function_call_output","call_id":"call_a","output":"seen"}"#]].assert_eq(&lines(body(&request(&model, &messages)), "input"));
}

#[test]
fn a_foreign_or_broken_answer_gives_text_and_calls_only() {
    let model = the_model();
    let input = |messages: &[Arc<Message>]| lines(body(&request(&model, messages)), "input");
    let broken = input(&own_conversation("aborted", "m-1"));
    expect![[r#"
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look","annotations":[]}]}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"again","annotations":[]}]}
        {"type":"function_call","call_id":"call_a","name":"read","arguments":"{\"path\":\"b\"}"}
        {"type":"function_call_output","call_id":"call_a","output":"seen"}"#]]
    .assert_eq(&broken);
    assert_eq!(input(&own_conversation("toolUse", "m-2")), broken);
}

#[test]
fn reasoning_that_nothing_follows_is_left_out() {
    let model = the_model();
    let mut messages = own_conversation("length", "m-1");
    messages.truncate(1);
    let Message::Assistant(answer) = Arc::make_mut(&mut messages[0]) else { panic!("an answer") };
    answer.content.truncate(1);
    assert_eq!(fields(body(&request(&model, &messages)), &["input"]), r#"{"input":[]}"#);
}

#[test]
fn tool_choices() {
    let model = the_model();
    let tools = [tool("read")];
    let choice = |choice: &ToolChoice| {
        let mut request = request(&model, &[]);
        request.tools = &tools;
        request.tool_choice = choice;
        fields(body(&request), &["tool_choice"])
    };
    assert_eq!(choice(&ToolChoice::Auto), r#"{"tool_choice":"auto"}"#);
    assert_eq!(choice(&ToolChoice::None), r#"{"tool_choice":"none"}"#);
    assert_eq!(choice(&ToolChoice::Any), r#"{"tool_choice":"required"}"#);
    assert_eq!(choice(&ToolChoice::Named("read".into())), r#"{"tool_choice":{"type":"function","name":"read"}}"#);
    let bare = fields(body(&request(&model, &[])), &["tool_choice", "tools", "parallel_tool_calls"]);
    assert_eq!(bare, "{}");
}

#[test]
fn thinking_levels_become_words_the_model_knows() {
    use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
    let effort = |model: &Model, level| {
        let mut request = request(model, &[]);
        request.thinking = level;
        fields(body(&request), &["reasoning", "include"])
    };
    let include = r#""include":["reasoning.encrypted_content"]"#;
    let says = |word: &str| format!(r#"{{"reasoning":{{"effort":"{word}","summary":"auto"}},{include}}}"#);
    assert_eq!(effort(&with_range(Low, High), Off), format!(r#"{{"reasoning":{{"effort":"none"}},{include}}}"#));
    assert_eq!(effort(&with_range(Minimal, High), Off), says("minimal"));
    assert_eq!(effort(&with_range(Low, High), Xhigh), says("high"));
    assert_eq!(effort(&with_range(Low, Xhigh), Xhigh), says("xhigh"));
    assert_eq!(effort(&the_model(), Xhigh), says("high"));
    assert_eq!(effort(&the_model(), Off), format!("{{{include}}}"));
    let mut always = with_range(Low, High);
    always.compat.supports_thinking_off = Some(false);
    assert_eq!(effort(&always, Off), says("low"));
    let plain = Model { reasoning: false, ..with_range(Low, High) };
    assert_eq!(effort(&plain, High), "{}");
}

#[test]
fn a_model_without_eyes_is_told_that_a_picture_was_left_out() {
    let model = Model { input: vec![Input::Text], ..the_model() };
    let messages = conversation(Api::OpenAiResponses, REASONING);
    let text = fields(body(&request(&model, &messages)), &["input"]);
    assert!(!text.contains("base64") && !text.contains("QUJD"), "{text}");
    assert_eq!(text.matches("an image was left out").count(), 2);
}

#[test]
fn ids_of_other_apis_are_made_acceptable_and_stay_paired() {
    let model = the_model();
    let id = "x".repeat(70) + "é";
    let mut messages = own_conversation("toolUse", "other");
    let Message::Assistant(answer) = Arc::make_mut(&mut messages[0]) else { panic!("an answer") };
    answer.content.drain(..3);
    let text = serde_json::to_string(&messages).unwrap().replace("call_a|fc_1", &id);
    let messages: Vec<Arc<Message>> = serde_json::from_str(&text).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body(&request(&model, &messages)).unwrap()).unwrap();
    let ids: Vec<&str> = (0..2).map(|index| body["input"][index]["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids[0], ids[1]);
    assert!(ids[0].len() <= 64 && ids[0].is_ascii(), "{}", ids[0]);
}
