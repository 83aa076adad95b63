//! What is accepted, what is refused and how, and the merge order.

use super::*;
use dryad_protocol::model::{Api, Input, Model};

fn parse(text: &str) -> ModelsFile {
    ModelsFile::parse(text, Path::new("models.json")).unwrap()
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let error = ModelsFile::parse(text, Path::new("models.json")).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn find<'a>(models: &'a [Model], id: &str) -> &'a Model {
    models.iter().find(|model| model.id == id).unwrap()
}

#[test]
fn an_own_model_gets_the_defaults() {
    let file = parse(
        r#"{"providers": {"mine": {"baseUrl": "http://localhost:9/v1/", "api": "openai-completions", "auth": "none",
            "models": [{"id": "m"}]}}}"#,
    );
    let models = file.own_models("mine");
    assert_eq!(models.len(), 1);
    let model = &models[0];
    assert_eq!((model.name.as_str(), model.base_url.as_str()), ("m", "http://localhost:9/v1"));
    assert_eq!((model.context_window, model.max_tokens), (128_000, 16_384));
    assert_eq!((model.api, &model.input, model.reasoning), (Api::OpenAiCompletions, &vec![Input::Text], false));
    assert_eq!(file.keyless("mine"), Some(true));
}

#[test]
fn later_layers_win() {
    let file = parse(
        r#"{"providers": {"openai": {
            "baseUrl": "http://proxy/v1",
            "compat": {"supportsStrictMode": false, "supportsToolChoice": true},
            "modelOverrides": {"o3": {"name": "Overridden", "contextWindow": 5, "cost": {"input": 7},
                                      "compat": {"supportsStrictMode": true}},
                               "gpt-4o": {"name": "hidden by the own one"}},
            "models": [{"id": "gpt-4o", "maxTokens": 9}, {"id": "new", "input": ["text", "image"], "api": "openai-completions"}]}}}"#,
    );
    let built_in = catalogue::models("openai");
    let models = file.merge("openai", built_in.clone());
    assert_eq!(models.len(), built_in.len() + 1);
    let o3 = find(&models, "o3");
    assert_eq!((o3.name.as_str(), o3.context_window, o3.base_url.as_str()), ("Overridden", 5, "http://proxy/v1"));
    assert_eq!((o3.cost.input, o3.cost.output), (7.0, find(&built_in, "o3").cost.output));
    assert_eq!((o3.compat.supports_strict_mode, o3.compat.supports_tool_choice), (Some(true), Some(true)));
    let replaced = find(&models, "gpt-4o");
    assert_eq!((replaced.name.as_str(), replaced.max_tokens, replaced.context_window), ("gpt-4o", 9, 128_000));
    assert_eq!((replaced.api, replaced.base_url.as_str()), (Api::OpenAiResponses, "http://proxy/v1"));
    let new = find(&models, "new");
    assert!(new.has_vision());
    assert_eq!(new.api, Api::OpenAiCompletions);
    assert_eq!(find(&models, "gpt-4.1").base_url, "http://proxy/v1");
}

#[test]
fn a_thinking_range_makes_a_reasoning_model() {
    let file = parse(
        r#"{"providers": {"openai": {"models": [
            {"id": "t", "thinking": {"mode": "effort", "minLevel": "low", "maxLevel": "high"}}]}}}"#,
    );
    assert!(file.own_models("openai")[0].reasoning);
    assert_eq!(file.own_models("openai")[0].base_url, "https://api.openai.com/v1");
}

#[test]
fn unknown_keys_are_listed_and_do_no_harm() {
    let file = parse(
        r#"{"$schema": "x", "providers": {"mine": {"baseUrl": "http://a", "api": "openai-completions", "color": 1,
            "compat": {"supportsStore": false, "supportsStrictMode": true}, "discovery": {"type": "llama.cpp", "every": 5},
            "models": [{"id": "m", "speed": 3, "cost": {"thinking": 1}}], "modelOverrides": {"m": {"old": true}}}}}"#,
    );
    assert_eq!(
        file.unknown_keys(),
        [
            "$schema",
            "providers.mine.color",
            "providers.mine.compat.supportsStore",
            "providers.mine.discovery.every",
            "providers.mine.models[0].cost.thinking",
            "providers.mine.models[0].speed",
            "providers.mine.modelOverrides.m.old",
        ]
    );
    assert_eq!(file.discovery("mine"), Some((DiscoveryKind::LlamaCpp, Some("http://a"))));
}

#[test]
fn a_wrong_type_is_named_with_place_and_expectation() {
    refuses(
        "{\"providers\": {\"mine\": {\n  \"models\": [{\"id\": \"m\", \"contextWindow\": \"big\"}]}}}",
        "models.json:2:47: providers.mine.models[0].contextWindow: invalid type: string, expected u64",
    );
    refuses(
        r#"{"providers": {"mine": {"authHeader": "sk-secret"}}}"#,
        "models.json:1:49: providers.mine.authHeader: invalid type: string, expected a boolean",
    );
    refuses(
        r#"{"providers": {"mine": {"auth": "sk-secret"}}}"#,
        "models.json:1:43: providers.mine.auth: unknown value, expected `apiKey` or `none`",
    );
    refuses(
        r#"{"providers": {"mine": {"compat": {"supportsStrictMode": "sk-secret"}}}}"#,
        "models.json:1:70: providers.mine.compat: `supportsStrictMode`: invalid type: string, expected a boolean",
    );
    refuses("[", "models.json:1:1: .: invalid type: sequence, expected an object with `providers`");
    refuses("{\"providers\": {}} x", "models.json:1:19: .: trailing characters");
}

#[test]
fn a_provider_that_cannot_work_is_refused() {
    let of = |entry: &str| format!(r#"{{"providers": {{"mine": {entry}}}}}"#);
    let complete = r#""baseUrl": "http://a", "api": "openai-completions""#;
    refuses(
        &of("{}"),
        "models.json: providers.mine: gives nothing: expected one of baseUrl, apiKey, headers, compat, models, modelOverrides, discovery",
    );
    refuses(
        &of(r#"{"baseUrl": "http://a"}"#),
        "models.json: providers.mine.models: missing: the provider is not built in, so it needs `models` or `discovery`",
    );
    refuses(
        &of(r#"{"api": "openai-completions", "models": [{"id": "m"}]}"#),
        "models.json: providers.mine.baseUrl: missing: expected a URL like `http://127.0.0.1:8080/v1`",
    );
    refuses(
        &of(r#"{"baseUrl": "http://a", "models": [{"id": "m"}]}"#),
        "models.json: providers.mine.models[0].api: missing, and the provider has no `api` either",
    );
    refuses(
        &of(&format!(r#"{{{complete}, "models": [{{}}]}}"#)),
        "models.json: providers.mine.models[0].id: missing: expected a string",
    );
    refuses(
        &of(&format!(r#"{{{complete}, "auth": "none", "apiKey": "k", "models": [{{"id": "m"}}]}}"#)),
        "models.json: providers.mine.auth: `none` contradicts the `apiKey` beside it",
    );
    refuses(
        r#"{"providers": {"openai": {"baseUrl": "localhost:8080"}}}"#,
        "models.json: providers.openai.baseUrl: expected a URL that begins with http:// or https://",
    );
}
