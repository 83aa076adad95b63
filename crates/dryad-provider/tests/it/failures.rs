//! Servers and networks that misbehave: each becomes the error that says what can be done, and the
//! key is in none of them.

use crate::common::{KEY, Keys, ask, http, model, provider};
use dryad_protocol::model::{Api, Model};
use dryad_provider::delta::Delta;
use dryad_provider::error::ProviderError;
use dryad_provider::http::{Http, HttpSettings};
use dryad_testkit::loopback::{Loopback, Reply};
use expect_test::{Expect, expect};
use std::sync::Arc;
use std::time::Duration;

const CHAT: Api = Api::OpenAiCompletions;
const ANTHROPIC: Api = Api::AnthropicMessages;

/// A whole chat answer.
const ANSWER: &str = "data: {\"id\":\"r\",\"choices\":[{\"delta\":{\"content\":\"🌳\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Its beginning.
const HALF: &str = "data: {\"id\":\"r\",\"choices\":[{\"delta\":{\"content\":\"Hm\"}}]}\n\n";

async fn fail(model: &Model, http: Arc<Http>) -> ProviderError {
    let error = ask(&*provider(model.api, http, Keys(true)), model).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(KEY), "the key is in {error:?}");
    error
}

/// Asks a server with one reply; its port is not part of what is expected.
async fn check_with(http: Arc<Http>, api: Api, reply: Reply, expect: Expect) {
    let server = Loopback::start([reply]).unwrap();
    let error = fail(&model(api, &server.url()), http).await;
    let url = server.url();
    let host = url.strip_prefix("http://").unwrap();
    expect.assert_eq(&format!("{error:?}").replace(&url, "URL").replace(host, "HOST"));
}

async fn check(reply: Reply, expect: Expect) {
    check_with(http(), CHAT, reply, expect).await;
}

fn impatient() -> Arc<Http> {
    let idle_timeout = Duration::from_millis(100);
    Arc::new(Http::new(HttpSettings { idle_timeout, ..HttpSettings::default() }))
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    // The port was free a moment ago, so nobody listens on it.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fail(&model(CHAT, &format!("http://{address}")), http()).await;
    let message = format!("{address} refuses the connection. Is the server running?");
    assert_eq!(error, ProviderError::Network { message });
}

