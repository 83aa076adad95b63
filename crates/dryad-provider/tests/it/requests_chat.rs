//! What is sent to Chat Completions servers.

use crate::common::{conversation, fields, model, pretty, prompt, request, tool};
use dryad_protocol::model::{Api, Compat, Input, Model};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::openai_chat::body;
use dryad_provider::request::{Request, ToolChoice};
use expect_test::expect;

fn served_at(base_url: &str) -> Model {
    model(Api::OpenAiCompletions, base_url)
}

#[test]
fn a_whole_conversation() {
    let model = served_at("https://api.openai.com/v1");
    let messages = conversation(Api::OpenAiCompletions, "reasoning_content");
    let tools = [tool("read"), tool("ls")];
    let request = Request {
        system: "be brief",
        tools: &tools,
        thinking: ThinkingLevel::High,
        max_tokens: Some(500),
        cache_key: Some("session"),
        ..request(&model, &messages)
    };
    expect![[r#"
        {
          "model": "m-1",
          "messages": [
            {
              "role": "developer",
              "content": "be brief"
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "look"
                },
                {
                  "type": "image_url",
                  "image_url": {
                    "url": "data:image/png;base64,QUJD"
                  }
                }
              ]
            },
            {
              "role": "assistant",
              "content": "I look",
              "reasoning_content": "hm",
              "tool_calls": [
                {
                  "id": "call",
                  "type": "function",
                  "function": {
                    "name": "read",
                    "arguments": "{\"path\":\"b\",\"a\":1}"
                  }
                },
                {
                  "id": "call_b",
                  "type": "function",
                  "function": {
                    "name": "ls",
                    "arguments": "{}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "call",
              "content": "seen"
            },
            {
              "role": "tool",
              "tool_call_id": "call_b",
              "content": "no such directory"
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Images of the tool results above:"
                },
                {
                  "type": "image_url",
                  "image_url": {
                    "url": "data:image/png;base64,QUJD"
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": "go on"
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          },
          "max_completion_tokens": 500,
          "tools": [
            {
              "type": "function",
              "function": {
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
                }
              }
            },
            {
              "type": "function",
              "function": {
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
                }
              }
            }
          ],
          "prompt_cache_key": "session",
          "reasoning_effort": "high"
        }"#]]
    .assert_eq(&pretty(body(&request)));
}

#[test]
fn a_small_local_model_gets_plain_text() {
    let mut model = served_at("http://127.0.0.1:11434/v1");
    model.input = vec![Input::Text];
    model.reasoning = false;
    model.id = "other".to_owned();
    let messages = conversation(Api::OpenAiCompletions, "reasoning_content");
    let request = Request {
        system: "be brief",
        thinking: ThinkingLevel::High,
        max_tokens: Some(500),
        cache_key: Some("session"),
        ..request(&model, &messages)
    };
    expect![[r#"
        {
          "model": "other",
          "messages": [
            {
              "role": "system",
              "content": "be brief"
            },
            {
              "role": "user",
              "content": "look\n(an image was left out: this model reads no images)"
            },
            {
              "role": "assistant",
              "content": "I look",
              "tool_calls": [
                {
                  "id": "call",
                  "type": "function",
                  "function": {
                    "name": "read",
                    "arguments": "{\"path\":\"b\",\"a\":1}"
                  }
                },
                {
                  "id": "call_b",
                  "type": "function",
                  "function": {
                    "name": "ls",
                    "arguments": "{}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "call",
              "content": "seen\n(an image was left out: this model reads no images)"
            },
            {
              "role": "tool",
              "tool_call_id": "call_b",
              "content": "no such directory"
            },
            {
              "role": "user",
              "content": "go on"
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          },
          "max_tokens": 500
        }"#]]
    .assert_eq(&pretty(body(&request)));
}

#[test]
fn the_settings_of_a_server_are_followed() {
    let mut model = served_at("http://127.0.0.1:8000/v1");
    model.compat = Compat {
        supports_developer_role: Some(true),
        supports_usage_in_streaming: Some(false),
        supports_strict_mode: Some(true),
        supports_tool_choice: Some(false),
        max_tokens_field: Some("num_predict".to_owned()),
        requires_tool_result_name: Some(true),
        supports_reasoning_effort: Some(false),
        ..Compat::default()
    };
    let messages = conversation(Api::OpenAiCompletions, "");
    let named = ToolChoice::Named("ls".to_owned());
    let tools = [tool("read"), tool("ls")];
    let request = Request {
        system: "s",
        tools: &tools,
        tool_choice: &named,
        thinking: ThinkingLevel::Low,
        max_tokens: Some(9),
        ..request(&model, &messages)
    };
    let names = ["stream_options", "num_predict", "reasoning_effort", "tools", "tool_choice"];
    expect![[r#"{"num_predict":9,"tools":[{"type":"function","function":{"name":"ls","description":"does ls","parameters":{"type":"object","properties":{"path":{"type":"string"},"a":{}},"required":["path"]},"strict":false}}],"tool_choice":"required"}"#]].assert_eq(&fields(body(&request), &names));
    let messages: serde_json::Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
    assert_eq!(messages["messages"][0]["role"], "developer");
    assert_eq!(messages["messages"][3]["name"], "read");
}

#[test]
fn every_server_is_asked_for_thinking_in_its_own_form() {
    let ask = |base_url: &str, format: Option<&str>, thinking, off| {
        let mut model = served_at(base_url);
        model.compat.thinking_format = format.map(str::to_owned);
        model.compat.supports_thinking_off = off;
        let messages = prompt();
        let request = Request { thinking, ..request(&model, &messages) };
        fields(body(&request), &["reasoning_effort", "reasoning", "thinking", "enable_thinking"])
    };
    let (off, high) = (ThinkingLevel::Off, ThinkingLevel::High);
    let local = "http://127.0.0.1:1/v1";
    assert_eq!(ask(local, None, high, None), r#"{"reasoning_effort":"high"}"#);
    assert_eq!(ask(local, None, off, None), "{}");
    assert_eq!(ask(local, None, off, Some(true)), r#"{"reasoning_effort":"none"}"#);
    assert_eq!(ask("https://openrouter.ai/api/v1", None, high, None), r#"{"reasoning":{"effort":"high"}}"#);
    assert_eq!(ask("https://openrouter.ai/api/v1", None, off, None), r#"{"reasoning":{"effort":"none"}}"#);
    assert_eq!(ask("https://openrouter.ai/api/v1", None, off, Some(false)), "{}");
    assert_eq!(ask("https://api.deepseek.com", None, high, None), r#"{"thinking":{"type":"enabled"}}"#);
    assert_eq!(ask("https://notopenrouter.ai/v1", None, high, None), r#"{"reasoning_effort":"high"}"#);
    assert_eq!(ask(local, Some("deepseek"), off, None), r#"{"thinking":{"type":"disabled"}}"#);
    assert_eq!(ask(local, Some("zai"), high, None), r#"{"thinking":{"type":"enabled"}}"#);
    assert_eq!(ask(local, Some("qwen"), high, None), r#"{"enable_thinking":true}"#);
    assert_eq!(ask(local, Some("qwen"), off, None), r#"{"enable_thinking":false}"#);
}

#[test]
fn tool_choices_have_their_words() {
    let model = served_at("http://127.0.0.1:1/v1");
    let messages = prompt();
    let tools = [tool("read")];
    let choice = |tool_choice: &ToolChoice| {
        let request = Request { tools: &tools, tool_choice, ..request(&model, &messages) };
        fields(body(&request), &["tool_choice"])
    };
    assert_eq!(choice(&ToolChoice::Auto), "{}");
    assert_eq!(choice(&ToolChoice::None), r#"{"tool_choice":"none"}"#);
    assert_eq!(choice(&ToolChoice::Any), r#"{"tool_choice":"required"}"#);
    let named = r#"{"tool_choice":{"type":"function","function":{"name":"read"}}}"#;
    assert_eq!(choice(&ToolChoice::Named("read".to_owned())), named);
}

#[test]
fn reasoning_goes_back_in_its_field_and_to_deepseek_only_in_its_round() {
    let reasoning = |base_url: &str, signature: &str| {
        let model = served_at(base_url);
        let mut messages = conversation(Api::OpenAiCompletions, signature);
        let later = fields(body(&request(&model, &messages)), &["messages"]);
        messages.pop();
        (later, fields(body(&request(&model, &messages)), &["messages"]))
    };
    let (later, same_round) = reasoning("http://127.0.0.1:1/v1", "reasoning");
    assert!(later.contains(r#""reasoning":"hm""#) && same_round.contains(r#""reasoning":"hm""#), "{later}");
    let (later, same_round) = reasoning("https://api.deepseek.com", "reasoning_content");
    assert!(!later.contains("reasoning_content"), "{later}");
    assert!(same_round.contains(r#""reasoning_content":"hm""#), "{same_round}");
    let (later, _) = reasoning("http://127.0.0.1:1/v1", "sig of another api");
    assert!(!later.contains("hm"), "{later}");
}
