//! The order of the sources, and that nothing of a key is ever shown.

use super::*;
use std::collections::HashMap;
use std::path::Path;

const PATH: &str = "auth.json";

fn environment(variables: &[(&'static str, &'static str)]) -> Environment {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    Arc::new(move |name| variables.get(name).map(|&value| value.to_owned()))
}

fn models(text: &str) -> Arc<ModelsFile> {
    Arc::new(ModelsFile::parse(text, Path::new("models.json")).unwrap())
}

fn stored(text: &str) -> AuthFile {
    AuthFile::parse(text, Path::new(PATH)).unwrap()
}

async fn key(keys: &Keys, provider: &str) -> Option<String> {
    keys.key(provider).await.unwrap().map(|secret| secret.expose().to_owned())
}

fn echo() -> CommandRunner {
    Arc::new(|command| {
        let command = command.to_owned();
        Box::pin(async move { command.strip_prefix("echo").map(|text| format!("{text}\n")).ok_or("exit 1".to_owned()) })
    })
}

#[tokio::test]
async fn flag_beats_file_beats_environment_beats_models() {
    let file = models(r#"{"providers": {"anthropic": {"apiKey": "from-models"}}}"#);
    let bare = Keys::new(environment(&[]), Arc::clone(&file));
    assert_eq!(key(&bare, "anthropic").await.unwrap(), "from-models");
    assert_eq!(bare.origin("anthropic"), Some(KeyOrigin::ModelsFile));

    let keys = Keys::new(environment(&[("ANTHROPIC_API_KEY", "from-environment")]), file);
    assert_eq!(key(&keys, "anthropic").await.unwrap(), "from-environment");
    assert_eq!(keys.origin("anthropic"), Some(KeyOrigin::Environment("ANTHROPIC_API_KEY".into())));

    let keys = keys.with_auth_file(stored(r#"{"anthropic": {"type": "api_key", "key": "stored"}, "groq": "plain"}"#));
    assert_eq!(key(&keys, "anthropic").await.unwrap(), "stored");
    assert_eq!(key(&keys, "groq").await.unwrap(), "plain");

    let keys = keys.with_flag("anthropic", Secret::new("flag"));
    assert_eq!(key(&keys, "anthropic").await.unwrap(), "flag");
    assert_eq!(keys.origin("anthropic"), Some(KeyOrigin::Flag));
    assert_eq!(key(&keys, "groq").await.unwrap(), "plain");
}

#[tokio::test]
async fn a_second_variable_and_an_empty_one() {
    let keys = Keys::new(environment(&[("GEMINI_API_KEY", ""), ("GOOGLE_API_KEY", "g")]), Arc::default());
    assert_eq!(key(&keys, "google").await.unwrap(), "g");
    assert_eq!(keys.origin("google"), Some(KeyOrigin::Environment("GOOGLE_API_KEY".into())));
}

#[tokio::test]
async fn local_servers_and_the_script_need_no_key() {
    let file = models(
        r#"{"providers": {
            "mine": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "auth": "none", "models": [{"id": "m"}]},
            "vllm": {"baseUrl": "http://127.0.0.1:1", "auth": "apiKey", "discovery": {"type": "vllm"}}}}"#,
    );
    let keys = Keys::new(environment(&[]), file);
    for provider in ["ollama", "llama.cpp", "lm-studio", "scripted", "mine"] {
        assert_eq!(key(&keys, provider).await, None, "{provider}");
        assert_eq!(keys.origin(provider), Some(KeyOrigin::NotNeeded), "{provider}");
    }
    assert_eq!(keys.origin("vllm"), None);
}