#[tokio::test]
async fn a_host_that_nobody_knows() {
    // A name that no resolver needs to ask about: its first part is too long.
    let host = format!("{}.invalid", "a".repeat(64));
    let error = fail(&model(CHAT, &format!("http://{host}/v1")), http()).await;
    let expected = format!("network error: the host of {host} is not known. Check the base URL and the network. (");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[tokio::test]
async fn an_address_that_is_none() {
    for url in ["localhost:11434", "ftp://a.test", "", "http://"] {
        let error = fail(&model(CHAT, url), http()).await;
        assert!(matches!(&error, ProviderError::Unsupported { message } if message.contains("base URL")), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls() {
    let server = Loopback::start([]).unwrap();
    let url = server.url().replace("http://", "https://");
    let error = fail(&model(CHAT, &url), http()).await.to_string();
    assert!(error.starts_with("network error: no secure connection to 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn a_header_that_cannot_be_sent() {
    let mut model = model(CHAT, "http://127.0.0.1:1");
    model.headers.insert("x-token".to_owned(), "secret\nvalue".to_owned());
    let message = "the request header `x-token` has characters that cannot be sent".to_owned();
    assert_eq!(fail(&model, http()).await, ProviderError::Unsupported { message });
}

#[tokio::test]
async fn a_key_that_cannot_be_sent() {
    let mut model = model(CHAT, "http://127.0.0.1:1");
    model.headers.insert("Authorization".to_owned(), "Bearer one\ntwo".to_owned());
    let message = "the key for the header `Authorization` has characters that cannot be sent".to_owned();
    let expected = ProviderError::Auth { provider: "acme".to_owned(), status: None, message };
    assert_eq!(fail(&model, http()).await, expected);
}

#[tokio::test]
async fn a_wrong_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}","code":"invalid_api_key"}}}}"#);
    check(
        Reply::json(401, body),
        expect![[r#"Auth { provider: "acme", status: Some(401), message: "Incorrect API key provided: [secret]" }"#]],
    )
    .await;
}

#[tokio::test]
async fn no_key() {
    let server = Loopback::start([Reply::json(401, r#"{"error":{"message":"who?"}}"#)]).unwrap();
    let error = ask(&*provider(CHAT, http(), Keys(false)), &model(CHAT, &server.url())).await.unwrap_err();
    assert_eq!(error.to_string(), "authentication failed for acme: no key was sent. who?");
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn too_many_requests() {
    let reply = Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "7");
    check(reply, expect![[r#"RateLimit { status: 429, message: "slow down", retry_after: Some(7s) }"#]]).await;
}

#[tokio::test]
async fn an_overloaded_server() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let expect = expect![[r#"Overloaded { status: 529, message: "Overloaded", retry_after: None }"#]];
    check_with(http(), ANTHROPIC, Reply::json(529, body), expect).await;
}

#[tokio::test]
async fn a_conversation_that_is_too_long() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#;
    let expect = expect![[r#"ContextOverflow { status: Some(400), message: "prompt is too long: 2 > 1" }"#]];
    check_with(http(), ANTHROPIC, Reply::json(400, body), expect).await;
}

#[tokio::test]
async fn a_model_that_is_not_there() {
    check(
        Reply::json(404, r#"{"error":{"message":"model `m-1` not found"}}"#),
        expect![[
            r#"BadRequest { status: 404, message: "model or path not found at URL/chat/completions: model `m-1` not found" }"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let reply = Reply::text(302, "").header("location", "http://other.test/v1?key=1");
    check(
        reply,
        expect![[
            r#"BadRequest { status: 302, message: "URL/chat/completions redirects to http://other.test/v1. Put the right address into the base URL." }"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn a_web_page_in_place_of_an_answer() {
    check(
        Reply::html(200, "\n <!doctype html><title>Welcome</title>"),
        expect![[
            r#"Network { message: "URL/chat/completions answered with a web page: this is no model server. Check the base URL." }"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn an_error_that_calls_itself_a_success() {
    check(
        Reply::json(200, r#"{"error":{"message":"no credits","code":429}}"#),
        expect![[r#"RateLimit { status: 200, message: "no credits", retry_after: None }"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_without_a_stream() {
    check(
        Reply::json(200, r#"{"choices":[{"message":{"content":"hi"}}]}"#),
        expect![[
            r#"Unsupported { message: "URL/chat/completions answered without a stream: {\"choices\":[{\"message\":{\"content\":\"hi\"}}]}" }"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn a_stream_under_a_wrong_name_is_still_read() {
    let server = Loopback::start([Reply::text(200, ANSWER)]).unwrap();
    let deltas = ask(&*provider(CHAT, http(), Keys(true)), &model(CHAT, &server.url())).await.unwrap();
    assert!(deltas.contains(&Delta::Text("🌳".to_owned())), "{deltas:?}");
}

#[tokio::test]
async fn a_character_in_two_chunks() {
    let middle = ANSWER.find('🌳').unwrap() + 2;
    let reply = Reply::sse(ANSWER).split_at(&[middle, middle + 1]).pause(Duration::from_millis(5));
    let server = Loopback::start([reply]).unwrap();
    let deltas = ask(&*provider(CHAT, http(), Keys(true)), &model(CHAT, &server.url())).await.unwrap();
    assert!(deltas.contains(&Delta::Text("🌳".to_owned())), "{deltas:?}");
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    check(
        Reply::sse("data: ").bytes(b"\xff\xfe\n\n"),
        expect![[r#"StreamBroken { message: "the server sent text that is not UTF-8" }"#]],
    )
    .await;
}

#[tokio::test]
async fn a_connection_that_closes_in_the_middle() {
    let expected = "stream broken: 127.0.0.1:";
    let replies = [Reply::sse(HALF).then_close(), Reply::sse(HALF).content_length(HALF.len() + 10).then_close()];
    for reply in replies {
        let server = Loopback::start([reply]).unwrap();
        let error = fail(&model(CHAT, &server.url()), http()).await.to_string();
        assert!(error.starts_with(expected) && error.contains("stopped in the middle of its answer"), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer() {
    for reply in [Reply::sse(HALF), Reply::sse(HALF).until_close(), Reply::sse("")] {
        let expect = expect![[r#"StreamBroken { message: "the server ended its answer before it was complete" }"#]];
        check(reply, expect).await;
    }
}

#[tokio::test]
async fn garbage_in_a_line() {
    check(
        Reply::sse(format!("{HALF}data: {{\"oops {KEY}\n\n")),
        expect![[
            r#"StreamBroken { message: "an event cannot be read (EOF while parsing a string at line 1 column 23): {\"oops [secret]" }"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn a_failure_in_the_middle_of_a_stream() {
    let event = format!(r#"{{"type":"error","error":{{"type":"rate_limit_error","message":"{KEY} is busy"}}}}"#);
    let expect = expect![[r#"RateLimit { status: 200, message: "[secret] is busy", retry_after: None }"#]];
    check_with(http(), ANTHROPIC, Reply::sse(format!("event: error\ndata: {event}\n\n")), expect).await;
}

#[tokio::test]
async fn silence_in_place_of_an_answer() {
    let expect = expect![[r#"Network { message: "HOST gave no answer within 0.1 s" }"#]];
    check_with(impatient(), CHAT, Reply::silent(), expect).await;
}

#[tokio::test]
async fn silence_in_the_middle_of_an_answer() {
    let expect = expect![[r#"StreamBroken { message: "HOST sent nothing for 0.1 s" }"#]];
    check_with(impatient(), CHAT, Reply::sse(HALF).then_hang(), expect).await;
}
