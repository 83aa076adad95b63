//! The scripted model: an ordinary provider that plays a JSON script instead of asking a server.
//!
//! Tests tell stories with it, `dryad demo` runs on it, and users reproduce a bug with it. It needs
//! no key, no network and no clock beyond the pauses the script asks for.
//!
//! A script is an object with `steps`; every request plays one step:
//!
//! ```json
//! {"steps": [
//!   {"thinking": "I should look first.", "text": "Let me read it.",
//!    "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]},
//!   {"whenLastResult": {"isError": true}, "text": "There is no such file."},
//!   {"text": "It says hello.", "usage": {"input": 120, "output": 7}}
//! ]}
//! ```
//!
//! | key of a step | meaning |
//! |---|---|
//! | `thinking`, `text` | one block each, streamed word by word |
//! | `calls` | tool calls: `name`, `arguments` (an object) or `rawArguments` (any text), `id` (`call_1`, `call_2`, … if absent) |
//! | `chunkChars` | streams so many characters at a time instead of words |
//! | `delayMs` | waits so long before every delta |
//! | `usage` | `input`, `output`, `cacheRead`, `cacheWrite`; none is reported if absent |
//! | `stop` | `stop`, `length` or `toolUse`; by default `toolUse` if there are calls, else `stop` |
//! | `error` | `kind` (`auth`, `rateLimit`, `overloaded`, `contextOverflow`, `badRequest`, `network`, `streamBroken`, `unsupported`), `message`, `retryAfterMs` |
//! | `hang` | after everything above the stream stays silent for ever, until it is dropped |
//! | `whenLastResult` | plays the step only if the newest tool result `contains` a text, `isError` or is not, is of `tool` |
//!
//! The provider keeps a cursor. A request plays the first step at or after it whose `whenLastResult`
//! holds, and the cursor moves behind that step; steps passed over are gone. So an error step is used
//! up by the request that got it, and a retry plays the next one. An error comes after the step's
//! text and calls; without those the request itself fails, except for `streamBroken`. Past the end a
//! request fails and says so; with `"repeat": true` beside `steps` the script begins again.

mod builder;
mod play;
mod script;
#[cfg(test)]
mod tests;

pub use script::{Script, ScriptError, ScriptedError, ScriptedErrorKind, Step};

use crate::error::ProviderError;
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use dryad_protocol::message::{Message, ToolResultMessage};
use dryad_protocol::model::{Api, Compat, Input, Model};
use dryad_protocol::usage::Prices;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The provider's name in `provider/id`.
pub const PROVIDER: &str = "scripted";

/// A provider that plays a script.
#[derive(Debug)]
pub struct ScriptedProvider {
    script: Script,
    progress: Mutex<Progress>,
}

/// How far a script has been played.
#[derive(Debug, Default)]
struct Progress {
    next_step: usize,
    calls: usize,
}

impl ScriptedProvider {
    /// A provider at the beginning of `script`.
    pub fn new(script: Script) -> Self {
        Self { script, progress: Mutex::default() }
    }

    /// Chooses the step that answers a conversation whose newest tool result is `last`, and moves on.
    fn take_step(&self, last: Option<&ToolResultMessage>) -> Result<(&Step, usize), ProviderError> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.script.find(progress.next_step, last).ok_or_else(|| self.script.is_over())?;
        let step = self.script.step_at(index).ok_or_else(|| self.script.is_over())?;
        let first_call = progress.calls + 1;
        progress.next_step = index + 1;
        progress.calls += step.call_count();
        Ok((step, first_call))
    }
}

impl Provider for ScriptedProvider {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            let (step, first_call) = self.take_step(last_result(request.messages))?;
            play::play(step, first_call).await
        })
    }
}

/// The model that stands for the script `id`.
pub fn model(id: &str) -> Model {
    Model {
        id: id.to_owned(),
        name: format!("Scripted ({id})"),
        api: Api::Scripted,
        provider: PROVIDER.to_owned(),
        base_url: String::new(),
        reasoning: false,
        thinking: None,
        input: vec![Input::Text, Input::Image],
        cost: Prices::default(),
        context_window: 200_000,
        max_tokens: 32_000,
        headers: BTreeMap::new(),
        compat: Compat::default(),
    }
}

/// The newest tool result of a conversation.
fn last_result(messages: &[Arc<Message>]) -> Option<&ToolResultMessage> {
    messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::ToolResult(result) => Some(result),
        Message::User(_) | Message::Developer(_) | Message::Assistant(_) | Message::Custom(_) => None,
        Message::BashExecution(_) | Message::BranchSummary(_) => None,
        Message::CompactionSummary(_) | Message::FileMention(_) => None,
    })
}
