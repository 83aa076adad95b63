//! From names to models.

use super::*;
use crate::catalogue::DEFAULT_CONTEXT_WINDOW;
use crate::keys::Environment;
use dryad_protocol::model::Api;
use dryad_protocol::thinking::ThinkingLevel;
use std::path::Path;

const FILE: &str = r#"{"providers": {
    "mine": {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "auth": "none",
             "models": [{"id": "qwen3:8b"}, {"id": "gpt-oss-120b", "contextWindow": 7}, {"id": "tiny:high"}]},
    "home": {"baseUrl": "http://127.0.0.1:2", "discovery": {"type": "llama.cpp"}}}}"#;

fn models(variables: &'static [&'static str]) -> Models {
    let file = Arc::new(ModelsFile::parse(FILE, Path::new("models.json")).unwrap());
    let environment = Arc::new(move |name: &str| variables.contains(&name).then(|| "key".to_owned()));
    Models::new(Arc::clone(&file), Arc::new(Keys::new(environment, file)))
}

fn resolve(models: &Models, provider: Option<&str>, model: &str) -> Result<Resolved, ModelError> {
    models.resolve(ModelChoice { provider, model })
}

#[track_caller]
fn finds(models: &Models, provider: Option<&str>, text: &str, expected: &str) {
    let found = resolve(models, provider, text).unwrap();
    let level = found.thinking.map(|level| format!(":{level}")).unwrap_or_default();
    assert_eq!(format!("{}{level}", found.model.full_name()), expected);
}

#[track_caller]
fn fails(models: &Models, provider: Option<&str>, text: &str, expected: &str) {
    assert_eq!(resolve(models, provider, text).unwrap_err().to_string(), expected);
}

#[test]
fn a_full_name_is_found_with_and_without_a_level() {
    let models = models(&[]);
    finds(&models, None, "openai/gpt-4o", "openai/gpt-4o");
    finds(&models, None, "openai/o3:high", "openai/o3:high");
    finds(&models, Some("openai"), "o3", "openai/o3");
    finds(&models, Some("openai"), "openai/o3:low", "openai/o3:low");
    finds(&models, None, "scripted/demo", "scripted/demo");
    finds(&models, None, "anthropic/claude-opus-5", "anthropic/claude-opus-5");
    finds(&models, None, "openrouter/anthropic/claude-opus-5", "openrouter/anthropic/claude-opus-5");
}

#[test]
fn an_id_may_contain_colons_and_even_a_level() {
    let models = models(&[]);
    finds(&models, None, "mine/qwen3:8b", "mine/qwen3:8b");
    finds(&models, None, "mine/qwen3:8b:medium", "mine/qwen3:8b:medium");
    finds(&models, None, "mine/tiny:high", "mine/tiny:high");
    finds(&models, None, "mine/tiny:high:low", "mine/tiny:high:low");
}

#[test]
fn a_bare_id_prefers_what_can_be_asked_now() {
    finds(&models(&[]), None, "gpt-oss-120b", "mine/gpt-oss-120b");
    finds(&models(&[]), None, "claude-opus-4-8", "anthropic/claude-opus-4-8");
    let both = models(&["CEREBRAS_API_KEY"]);
    fails(&both, None, "gpt-oss-120b", "`gpt-oss-120b` fits 2 models: mine/gpt-oss-120b, cerebras/gpt-oss-120b");
}

#[test]
fn a_part_of_a_name_must_fit_one_model() {
    let models = models(&["ANTHROPIC_API_KEY"]);
    finds(&models, None, "haiku-4-5", "anthropic/claude-haiku-4-5");
    finds(&models, None, "OPUS-4-8:xhigh", "anthropic/claude-opus-4-8:xhigh");
    finds(&models, Some("google"), "4-argon", "google/gemini-4-argon");
    let error = resolve(&models, None, "claude").unwrap_err();
    let ModelError::Ambiguous { candidates, count, .. } = &error else { panic!("{error}") };
    assert_eq!(candidates.len(), 8);
    assert!(*count > 8 && error.to_string().ends_with(", …"), "{error}");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    let models = models(&[]);
    fails(&models, Some("opnai"), "o3", "unknown provider `opnai`; did you mean openai?");
    fails(
        &models,
        Some("anthropic"),
        "claude-opus-99",
        "unknown model `claude-opus-99`; did you mean anthropic/claude-opus-5, anthropic/claude-opus-4-5, anthropic/claude-opus-4-6, anthropic/claude-opus-4-7, anthropic/claude-opus-4-8?",
    );
    fails(&models, None, "zzzzzz", "unknown model `zzzzzz`");
    fails(&models, None, "", "unknown model ``");
}

