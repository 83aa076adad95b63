//! Request bodies of the Gemini API.

use crate::common::{conversation, fields, lines, model, pretty, request, tool};
use dryad_protocol::message::Message;
use dryad_protocol::model::{Api, Input, Model, ThinkingMode, ThinkingRange};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::google::body;
use dryad_provider::request::ToolChoice;
use expect_test::expect;
use serde_json::json;
use std::sync::Arc;

fn the_model() -> Model {
    model(Api::GoogleGenerativeAi, "http://unused")
}

fn with_range(mode: ThinkingMode, min_level: ThinkingLevel) -> Model {
    Model { thinking: Some(ThinkingRange { mode, min_level, max_level: ThinkingLevel::High }), ..the_model() }
}

/// An answer with marks of thought on every kind of part, and results for its calls.
fn marked_conversation(model: &str) -> Vec<Arc<Message>> {
    let messages = json!([
        {"role": "assistant", "timestamp": 1, "api": "google-generative-ai", "provider": "acme", "model": model,
         "usage": dryad_protocol::usage::Usage::default(), "stopReason": "toolUse",
         "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2lnMQ=="},
            {"type": "text", "text": "", "textSignature": "c2lnMg=="},
            {"type": "toolCall", "id": "fc-1", "name": "read", "arguments": {"path": "b"}, "thoughtSignature": "c2lnMw=="},
            {"type": "toolCall", "id": "gemini_call_x_2", "name": "ls", "arguments": {}}]},
        {"role": "toolResult", "timestamp": 2, "toolCallId": "fc-1", "toolName": "read", "isError": false,
         "content": [{"type": "text", "text": "seen"}]},
        {"role": "toolResult", "timestamp": 2, "toolCallId": "gemini_call_x_2", "toolName": "ls", "isError": false,
         "content": [{"type": "text", "text": "a\nb"}]},
    ]);
    serde_json::from_value(messages).unwrap()
}

