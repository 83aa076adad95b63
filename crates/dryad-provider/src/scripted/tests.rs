//! Stories and bad scripts.

use super::*;
use crate::delta::Delta;
use crate::request::ToolChoice;
use dryad_protocol::content::UserBlock;
use dryad_protocol::message::StopReason;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::time::Timestamp;
use dryad_protocol::usage::TokenCounts;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

async fn ask(provider: &ScriptedProvider, messages: &[Arc<Message>]) -> Result<DeltaStream, ProviderError> {
    let model = model("test");
    let request = Request {
        model: &model,
        system: "",
        messages,
        tools: &[],
        tool_choice: &ToolChoice::Auto,
        thinking: ThinkingLevel::Off,
        max_tokens: None,
        cache_key: None,
    };
    provider.stream(request).await
}

async fn answer(provider: &ScriptedProvider, messages: &[Arc<Message>]) -> Vec<Result<Delta, ProviderError>> {
    match ask(provider, messages).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

async fn text(provider: &ScriptedProvider, messages: &[Arc<Message>]) -> String {
    let deltas = answer(provider, messages).await;
    deltas.into_iter().filter_map(|delta| if let Ok(Delta::Text(text)) = delta { Some(text) } else { None }).collect()
}

fn result(tool: &str, text: &str, is_error: bool) -> Arc<Message> {
    Arc::new(Message::ToolResult(ToolResultMessage {
        tool_call_id: "call_1".into(),
        tool_name: tool.to_owned(),
        content: vec![UserBlock::text(text)],
        details: None,
        is_error,
        timestamp: Timestamp::default(),
    }))
}

fn provider(script: &str) -> ScriptedProvider {
    ScriptedProvider::new(Script::from_json(script, None).unwrap())
}

#[tokio::test]
async fn a_step_streams_thinking_text_calls_and_usage_in_order() {
    let provider = provider(
        r#"{"steps":[{"thinking":"hm","text":"one two","calls":[{"name":"read","arguments":{"path":"a b"}}],
            "usage":{"input":3,"output":4,"cacheRead":5,"cacheWrite":6}}]}"#,
    );
    let deltas: Vec<_> = answer(&provider, &[]).await.into_iter().map(Result::unwrap).collect();
    let expected = [
        Delta::ThinkingStart,
        Delta::Thinking("hm".into()),
        Delta::ThinkingEnd { signature: None },
        Delta::TextStart,
        Delta::Text("one ".into()),
        Delta::Text("two".into()),
        Delta::TextEnd { signature: None },
        Delta::ToolCallStart { id: "call_1".into(), name: "read".into() },
        Delta::ToolCallArguments(r#"{"path":"a "#.into()),
        Delta::ToolCallArguments(r#"b"}"#.into()),
        Delta::ToolCallEnd { signature: None },
        Delta::Usage(TokenCounts { input: 3, output: 4, cache_read: 5, cache_write: 6 }),
        Delta::Stop(StopReason::ToolUse),
    ];
    assert_eq!(deltas, expected);
}

#[tokio::test]
async fn chunks_count_characters_not_bytes() {
    let provider = provider(r#"{"steps":[{"text":"äöü€𝄞","chunkChars":2,"stop":"length"}]}"#);
    let deltas: Vec<_> = answer(&provider, &[]).await.into_iter().map(Result::unwrap).collect();
    let expected = [
        Delta::TextStart,
        Delta::Text("äö".into()),
        Delta::Text("ü€".into()),
        Delta::Text("𝄞".into()),
        Delta::TextEnd { signature: None },
        Delta::Stop(StopReason::Length),
    ];
    assert_eq!(deltas, expected);
}

#[tokio::test]
async fn a_step_whose_condition_fails_is_passed_over() {
    let script = Script::new()
        .call("read", json!({"path": "x"}))
        .step(Step::new().text("failed").when_last_result_is_error(true))
        .step(Step::new().text("found").when_last_result_contains("hello"))
        .text("neither");
    let play = async |text_of_result: &str, is_error| {
        let provider = ScriptedProvider::new(script.clone());
        answer(&provider, &[]).await;
        text(&provider, &[result("read", text_of_result, is_error)]).await
    };
    assert_eq!(play("boom", true).await, "failed");
    assert_eq!(play("says hello", false).await, "found");
    assert_eq!(play("nothing", false).await, "neither");
}

#[tokio::test]
async fn an_error_step_is_used_up_by_the_request_that_got_it() {
    let script = r#"{"steps":[{"error":{"kind":"overloaded","message":"busy","retryAfterMs":250}},{"text":"now"}]}"#;
    let provider = provider(script);
    let error = ask(&provider, &[]).await.err().unwrap();
    assert_eq!(
        error,
        ProviderError::Overloaded {
            status: 503,
            message: "busy".into(),
            retry_after: Some(Duration::from_millis(250))
        }
    );
    assert_eq!(text(&provider, &[]).await, "now");
}

#[tokio::test]
async fn an_error_after_text_breaks_the_stream() {
    let script = Script::new().step(Step::new().text("half").error(ScriptedErrorKind::StreamBroken, "gone"));
    let deltas = answer(&ScriptedProvider::new(script), &[]).await;
    assert_eq!(deltas.last().unwrap(), &Err(ProviderError::StreamBroken { message: "gone".into() }));
    assert_eq!(deltas[1], Ok(Delta::Text("half".into())));
}

#[tokio::test]
async fn past_the_end_a_request_says_how_long_the_script_was() {
    let provider = ScriptedProvider::new(Script::new().text("a").text("b"));
    answer(&provider, &[]).await;
    answer(&provider, &[]).await;
    let error = ask(&provider, &[]).await.err().unwrap();
    assert!(!error.is_transient());
    assert_eq!(
        error.to_string(),
        "unsupported: the script is over: it has 2 steps and none is left that fits this request"
    );
}

#[tokio::test]
async fn a_repeating_script_begins_again_and_numbers_its_calls_on() {
    let provider = ScriptedProvider::new(Script::new().call("ls", json!({})).repeat());
    answer(&provider, &[]).await;
    let second = answer(&provider, &[]).await;
    assert_eq!(second[0], Ok(Delta::ToolCallStart { id: "call_2".into(), name: "ls".into() }));
}

#[tokio::test]
async fn raw_arguments_need_not_be_json() {
    let provider = provider(r#"{"steps":[{"calls":[{"name":"read","rawArguments":"{\"path\":","id":"x"}]}]}"#);
    let deltas = answer(&provider, &[]).await;
    assert_eq!(deltas[0], Ok(Delta::ToolCallStart { id: "x".into(), name: "read".into() }));
    assert_eq!(deltas[1], Ok(Delta::ToolCallArguments(r#"{"path":"#.into())));
}

#[tokio::test]
async fn a_hanging_step_says_its_text_and_then_nothing() {
    let mut stream = ask(&provider(r#"{"steps":[{"text":"a","hang":true}]}"#), &[]).await.unwrap();
    for _ in 0..3 {
        stream.next().await.unwrap().unwrap();
    }
    assert!(stream.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_delay_comes_before_every_delta() {
    let stream = ask(&provider(r#"{"steps":[{"text":"a b","delayMs":10}]}"#), &[]).await.unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(stream.count().await, 5);
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let error = Script::from_json(text, Some(Path::new("story.json"))).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_bad_script_names_file_line_and_key() {
    refuses(
        "{\"steps\": [\n  {\"text\": 5}\n]}",
        "bad script story.json:2:12: steps[0].text: invalid type: integer `5`, expected a string",
    );
    refuses(
        "{\"steps\": [\n  {},\n  {\"calls\": [{\"nmae\": \"read\"}]}\n]}",
        "bad script story.json:3:20: steps[1].calls[0].nmae: unknown field `nmae`, expected one of `name`, `arguments`, `rawArguments`, `id`",
    );
    refuses(
        r#"{"steps": [{"error": {"kind": "tired"}}]}"#,
        "bad script story.json:1:37: steps[0].error.kind: unknown variant `tired`, expected one of `auth`, `rateLimit`, `overloaded`, `contextOverflow`, `badRequest`, `network`, `streamBroken`, `unsupported`",
    );
    refuses("{\"steps\": [\n", "bad script story.json:2:1: steps: EOF while parsing a list");
    refuses("{\"steps\": []} x", "bad script story.json:1:15: .: trailing characters");
    refuses("{}", "bad script story.json:1:2: .: missing field `steps`");
}
