//! The provider of all models, over real connections.

use crate::common::{KEY, prompt, request, transcript};
use dryad_protocol::model::{Api, Model};
use dryad_provider::error::ProviderError;
use dryad_provider::http::Http;
use dryad_provider::keys::Keys;
use dryad_provider::models_file::ModelsFile;
use dryad_provider::provider::Provider as _;
use dryad_provider::registry::{ModelChoice, Models, Providers};
use dryad_provider::scripted::Script;
use dryad_testkit::loopback::{Loopback, Reply};
use std::path::Path;
use std::sync::Arc;

const RESPONSES: &str = include_str!("../fixtures/openai_responses/text.sse");
const GEMINI: &str = include_str!("../fixtures/google/text.sse");
const ANTHROPIC: &str = include_str!("../fixtures/anthropic/thinking_and_calls.sse");
const CHAT: &str = include_str!("../fixtures/openai_chat/openai_calls.sse");

/// A provider `mine` at the server that speaks `api`, configured in `models.json` with key and headers.
fn configured(server: &Loopback, api: Api) -> (Models, Providers) {
    let text = format!(
        r#"{{"providers": {{"mine": {{"baseUrl": "{}", "api": "{}", "apiKey": "MY_KEY", "authHeader": true,
            "headers": {{"x-team": "!team", "x-plain": "as is"}}, "models": [{{"id": "m-1"}}]}}}}}}"#,
        server.url(),
        api.as_str()
    );
    let file = Arc::new(ModelsFile::parse(&text, Path::new("models.json")).unwrap());
    let environment = Arc::new(|name: &str| (name == "MY_KEY").then(|| KEY.to_owned()));
    let keys = Keys::new(environment, Arc::clone(&file));
    let keys = Arc::new(keys.with_runner(Arc::new(|_| Box::pin(async { Ok("team-secret-99\n".to_owned()) }))));
    (Models::new(file, Arc::clone(&keys)), Providers::new(Arc::new(Http::default()), keys))
}

fn chosen(models: &Models) -> Model {
    models.resolve(ModelChoice { provider: None, model: "mine/m-1" }).unwrap().model
}

async fn answer(providers: &Providers, model: &Model) -> Result<String, ProviderError> {
    let messages = prompt();
    Ok(transcript(providers.stream(request(model, &messages)).await?).await)
}

#[tokio::test]
async fn each_api_gets_its_path_its_key_and_the_configured_headers() {
    let cases = [
        (Api::AnthropicMessages, ANTHROPIC, "/v1/messages", "authorization", format!("Bearer {KEY}")),
        (Api::OpenAiCompletions, CHAT, "/chat/completions", "authorization", format!("Bearer {KEY}")),
        (Api::OpenAiResponses, RESPONSES, "/responses", "authorization", format!("Bearer {KEY}")),
        (
            Api::GoogleGenerativeAi,
            GEMINI,
            "/v1beta/models/m-1:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
    ];
    for (api, stream, path, header, value) in cases {
        let server = Loopback::start([Reply::sse(stream)]).unwrap();
        let (models, providers) = configured(&server, api);
        let lines = answer(&providers, &chosen(&models)).await.unwrap();
        assert!(lines.contains("Stop(") && !lines.contains("error:"), "{api:?}: {lines}");
        let asked = server.requests().remove(0);
        assert_eq!(asked.path, path, "{api:?}");
        assert_eq!(asked.header(header), Some(value.as_str()), "{api:?}");
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{api:?}");
        assert_eq!((asked.header("x-team"), asked.header("x-plain")), (Some("team-secret-99"), Some("as is")));
        assert_eq!(asked.json().unwrap().get("model").is_some(), api != Api::GoogleGenerativeAi);
    }
}

#[tokio::test]
async fn nothing_secret_is_shown_when_a_server_echoes_it() {
    for api in [Api::AnthropicMessages, Api::OpenAiCompletions, Api::OpenAiResponses, Api::GoogleGenerativeAi] {
        let echo =
            format!(r#"{{"error": {{"message": "bad key {KEY} of team-secret-99", "type": "invalid_request"}}}}"#);
        let server = Loopback::start([Reply::text(400, echo)]).unwrap();
        let (models, providers) = configured(&server, api);
        let model = chosen(&models);
        let error = answer(&providers, &model).await.unwrap_err();
        let shown = format!("{error} {error:?} {model:?}");
        assert!(
            shown.contains("bad key") && !shown.contains(KEY) && !shown.contains("team-secret"),
            "{api:?}: {shown}"
        );
    }
}

#[tokio::test]
async fn nothing_secret_is_shown_when_a_stream_echoes_it() {
    let event = |inner: String| format!("data: {inner}\n\n");
    let cases = [
        (Api::OpenAiResponses, event(format!(r#"{{"type":"error","code":"x","message":"what is {KEY}"}}"#))),
        (Api::GoogleGenerativeAi, event(format!(r#"{{"error":{{"code":400,"message":"what is {KEY}"}}}}"#))),
        (Api::GoogleGenerativeAi, event(format!("garbage {KEY}"))),
    ];
    for (api, stream) in cases {
        let server = Loopback::start([Reply::sse(stream)]).unwrap();
        let (models, providers) = configured(&server, api);
        let lines = answer(&providers, &chosen(&models)).await.unwrap();
        assert!(lines.contains("error: ") && !lines.contains(KEY), "{api:?}: {lines}");
    }
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_sent() {
    let keys = Arc::new(Keys::new(Arc::new(|_: &str| None), Arc::default()));
    let providers = Providers::new(Arc::new(Http::default()), Arc::clone(&keys));
    let models = Models::new(Arc::default(), keys);
    for name in ["anthropic/claude-opus-5", "openai/o3", "google/gemini-2.5-pro", "groq/openai/gpt-oss-120b"] {
        let model = models.resolve(ModelChoice { provider: None, model: name }).unwrap().model;
        let error = answer(&providers, &model).await.unwrap_err();
        assert!(matches!(&error, ProviderError::Auth { .. }) && error.to_string().contains("_API_KEY"), "{error}");
    }
}

#[tokio::test]
async fn scripts_need_neither_key_nor_network() {
    let keys = Arc::new(Keys::new(Arc::new(|_: &str| None), Arc::default()));
    let models = Models::new(Arc::default(), Arc::clone(&keys)).with_script("story");
    let providers = Providers::new(Arc::new(Http::default()), keys).with_script("story", Script::new().text("once"));
    let model = |name| models.resolve(ModelChoice { provider: None, model: name }).unwrap().model;
    assert!(answer(&providers, &model("scripted/demo")).await.unwrap().contains("Text(\"I \")"));
    assert!(answer(&providers, &model("scripted/story")).await.unwrap().contains("Text(\"once\")"));
    let unknown = Model { id: "nothing".to_owned(), ..model("scripted/demo") };
    let error = answer(&providers, &unknown).await.unwrap_err();
    assert_eq!(error.to_string(), "unsupported: there is no script `nothing`");
}
