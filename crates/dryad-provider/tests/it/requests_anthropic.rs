//! What is sent to the Messages API.

use crate::common::{conversation, fields, model, pretty, prompt, request, tool};
use dryad_protocol::model::{Api, Input, Model, ThinkingMode, ThinkingRange};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::anthropic::body;
use dryad_provider::request::{Request, ToolChoice};
use expect_test::{Expect, expect};

fn claude() -> Model {
    model(Api::AnthropicMessages, "http://unused")
}

#[test]
fn a_whole_conversation() {
    let model = claude();
    let messages = conversation(Api::AnthropicMessages, "sig/+==");
    let tools = [tool("read"), tool("ls")];
    let request = Request { system: "be brief", tools: &tools, ..request(&model, &messages) };
    expect![[r#"
        {
          "model": "m-1",
          "max_tokens": 8000,
          "stream": true,
          "system": [
            {
              "type": "text",
              "text": "be brief",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ],
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "look"
                },
                {
                  "type": "image",
                  "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "QUJD"
                  }
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "thinking",
                  "thinking": "hm",
                  "signature": "sig/+=="
                },
                {
                  "type": "redacted_thinking",
                  "data": "xyz"
                },
                {
                  "type": "text",
                  "text": "I look"
                },
                {
                  "type": "tool_use",
                  "id": "call_a_1",
                  "name": "read",
                  "input": {
                    "path": "b",
                    "a": 1
                  }
                },
                {
                  "type": "tool_use",
                  "id": "call_b",
                  "name": "ls",
                  "input": {}
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "call_a_1",
                  "content": [
                    {
                      "type": "text",
                      "text": "seen"
                    },
                    {
                      "type": "image",
                      "source": {
                        "type": "base64",
                        "media_type": "image/png",
                        "data": "QUJD"
                      }
                    }
                  ]
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "call_b",
                  "content": [
                    {
                      "type": "text",
                      "text": "no such directory"
                    }
                  ],
                  "is_error": true
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "go on",
                  "cache_control": {
                    "type": "ephemeral"
                  }
                }
              ]
            }
          ],
          "tools": [
            {
              "name": "read",
              "description": "does read",
              "input_schema": {
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
              "input_schema": {
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
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        }"#]]
    .assert_eq(&pretty(body(&request)));
}

#[test]
fn another_model_gets_no_thinking_and_no_pictures_it_cannot_read() {
    let mut model = claude();
    model.id = "m-2".to_owned();
    model.input = vec![Input::Text];
    let messages = conversation(Api::AnthropicMessages, "sig/+==");
    expect![[r#"{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"text","text":"(an image was left out: this model reads no images)"}]},{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"call_a_1","name":"read","input":{"path":"b","a":1}},{"type":"tool_use","id":"call_b","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_a_1","content":[{"type":"text","text":"seen"},{"type":"text","text":"(an image was left out: this model reads no images)"}]},{"type":"tool_result","tool_use_id":"call_b","content":[{"type":"text","text":"no such directory"}],"is_error":true}]},{"role":"user","content":[{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}]}"#]].assert_eq(&fields(body(&request(&model, &messages)), &["messages"]));
}

#[test]
fn signatures_of_another_api_are_not_sent() {
    let model = claude();
    let messages = conversation(Api::OpenAiCompletions, "reasoning_content");
    let text = fields(body(&request(&model, &messages)), &["messages"]);
    assert!(!text.contains("thinking") && !text.contains("hm"), "{text}");
}

fn check_thinking(mode: ThinkingMode, level: ThinkingLevel, max_tokens: Option<u64>, limit: u64, expect: Expect) {
    let mut model = claude();
    model.max_tokens = limit;
    let (min_level, max_level) = (ThinkingLevel::Minimal, ThinkingLevel::Xhigh);
    model.thinking = Some(ThinkingRange { mode, min_level, max_level });
    let messages = prompt();
    let request = Request { thinking: level, max_tokens, ..request(&model, &messages) };
    expect.assert_eq(&fields(body(&request), &["max_tokens", "thinking", "output_config"]));
}

#[test]
fn a_level_is_a_budget_above_the_answer() {
    let check = |level, max_tokens, limit, expect| {
        check_thinking(ThinkingMode::Budget, level, max_tokens, limit, expect);
    };
    check(ThinkingLevel::Off, Some(100), 64_000, expect![[r#"{"max_tokens":100}"#]]);
    check(
        ThinkingLevel::Minimal,
        Some(100),
        64_000,
        expect![[r#"{"max_tokens":1124,"thinking":{"type":"enabled","budget_tokens":1024}}"#]],
    );
    check(
        ThinkingLevel::Low,
        Some(4000),
        64_000,
        expect![[r#"{"max_tokens":6048,"thinking":{"type":"enabled","budget_tokens":2048}}"#]],
    );
    check(
        ThinkingLevel::Medium,
        None,
        64_000,
        expect![[r#"{"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":8192}}"#]],
    );
    check(
        ThinkingLevel::High,
        Some(4000),
        8000,
        expect![[r#"{"max_tokens":8000,"thinking":{"type":"enabled","budget_tokens":6976}}"#]],
    );
    check(
        ThinkingLevel::Xhigh,
        None,
        1500,
        expect![[r#"{"max_tokens":1500,"thinking":{"type":"enabled","budget_tokens":1024}}"#]],
    );
    check(ThinkingLevel::High, None, 1024, expect![[r#"{"max_tokens":1024}"#]]);
}

#[test]
fn a_level_is_an_effort_for_models_that_decide_themselves() {
    let check = |mode, level, expect| check_thinking(mode, level, None, 64_000, expect);
    check(ThinkingMode::AnthropicAdaptive, ThinkingLevel::Off, expect![[r#"{"max_tokens":64000}"#]]);
    check(
        ThinkingMode::AnthropicAdaptive,
        ThinkingLevel::Minimal,
        expect![[
            r#"{"max_tokens":64000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}"#
        ]],
    );
    check(
        ThinkingMode::AnthropicAdaptive,
        ThinkingLevel::Xhigh,
        expect![[
            r#"{"max_tokens":64000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"}}"#
        ]],
    );
    check(
        ThinkingMode::AnthropicBudgetEffort,
        ThinkingLevel::Medium,
        expect![[
            r#"{"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":8192},"output_config":{"effort":"medium"}}"#
        ]],
    );
}

#[test]
fn tool_choices_have_their_words_but_force_nothing_while_the_model_thinks() {
    let model = claude();
    let messages = prompt();
    let tools = [tool("read")];
    let choice = |tool_choice: &ToolChoice, thinking| {
        let request = Request { tools: &tools, tool_choice, thinking, ..request(&model, &messages) };
        fields(body(&request), &["tool_choice"])
    };
    let named = ToolChoice::Named("read".to_owned());
    assert_eq!(choice(&ToolChoice::Auto, ThinkingLevel::Off), "{}");
    assert_eq!(choice(&ToolChoice::None, ThinkingLevel::Off), r#"{"tool_choice":{"type":"none"}}"#);
    assert_eq!(choice(&ToolChoice::Any, ThinkingLevel::Off), r#"{"tool_choice":{"type":"any"}}"#);
    assert_eq!(choice(&named, ThinkingLevel::Off), r#"{"tool_choice":{"type":"tool","name":"read"}}"#);
    assert_eq!(choice(&named, ThinkingLevel::Low), "{}");
    assert_eq!(choice(&ToolChoice::Any, ThinkingLevel::Low), "{}");
    assert_eq!(choice(&ToolChoice::None, ThinkingLevel::Low), r#"{"tool_choice":{"type":"none"}}"#);
}
