//! From a Messages stream to deltas.

use super::wire::{BlockStart, Event, Part, Usage};
use crate::decode::{Decode, Flow, SseEvent, Text, ended_early, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use crate::http::event_error;
use dryad_protocol::message::StopReason;
use dryad_protocol::usage::TokenCounts;
use std::collections::VecDeque;

/// Decodes one answer.
#[derive(Debug)]
pub struct MessagesDecoder {
    provider: String,
    open: Open,
    counts: TokenCounts,
    stop_reason: Option<String>,
    /// The reason of a refusal, if the provider gives one.
    explanation: Option<String>,
    has_calls: bool,
    is_finished: bool,
}

/// The open block.
#[derive(Debug)]
enum Open {
    /// None, or one of a kind that is nothing to us.
    Nothing,
    Text,
    Thinking {
        signature: String,
    },
    ToolCall {
        /// The arguments, if they came with the start of the block.
        whole: Option<String>,
        has_arguments: bool,
    },
}

impl MessagesDecoder {
    /// A decoder for an answer of this provider.
    pub fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            open: Open::Nothing,
            counts: TokenCounts::default(),
            stop_reason: None,
            explanation: None,
            has_calls: false,
            is_finished: false,
        }
    }

    fn open(&mut self, block: BlockStart<'_>, out: &mut VecDeque<Delta>) {
        self.close(out);
        let string = |text: Option<Text<'_>>| text.map(Text::into_string).unwrap_or_default();
        match block.r#type.as_str() {
            "text" => {
                self.open = Open::Text;
                out.push_back(Delta::TextStart);
                push(block.text, Delta::Text, out);
            }
            "thinking" => {
                self.open = Open::Thinking { signature: string(block.signature) };
                out.push_back(Delta::ThinkingStart);
                push(block.thinking, Delta::Thinking, out);
            }
            "redacted_thinking" => out.push_back(Delta::RedactedThinking { data: string(block.data) }),
            "tool_use" => {
                self.has_calls = true;
                let whole = block.input.map(|input| input.get().to_owned());
                self.open = Open::ToolCall { whole, has_arguments: false };
                out.push_back(Delta::ToolCallStart { id: string(block.id), name: string(block.name) });
            }
            // Tools that run at the provider's: their outcome is in the text.
            _ => {}
        }
    }

    fn add(&mut self, part: Part<'_>, out: &mut VecDeque<Delta>) {
        match &mut self.open {
            Open::Nothing => {}
            Open::Text => push(part.text, Delta::Text, out),
            Open::Thinking { signature } => {
                push(part.thinking, Delta::Thinking, out);
                if let Some(more) = part.signature {
                    signature.push_str(more.as_str());
                }
            }
            Open::ToolCall { has_arguments, .. } => {
                *has_arguments |= part.partial_json.as_ref().is_some_and(|text| !text.as_str().is_empty());
                push(part.partial_json, Delta::ToolCallArguments, out);
            }
        }
    }

    fn close(&mut self, out: &mut VecDeque<Delta>) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Text => out.push_back(Delta::TextEnd { signature: None }),
            Open::Thinking { signature } => {
                out.push_back(Delta::ThinkingEnd { signature: (!signature.is_empty()).then_some(signature) });
            }
            Open::ToolCall { whole, has_arguments } => {
                if !has_arguments {
                    let whole = whole.filter(|whole| whole != "null" && whole != "\"\"");
                    out.push_back(Delta::ToolCallArguments(whole.unwrap_or_else(|| "{}".to_owned())));
                }
                out.push_back(Delta::ToolCallEnd { signature: None });
            }
        }
    }

    fn count(&mut self, usage: Option<Usage>, out: &mut VecDeque<Delta>) {
        if let Some(usage) = usage {
            self.counts = usage.over(self.counts);
            out.push_back(Delta::Usage(self.counts));
        }
    }

    fn end_reason(&mut self, part: Part<'_>) {
        if let Some(reason) = part.stop_reason {
            self.stop_reason = Some(reason.into_string());
        }
        if let Some(explanation) = part.stop_details.and_then(|details| details.explanation) {
            self.explanation = Some(explanation.into_string());
        }
    }

    fn finish(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        if !std::mem::replace(&mut self.is_finished, true) {
            self.close(out);
            out.push_back(Delta::Stop(self.stop()?));
        }
        Ok(())
    }

    fn stop(&self) -> Result<StopReason, ProviderError> {
        match self.stop_reason.as_deref().unwrap_or("end_turn") {
            "max_tokens" | "model_context_window_exceeded" => Ok(StopReason::Length),
            "refusal" => {
                let explanation = self.explanation.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
                let message = format!("the model refused to answer{explanation}");
                Err(ProviderError::BadRequest { status: 200, message })
            }
            "tool_use" if self.has_calls => Ok(StopReason::ToolUse),
            // Said all, met a stop sequence, or paused: whoever wants more asks again.
            _ => Ok(StopReason::Stop),
        }
    }
}

impl Decode for MessagesDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        let data = event.data;
        let event: Event<'_> = parse(data)?;
        if event.error.is_some() {
            return Err(event_error(&self.provider, data));
        }
        match event.r#type.as_str() {
            "content_block_delta" => {
                if let Some(part) = event.delta {
                    self.add(part, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.open(block, out);
                }
            }
            "content_block_stop" => self.close(out),
            "message_start" => {
                let (id, usage) = event.message.map(|message| (message.id, message.usage)).unwrap_or_default();
                push(id, Delta::ResponseId, out);
                self.count(usage, out);
            }
            "message_delta" => {
                self.count(event.usage, out);
                if let Some(part) = event.delta {
                    self.end_reason(part);
                }
            }
            "message_stop" => {
                self.finish(out)?;
                return Ok(Flow::Done);
            }
            "error" => return Err(event_error(&self.provider, data)),
            // A ping, or something newer than this program.
            _ => {}
        }
        Ok(if self.stop_reason.is_some() { Flow::Trailing } else { Flow::More })
    }

    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        match self.stop_reason {
            Some(_) => self.finish(out),
            None => Err(ended_early()),
        }
    }
}

/// Hands out a text, unless there is none.
fn push(text: Option<Text<'_>>, delta: fn(String) -> Delta, out: &mut VecDeque<Delta>) {
    if let Some(text) = text.filter(|text| !text.as_str().is_empty()) {
        out.push_back(delta(text.into_string()));
    }
}
