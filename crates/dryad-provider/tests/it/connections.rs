//! What a server sees of us: headers and paths, connections that are kept, connections that close.

use crate::common::{KEY, Keys, ask, http, model, prompt, provider, request};
use dryad_protocol::message::StopReason;
use dryad_protocol::model::Api;
use dryad_provider::delta::Delta;
use dryad_testkit::loopback::{Loopback, Reply};
use futures_util::stream::StreamExt as _;
use std::time::Duration;

const APIS: [Api; 4] = [Api::AnthropicMessages, Api::OpenAiCompletions, Api::OpenAiResponses, Api::GoogleGenerativeAi];

fn answer(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => concat!(
            "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n"
        ),
        Api::OpenAiResponses => concat!(
            "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n",
            "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\"}}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"
        ),
        Api::GoogleGenerativeAi => concat!(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]}}]}\n\n",
            "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"
        ),
        Api::OpenAiCompletions | Api::Scripted => concat!(
            "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n"
        ),
    }
}

fn expected() -> Vec<Delta> {
    vec![
        Delta::TextStart,
        Delta::Text("hi".to_owned()),
        Delta::TextEnd { signature: None },
        Delta::Stop(StopReason::Stop),
    ]
}

#[tokio::test]
async fn turns_share_one_connection() {
    for api in APIS {
        let text = answer(api);
        // The end of the body comes a little after the last event.
        let late = Reply::sse(text).bytes(b": bye\n\n").pause(Duration::from_millis(20));
        let server = Loopback::start([Reply::sse(text), late, Reply::sse(text).content_length(text.len())]).unwrap();
        let provider = provider(api, http(), Keys(true));
        for _ in 0..3 {
            assert_eq!(ask(&*provider, &model(api, &server.url())).await.unwrap(), expected());
        }
        assert_eq!((server.requests().len(), server.connections()), (3, 1), "{api:?}");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_gave_up_is_replaced() {
    let api = Api::OpenAiCompletions;
    let server = Loopback::start([Reply::sse(answer(api)).until_close(), Reply::sse(answer(api))]).unwrap();
    let provider = provider(api, http(), Keys(true));
    for _ in 0..2 {
        assert_eq!(ask(&*provider, &model(api, &server.url())).await.unwrap(), expected());
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for api in APIS {
        let first = answer(api).split_inclusive("\n\n").next().unwrap();
        let server = Loopback::start([Reply::sse(first).then_hang()]).unwrap();
        let model = model(api, &server.url());
        let messages = prompt();
        let provider = provider(api, http(), Keys(true));
        let mut deltas = provider.stream(request(&model, &messages)).await.unwrap();
        assert_eq!(deltas.next().await, Some(Ok(Delta::TextStart)));
        drop(deltas);
        server.closed(0).await.unwrap();
    }
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    for api in APIS {
        let server = Loopback::start([Reply::silent()]).unwrap();
        let model = model(api, &server.url());
        let messages = prompt();
        let provider = provider(api, http(), Keys(true));
        tokio::select! {
            _ = provider.stream(request(&model, &messages)) => panic!("a silent server has answered"),
            requested = server.requested(1) => requested.unwrap(),
        }
        server.closed(0).await.unwrap();
    }
}

#[tokio::test]
async fn chat_requests_carry_a_bearer_key_and_the_models_headers() {
    let api = Api::OpenAiCompletions;
    let server = Loopback::start([Reply::sse(answer(api))]).unwrap();
    let mut model = model(api, &format!("{}/v1/", server.url()));
    model.headers.insert("X-Title".to_owned(), "dryad".to_owned());
    ask(&*provider(api, http(), Keys(true)), &model).await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(seen.header("x-title"), Some("dryad"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("user-agent"), Some(concat!("dryad/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(seen.json().unwrap()["messages"][0]["content"], "hello");
}

#[tokio::test]
async fn anthropic_requests_carry_their_key_and_version() {
    let api = Api::AnthropicMessages;
    let server = Loopback::start([Reply::sse(answer(api))]).unwrap();
    ask(&*provider(api, http(), Keys(true)), &model(api, &server.url())).await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn an_authorization_of_the_models_own_takes_the_keys_place() {
    let api = Api::AnthropicMessages;
    let server = Loopback::start([Reply::sse(answer(api))]).unwrap();
    let mut model = model(api, &server.url());
    model.headers.insert("Authorization".to_owned(), "Bearer own".to_owned());
    ask(&*provider(api, http(), Keys(true)), &model).await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer own"));
    assert_eq!(seen.header("x-api-key"), None);
}

#[tokio::test]
async fn a_small_text_can_be_fetched() {
    let server = Loopback::start([Reply::json(200, "{\"data\":[]}"), Reply::silent()]).unwrap();
    let http = http();
    let url = format!("{}/v1/models", server.url());
    assert_eq!(http.get(&url, Duration::from_secs(5)).await.unwrap(), "{\"data\":[]}");
    assert_eq!(server.requests()[0].method, "GET");
    let error = http.get(&url, Duration::from_millis(50)).await.unwrap_err().to_string();
    assert!(error.ends_with("gave no answer within 0.1 s"), "{error}");
}
