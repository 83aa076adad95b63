//! Error bodies of every vendor, and what they mean.

use super::*;

fn error(status: u16, body: &str) -> ProviderError {
    status_error(status, "acme", "https://acme.test/v1/x", ServerText::parse(body), None)
}

fn message(body: &str) -> String {
    ServerText::parse(body).message
}

#[test]
fn finds_the_message_in_every_vendors_shape() {
    let shapes = [
        r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#,
        r#"{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}"#,
        r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#,
        r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}"#,
        r#"{"error":"m"}"#,
        r#"{"object":"error","message":"m","type":"BadRequestError"}"#,
        r#"{"detail":"m"}"#,
        " m\n",
    ];
    for shape in shapes {
        assert_eq!(message(shape), "m", "{shape}");
    }
}

#[test]
fn an_upstream_reason_is_added() {
    let body = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"too hot"}}}"#;
    assert_eq!(message(body), "Provider returned error: too hot");
}

#[test]
fn a_text_in_no_known_shape_is_shown_in_short() {
    assert_eq!(message(&"ü ".repeat(400)).chars().count(), 301);
}

#[test]
fn statuses_have_their_meaning() {
    let body = r#"{"error":{"message":"m"}}"#;
    let m = || "m".to_owned();
    for status in [401, 403] {
        let expected = ProviderError::Auth { provider: "acme".into(), status: Some(status), message: m() };
        assert_eq!(error(status, body), expected);
    }
    assert_eq!(error(429, body), ProviderError::RateLimit { status: 429, message: m(), retry_after: None });
    for status in [500, 502, 503, 504, 529] {
        assert_eq!(error(status, body), ProviderError::Overloaded { status, message: m(), retry_after: None });
    }
    assert_eq!(error(413, body), ProviderError::ContextOverflow { status: Some(413), message: m() });
    for status in [400, 402, 422] {
        assert_eq!(error(status, body), ProviderError::BadRequest { status, message: m() });
    }
    let message = "model or path not found at https://acme.test/v1/x: m".to_owned();
    assert_eq!(error(404, body), ProviderError::BadRequest { status: 404, message });
    let message = "https://acme.test/v1/x gave no reason".to_owned();
    assert_eq!(error(400, ""), ProviderError::BadRequest { status: 400, message });
}

#[test]
fn every_vendors_overflow_is_an_overflow() {
    let texts = [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "Your input exceeds the context window of this model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "the request exceeds the available context size, try increasing it",
        "Please reduce the length of the messages or completion.",
    ];
    for text in texts {
        let body = serde_json::json!({"error": {"message": text}}).to_string();
        let overflow = |status| ProviderError::ContextOverflow { status, message: text.to_owned() };
        assert_eq!(error(400, &body), overflow(Some(400)));
        assert_eq!(stream_error("acme", "", text.into()), overflow(None));
    }
    let body = r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#;
    assert_eq!(error(400, body), ProviderError::ContextOverflow { status: Some(400), message: "no".to_owned() });
}

#[test]
fn a_bad_key_told_with_another_status_is_still_a_bad_key() {
    let body = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}"#;
    assert!(matches!(error(400, body), ProviderError::Auth { .. }));
}

#[test]
fn errors_inside_a_stream_are_typed() {
    let of = |kind: &str| stream_error("acme", kind, "m".to_owned());
    let message = "m".to_owned();
    let overloaded = ProviderError::Overloaded { status: 200, message: message.clone(), retry_after: None };
    assert_eq!(of("overloaded_error"), overloaded);
    assert_eq!(of("server_error 503"), overloaded);
    assert_eq!(
        of("rate_limit_error"),
        ProviderError::RateLimit { status: 200, message: message.clone(), retry_after: None }
    );
    let refused = ProviderError::Auth { provider: "acme".into(), status: None, message: message.clone() };
    assert_eq!(of("authentication_error"), refused);
    assert_eq!(of("invalid_request_error"), ProviderError::BadRequest { status: 200, message });
}
