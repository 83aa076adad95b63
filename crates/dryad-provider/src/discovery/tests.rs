//! Places; the servers themselves are asked in the integration tests.

use super::*;
use std::sync::Arc;

fn environment(host: Option<&'static str>) -> Environment {
    Arc::new(move |name| host.filter(|_| name == "OLLAMA_HOST").map(str::to_owned))
}

#[test]
fn ollama_is_found_wherever_its_variable_says() {
    let root = |host| Endpoint::usual(DiscoveryKind::Ollama, &environment(host)).root;
    assert_eq!(root(None), "http://127.0.0.1:11434");
    assert_eq!(root(Some("0.0.0.0")), "http://127.0.0.1:11434");
    assert_eq!(root(Some("0.0.0.0:9000")), "http://127.0.0.1:9000");
    assert_eq!(root(Some(":9000")), "http://127.0.0.1:9000");
    assert_eq!(root(Some("box")), "http://box:11434");
    assert_eq!(root(Some("http://box:1/")), "http://box:1");
    assert_eq!(root(Some("https://box")), "https://box:443");
    assert_eq!(root(Some("[::1]:7")), "http://[::1]:7");
}

#[test]
fn a_base_url_may_end_with_its_version() {
    for url in ["http://h:1/v1", "http://h:1/v1/", "http://h:1", "http://h:1/"] {
        assert_eq!(Endpoint::new("mine", DiscoveryKind::Vllm, url).root, "http://h:1");
    }
}

#[test]
fn every_kind_has_its_usual_place() {
    let endpoints = Endpoint::all_usual(&environment(None));
    let places: Vec<_> = endpoints.iter().map(|endpoint| format!("{} {}", endpoint.provider, endpoint.root)).collect();
    let expected = [
        "ollama http://127.0.0.1:11434",
        "llama.cpp http://127.0.0.1:8080",
        "lm-studio http://127.0.0.1:1234",
        "vllm http://127.0.0.1:8000",
    ];
    assert_eq!(places, expected);
}
