//! One step of a script, turned into the deltas a real provider would send.

use super::script::{ScriptedErrorKind, Step};
use crate::delta::Delta;
use crate::error::ProviderError;
use crate::provider::DeltaStream;
use dryad_protocol::usage::TokenCounts;
use futures_util::StreamExt as _;
use futures_util::stream;
use std::time::Duration;

/// Begins the answer of `step`; calls without an id are counted from `first_call`.
pub(super) async fn play(step: &Step, first_call: usize) -> Result<DeltaStream, ProviderError> {
    let pause = Duration::from_millis(step.delay_ms);
    let mut items: Vec<Result<Delta, ProviderError>> = deltas(step, first_call).into_iter().map(Ok).collect();
    if let Some(error) = &step.error {
        if items.is_empty() && error.kind != ScriptedErrorKind::StreamBroken {
            sleep(pause).await;
            return Err(error.into());
        }
        items.push(Err(error.into()));
    } else if !step.hang {
        items.push(Ok(Delta::Stop(step.stop_reason())));
    }
    let answer = stream::iter(items);
    let silence = stream::iter(step.hang.then_some(())).then(|()| std::future::pending());
    Ok(match step.delay_ms {
        0 => answer.chain(silence).boxed(),
        _ => answer
            .then(move |item| async move {
                sleep(pause).await;
                item
            })
            .chain(silence)
            .boxed(),
    })
}

async fn sleep(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// Everything the step says, in order: thinking, text, calls, usage.
fn deltas(step: &Step, first_call: usize) -> Vec<Delta> {
    let mut deltas = Vec::new();
    if let Some(thinking) = &step.thinking {
        deltas.push(Delta::ThinkingStart);
        deltas.extend(chunks(thinking, step.chunk_chars).map(Delta::Thinking));
        deltas.push(Delta::ThinkingEnd { signature: None });
    }
    if let Some(text) = &step.text {
        deltas.push(Delta::TextStart);
        deltas.extend(chunks(text, step.chunk_chars).map(Delta::Text));
        deltas.push(Delta::TextEnd { signature: None });
    }
    for (number, call) in (first_call..).zip(&step.calls) {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}"));
        deltas.push(Delta::ToolCallStart { id, name: call.name.clone() });
        let arguments =
            call.raw_arguments.clone().unwrap_or_else(|| serde_json::Value::from(call.arguments.clone()).to_string());
        deltas.extend(chunks(&arguments, step.chunk_chars).map(Delta::ToolCallArguments));
        deltas.push(Delta::ToolCallEnd { signature: None });
    }
    deltas.extend(step.usage.map(|usage| {
        Delta::Usage(TokenCounts {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        })
    }));
    deltas
}

/// The text in pieces of `size` characters, or word by word with the space behind each.
fn chunks(text: &str, size: Option<usize>) -> Box<dyn Iterator<Item = String> + '_> {
    let Some(size) = size else {
        return Box::new(text.split_inclusive(char::is_whitespace).map(str::to_owned));
    };
    let mut characters = text.chars();
    Box::new(std::iter::from_fn(move || {
        let chunk: String = characters.by_ref().take(size.max(1)).collect();
        (!chunk.is_empty()).then_some(chunk)
    }))
}
