//! Local servers that answer, answer nonsense, keep silent, or are not there.

use dryad_provider::discovery::{Endpoint, discover, found};
use dryad_provider::models_file::DiscoveryKind;
use dryad_testkit::loopback::{Loopback, Reply};
use std::time::{Duration, Instant};

fn endpoint(server: &Loopback, kind: DiscoveryKind) -> Endpoint {
    Endpoint::new(kind.as_str(), kind, &server.url())
}

fn serve(replies: &[&str]) -> Loopback {
    Loopback::start(replies.iter().map(|text| Reply::text(200, *text))).unwrap()
}

#[tokio::test]
async fn every_kind_of_server_tells_its_models() {
    let list = r#"{"object":"list","data":[{"id":"big-model","max_model_len":4096},{"id":"text-embedding-x"}]}"#;
    let ollama = serve(&[
        r#"{"models":[{"name":"qwen3:8b","size":1},{"name":"llava:7b","capabilities":["vision"]},{"name":"nomic-embed-text"}]}"#,
    ]);
    let llama = serve(&[
        r#"{"data":[{"id":"model.gguf","meta":{"n_ctx_train":1}}]}"#,
        r#"{"default_generation_settings":{"n_ctx":8192},"modalities":{"vision":true,"audio":false}}"#,
    ]);
    let studio = serve(&[list]);
    let vllm = serve(&[list]);
    let probes = discover([
        endpoint(&ollama, DiscoveryKind::Ollama),
        endpoint(&llama, DiscoveryKind::LlamaCpp),
        endpoint(&studio, DiscoveryKind::LmStudio),
        endpoint(&vllm, DiscoveryKind::Vllm),
    ])
    .await;
    let models = found(probes);
    let told: Vec<String> = models
        .iter()
        .map(|model| {
            format!("{} {} {} {}", model.full_name(), model.context_window, model.max_tokens, model.has_vision())
        })
        .collect();
    assert_eq!(
        told,
        [
            "ollama/qwen3:8b 128000 16384 false",
            "ollama/llava:7b 128000 16384 true",
            "llama.cpp/model.gguf 8192 4096 true",
            "lm-studio/big-model 4096 2048 false",
            "vllm/big-model 4096 2048 false",
        ]
    );
    assert_eq!(models[0].base_url, format!("{}/v1", ollama.url()));
    assert_eq!(ollama.requests()[0].path, "/api/tags");
    let asked: Vec<String> = llama.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/v1/models", "/props"]);
}

#[tokio::test]
async fn llama_without_properties_is_used_as_it_is() {
    let server = Loopback::start([Reply::text(200, r#"{"data":[{"id":"m"}]}"#), Reply::text(404, "no")]).unwrap();
    let models = found(discover([endpoint(&server, DiscoveryKind::LlamaCpp)]).await);
    assert_eq!(models.len(), 1);
    assert_eq!(models[0].context_window, 128_000);
}

#[tokio::test]
async fn other_servers_and_silent_ones_are_told_apart_and_cost_little() {
    let page = serve(&["<html>hello</html>"]);
    let refusing = Loopback::start([Reply::text(500, "down")]).unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let start = Instant::now();
    let probes = discover([
        endpoint(&page, DiscoveryKind::Vllm),
        endpoint(&refusing, DiscoveryKind::Ollama),
        Endpoint::new("quiet", DiscoveryKind::LmStudio, &silent_url),
        Endpoint::new("gone", DiscoveryKind::LmStudio, &gone),
    ])
    .await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let problems: Vec<String> = probes.iter().map(|probe| probe.result.as_ref().unwrap_err().to_string()).collect();
    assert!(problems[0].contains("does not answer like vllm"), "{}", problems[0]);
    assert!(problems[1].contains("down"), "{}", problems[1]);
    assert!(problems[2].starts_with("network error") && problems[2].contains("within"), "{}", problems[2]);
    assert!(problems[3].starts_with("network error"), "{}", problems[3]);
    assert!(found(probes).is_empty());
}
