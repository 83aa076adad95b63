//! Recorded streams of the Responses and Gemini APIs, decoded at every chunk size.

use crate::common::{model, prompt, request};
use crate::fixtures::check_all;
use dryad_protocol::model::Api;
use dryad_provider::decode::delta_stream;
use dryad_provider::google::GeminiDecoder;
use dryad_provider::openai_responses::ResponsesDecoder;

#[tokio::test]
async fn responses_streams_decode_at_every_chunk_size() {
    check_all("openai_responses", |body| delta_stream(body, ResponsesDecoder::new("acme"))).await;
}

#[tokio::test]
async fn gemini_streams_decode_at_every_chunk_size() {
    let model = model(Api::GoogleGenerativeAi, "http://unused");
    let messages = prompt();
    check_all("google", |body| delta_stream(body, GeminiDecoder::new(&request(&model, &messages)))).await;
}