#[tokio::test]
async fn a_provider_that_wants_no_key_gets_none_from_anywhere_but_the_flag() {
    let file = models(r#"{"providers": {"openai": {"baseUrl": "http://proxy", "auth": "none"}}}"#);
    let keys = Keys::new(environment(&[("OPENAI_API_KEY", "k")]), file).with_auth_file(stored(r#"{"openai": "k"}"#));
    assert_eq!(key(&keys, "openai").await, None);
    assert_eq!(keys.origin("openai"), Some(KeyOrigin::NotNeeded));
    let keys = keys.with_flag("openai", Secret::new("flag"));
    assert_eq!(key(&keys, "openai").await.unwrap(), "flag");
}

#[tokio::test]
async fn a_missing_key_says_how_to_give_one() {
    let keys = Keys::new(environment(&[]), Arc::default());
    let error = keys.key("google").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "authentication failed for google: no key found; set GEMINI_API_KEY or GOOGLE_API_KEY, put it into auth.json, or use --api-key"
    );
    assert!(keys.key("mine").await.unwrap_err().to_string().contains("`\"auth\": \"none\"`"));
}

#[tokio::test]
async fn a_configured_value_is_a_command_a_variable_or_itself() {
    let environment = environment(&[("MY_KEY", "from-variable")]);
    let resolve = async |text: &str, runner: Option<CommandRunner>| {
        let value = ConfigValue::new(text).resolve(&environment, runner.as_ref()).await;
        value.map(|secret| secret.expose().to_owned())
    };
    assert_eq!(resolve("!echo from-command", Some(echo())).await.unwrap(), "from-command");
    assert_eq!(resolve("MY_KEY", None).await.unwrap(), "from-variable");
    assert_eq!(resolve("OTHER_KEY", None).await.unwrap(), "OTHER_KEY");
    assert_eq!(resolve("!echo secret", None).await.unwrap_err(), "it is a command, and commands cannot be run here");
    assert_eq!(resolve("!fail", Some(echo())).await.unwrap_err(), "the command failed: exit 1");
    assert_eq!(resolve("!echo ", Some(echo())).await.unwrap_err(), "the command printed nothing");
}

#[tokio::test]
async fn headers_are_looked_up_and_the_bearer_added_where_the_api_has_none() {
    let file = models(
        r#"{"providers": {"mine": {"baseUrl": "http://127.0.0.1:1", "api": "anthropic-messages", "apiKey": "!echo k",
            "authHeader": true, "headers": {"x-team": "TEAM", "x-who": "me"},
            "models": [{"id": "m", "headers": {"x-who": "model"}}, {"id": "o", "api": "openai-completions"}]}}}"#,
    );
    let keys = Keys::new(environment(&[("TEAM", "red")]), Arc::clone(&file)).with_runner(echo());
    let own = file.own_models("mine");
    let headers = keys.headers(&own[0]).await.unwrap();
    let headers: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(headers, ["authorization: Bearer k", "x-team: red", "x-who: model"]);
    assert_eq!(keys.headers(&own[1]).await.unwrap().get("authorization"), None);
}

#[test]
fn the_report_names_places_and_never_keys() {
    let keys = Keys::new(
        environment(&[("OPENAI_API_KEY", "sk-secret-1")]),
        models(r#"{"providers": {"zai": {"apiKey": "sk-secret-2"}}}"#),
    )
    .with_auth_file(stored(r#"{"custom": "sk-secret-3"}"#))
    .with_flag("groq", Secret::new("sk-secret-4"));
    let report = keys.report();
    let origin = |id: &str| report.iter().find(|(provider, _)| provider == id).unwrap().1.clone();
    assert_eq!(origin("openai").unwrap().to_string(), "OPENAI_API_KEY");
    assert_eq!(origin("zai").unwrap().to_string(), "models.json");
    assert_eq!(origin("custom").unwrap().to_string(), "auth.json");
    assert_eq!(origin("groq").unwrap().to_string(), "--api-key");
    assert_eq!(origin("anthropic"), None);
    let shown = format!("{report:?} {keys:?} {:?} {:?}", keys.auth_file, keys.models_file);
    assert!(!shown.contains("sk-secret"), "{shown}");
}

#[test]
fn a_bad_auth_file_names_place_and_type_but_no_value() {
    let refuse = |text: &str| AuthFile::parse(text, Path::new(PATH)).unwrap_err().to_string();
    assert_eq!(
        refuse("{\"groq\":\n 5}"),
        "auth.json:2:2: groq: invalid type: integer, expected a key or an object with `type` and `key`"
    );
    assert_eq!(
        refuse(r#"{"groq": {"key": ["sk-secret"]}}"#),
        "auth.json:1:17: groq.key: invalid type: sequence, expected a string"
    );
    assert_eq!(refuse(r#""sk-secret""#), "auth.json:1:11: .: invalid type: string, expected a map");
    assert!(refuse("{").contains("EOF"));
}

#[test]
fn credentials_of_other_kinds_are_noted() {
    let file = stored(r#"{"anthropic": {"type": "oauth", "access": "sk-secret", "key": "sk-secret"}}"#);
    assert_eq!(file.notes(), ["auth.json: anthropic: only credentials of type api_key with a key are used"]);
    assert_eq!(file.providers().count(), 0);
}

#[test]
fn what_must_be_covered_is_everything_that_needs_no_command() {
    let file = models(
        r#"{"providers": {"zai": {"apiKey": "MY_KEY", "headers": {"x-auth": "Bearer header-secret"}},
            "groq": {"apiKey": "!echo hidden-secret"}}}"#,
    );
    let keys = Keys::new(environment(&[("MY_KEY", "variable-secret")]), file)
        .with_auth_file(stored(r#"{"custom": "stored-secret"}"#))
        .with_flag("groq", Secret::new("flag-secret"));
    let secrets = keys.at_hand();
    let texts: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    assert_eq!(texts, ["flag-secret", "stored-secret", "variable-secret", "header-secret"]);
}