#[test]
fn a_provider_that_serves_more_takes_any_full_id() {
    let models = models(&[]);
    let found = resolve(&models, None, "openrouter/new/shiny:free").unwrap();
    assert_eq!(found.model.full_name(), "openrouter/new/shiny:free");
    assert_eq!((found.model.context_window, found.model.api), (DEFAULT_CONTEXT_WINDOW, Api::OpenAiCompletions));
    let found = resolve(&models, None, "openrouter/new/shiny:low").unwrap();
    assert_eq!((found.model.id.as_str(), found.thinking), ("new/shiny", Some(ThinkingLevel::Low)));
    assert!(resolve(&models, None, "openai/shiny").is_err());
}

#[test]
fn a_local_provider_is_asked_before_its_models_are_known() {
    let models = models(&[]);
    let environment: Environment = Arc::new(|_| None);
    let wants = |models: &Models, text| {
        let endpoint = models.wants_discovery(ModelChoice { provider: None, model: text }, &environment)?;
        Some(format!("{} {:?} {}", endpoint.provider, endpoint.kind, endpoint.root))
    };
    assert_eq!(wants(&models, "ollama/qwen3").unwrap(), "ollama Ollama http://127.0.0.1:11434");
    assert_eq!(wants(&models, "home/x").unwrap(), "home LlamaCpp http://127.0.0.1:2");
    assert_eq!(wants(&models, "mine/qwen3:8b"), None);
    assert_eq!(wants(&models, "openai/o3"), None);
    let mut found = scripted::model("qwen3");
    found.provider = "ollama".to_owned();
    let models = models.with_discovered(vec![found]);
    assert_eq!(wants(&models, "ollama/qwen3"), None);
    finds(&models, None, "ollama/qwen3", "ollama/qwen3");
}

#[test]
fn configured_servers_stand_before_the_usual_ones() {
    let text = r#"{"providers": {"ollama": {"baseUrl": "http://box:1/v1", "discovery": {"type": "ollama"}},
        "second": {"discovery": {"type": "vllm"}}}}"#;
    let file = Arc::new(ModelsFile::parse(text, Path::new("models.json")).unwrap());
    let environment: Environment = Arc::new(|_| None);
    let models = Models::new(Arc::clone(&file), Arc::new(Keys::new(Arc::clone(&environment), file)));
    let endpoints = models.endpoints(&environment);
    let places: Vec<_> = endpoints.iter().map(|endpoint| format!("{} {}", endpoint.provider, endpoint.root)).collect();
    let expected = [
        "ollama http://box:1",
        "second http://127.0.0.1:8000",
        "llama.cpp http://127.0.0.1:8080",
        "lm-studio http://127.0.0.1:1234",
        "vllm http://127.0.0.1:8000",
    ];
    assert_eq!(places, expected);
}

#[test]
fn the_list_tells_what_can_be_asked() {
    let models = models(&["OPENAI_API_KEY"]);
    let all = models.list("");
    let available = |name: &str| all.iter().find(|listed| listed.model.full_name() == name).unwrap().is_available;
    assert!(available("scripted/demo") && available("mine/qwen3:8b") && available("openai/o3"));
    assert!(!available("anthropic/claude-opus-5"));
    let names: Vec<_> = models.list("GPT-OSS mine").iter().map(|listed| listed.model.full_name()).collect();
    assert_eq!(names, ["mine/gpt-oss-120b"]);
    assert!(models.list("nothing like it").is_empty());
}

#[test]
fn the_preferred_model_is_one_that_can_be_asked() {
    assert_eq!(models(&["OPENAI_API_KEY"]).preferred().unwrap().full_name(), "mine/qwen3:8b");
    let preferred = |variables: &'static [&'static str]| {
        let environment = Arc::new(move |name: &str| variables.contains(&name).then(|| "key".to_owned()));
        let file = Arc::new(ModelsFile::default());
        let models = Models::new(Arc::clone(&file), Arc::new(Keys::new(environment, file)));
        models.preferred().map(|model| model.provider)
    };
    assert_eq!(preferred(&["OPENAI_API_KEY"]).as_deref(), Some("openai"));
    assert_eq!(preferred(&["GROQ_API_KEY", "ANTHROPIC_API_KEY"]).as_deref(), Some("anthropic"));
    assert_eq!(preferred(&[]), None);
}
