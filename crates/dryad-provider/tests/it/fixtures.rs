//! Recorded streams, decoded at every chunk size. What they must give stands beside them.

use crate::common::{model, prompt, request, transcript};
use bytes::Bytes;
use dryad_protocol::model::Api;
use dryad_provider::anthropic::MessagesDecoder;
use dryad_provider::decode::delta_stream;
use dryad_provider::error::ProviderError;
use dryad_provider::http::SseBody;
use dryad_provider::openai_chat::ChatDecoder;
use dryad_provider::provider::DeltaStream;
use expect_test::expect_file;
use futures_util::stream;
use std::path::{Path, PathBuf};

fn fixtures(api: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(api)
}

fn body(wire: &[u8], size: usize) -> SseBody {
    let chunks: Vec<Result<Bytes, ProviderError>> =
        wire.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    SseBody::new(stream::iter(chunks))
}

pub(crate) async fn check_all(api: &str, decode: impl Fn(SseBody) -> DeltaStream) {
    let mut checked = 0;
    for entry in std::fs::read_dir(fixtures(api)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        checked += 1;
        let wire = std::fs::read(&path).unwrap();
        let whole = transcript(decode(body(&wire, wire.len()))).await;
        expect_file![path.with_extension("deltas")].assert_eq(&whole);
        for size in (1..=80).chain([127, 255, 511]) {
            let pieces = transcript(decode(body(&wire, size))).await;
            assert_eq!(pieces, whole, "{} in chunks of {size}", path.display());
        }
    }
    assert!(checked >= 4, "only {checked} fixtures of {api}");
}

#[tokio::test]
async fn anthropic_streams_decode_at_every_chunk_size() {
    check_all("anthropic", |body| delta_stream(body, MessagesDecoder::new("acme"))).await;
}

#[tokio::test]
async fn chat_streams_decode_at_every_chunk_size() {
    let model = model(Api::OpenAiCompletions, "http://unused");
    let messages = prompt();
    check_all("openai_chat", |body| delta_stream(body, ChatDecoder::new(&request(&model, &messages)))).await;
}