#[test]
fn a_whole_request() {
    let model = the_model();
    let messages = conversation(Api::GoogleGenerativeAi, "c2ln");
    let tools = [tool("read"), tool("ls")];
    let mut request = request(&model, &messages);
    request.system = "be brief";
    request.tools = &tools;
    request.thinking = ThinkingLevel::Medium;
    request.max_tokens = Some(500);
    expect![[r#"
        {
          "systemInstruction": {
            "parts": [
              {
                "text": "be brief"
              }
            ]
          },
          "contents": [
            {
              "role": "user",
              "parts": [
                {
                  "text": "look"
                },
                {
                  "inlineData": {
                    "mimeType": "image/png",
                    "data": "QUJD"
                  }
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "text": "hm",
                  "thought": true,
                  "thoughtSignature": "c2ln"
                },
                {
                  "text": "I look"
                },
                {
                  "functionCall": {
                    "id": "call|a.1",
                    "name": "read",
                    "args": {
                      "path": "b",
                      "a": 1
                    }
                  }
                },
                {
                  "functionCall": {
                    "id": "call_b",
                    "name": "ls",
                    "args": {}
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "functionResponse": {
                    "id": "call|a.1",
                    "name": "read",
                    "response": {
                      "output": "seen\n(see the attached image)"
                    }
                  }
                },
                {
                  "functionResponse": {
                    "id": "call_b",
                    "name": "ls",
                    "response": {
                      "error": "no such directory"
                    }
                  }
                },
                {
                  "inlineData": {
                    "mimeType": "image/png",
                    "data": "QUJD"
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "text": "go on"
                }
              ]
            }
          ],
          "tools": [
            {
              "functionDeclarations": [
                {
                  "name": "read",
                  "description": "does read",
                  "parametersJsonSchema": {
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
                  }
                },
                {
                  "name": "ls",
                  "description": "does ls",
                  "parametersJsonSchema": {
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
                  }
                }
              ]
            }
          ],
          "toolConfig": {
            "functionCallingConfig": {
              "mode": "AUTO"
            }
          },
          "generationConfig": {
            "maxOutputTokens": 500,
            "thinkingConfig": {
              "includeThoughts": true,
              "thinkingBudget": 8192
            }
          }
        }"#]]
    .assert_eq(&pretty(body(&request)));
}

#[test]
fn marks_of_thought_go_back_to_their_parts() {
    let model = the_model();
    let messages = marked_conversation("m-1");
    expect![[r#"
        {"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2lnMQ=="},{"text":"","thoughtSignature":"c2lnMg=="},{"functionCall":{"id":"fc-1","name":"read","args":{"path":"b"}},"thoughtSignature":"c2lnMw=="},{"functionCall":{"name":"ls","args":{}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"read","response":{"output":"seen"}}},{"functionResponse":{"name":"ls","response":{"output":"a\nb"}}}]}"#]].assert_eq(&lines(body(&request(&model, &messages)), "contents"));
}

#[test]
fn a_foreign_answer_goes_without_marks_and_ids() {
    let model = with_range(ThinkingMode::GoogleLevel, ThinkingLevel::Low);
    let messages = marked_conversation("m-2");
    expect![[r#"
        {"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"b"}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"ls","args":{}}}]}
        {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"seen"}}},{"functionResponse":{"name":"ls","response":{"output":"a\nb"}}}]}"#]].assert_eq(&lines(body(&request(&model, &messages)), "contents"));
}

#[test]
fn tool_choices() {
    let model = the_model();
    let tools = [tool("read")];
    let choice = |choice: &ToolChoice| {
        let mut request = request(&model, &[]);
        request.tools = &tools;
        request.tool_choice = choice;
        fields(body(&request), &["toolConfig"])
    };
    let config = |inner: &str| format!(r#"{{"toolConfig":{{"functionCallingConfig":{{{inner}}}}}}}"#);
    assert_eq!(choice(&ToolChoice::Auto), config(r#""mode":"AUTO""#));
    assert_eq!(choice(&ToolChoice::None), config(r#""mode":"NONE""#));
    assert_eq!(choice(&ToolChoice::Any), config(r#""mode":"ANY""#));
    let named = config(r#""mode":"ANY","allowedFunctionNames":["read"]"#);
    assert_eq!(choice(&ToolChoice::Named("read".into())), named);
    assert_eq!(fields(body(&request(&model, &[])), &["toolConfig", "tools", "systemInstruction"]), "{}");
}

#[test]
fn thinking_levels_become_budgets_or_words() {
    use ThinkingLevel::{High, Low, Minimal, Off, Xhigh};
    let thinking = |model: &Model, level| {
        let mut request = request(model, &[]);
        request.thinking = level;
        fields(body(&request), &["generationConfig"])
    };
    let config = |inner: &str| format!(r#"{{"generationConfig":{{"thinkingConfig":{{{inner}}}}}}}"#);
    let budget = with_range(ThinkingMode::Budget, Minimal);
    assert_eq!(thinking(&budget, Off), config(r#""thinkingBudget":0"#));
    assert_eq!(thinking(&budget, Low), config(r#""includeThoughts":true,"thinkingBudget":2048"#));
    let mut always = budget;
    always.compat.supports_thinking_off = Some(false);
    assert_eq!(thinking(&always, Off), config(r#""thinkingBudget":128"#));
    let level = with_range(ThinkingMode::GoogleLevel, Low);
    assert_eq!(thinking(&level, Off), config(r#""thinkingLevel":"LOW""#));
    assert_eq!(thinking(&level, High), config(r#""includeThoughts":true,"thinkingLevel":"HIGH""#));
    assert_eq!(thinking(&level, Xhigh), config(r#""includeThoughts":true,"thinkingLevel":"HIGH""#));
    assert_eq!(thinking(&the_model(), Off), "{}");
    assert_eq!(thinking(&Model { reasoning: false, ..level }, High), "{}");
}

#[test]
fn a_model_without_eyes_is_told_that_a_picture_was_left_out() {
    let model = Model { input: vec![Input::Text], ..the_model() };
    let messages = conversation(Api::GoogleGenerativeAi, "c2ln");
    let text = fields(body(&request(&model, &messages)), &["contents"]);
    assert!(!text.contains("inlineData"), "{text}");
    assert_eq!(text.matches("an image was left out").count(), 2);
}
