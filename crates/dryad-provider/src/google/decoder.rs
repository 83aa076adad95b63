//! From the server's events to deltas.
//!
//! Every event is a piece of an answer with a few parts. Pieces of one text or thought follow each
//! other and are one block; a mark of thought ends the block it stands on, so that it goes back
//! with the text it came with. Calls come whole. Some servers give every piece a reason to stop, so
//! an answer is over when its body is.

use super::wire::{Candidate, Event, Failure, FunctionCall, Part, PromptFeedback, UsageMetadata};
use crate::decode::{Decode, Flow, SseEvent, Text, ended_early, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use crate::http::stream_error;
use crate::request::Request;
use dryad_protocol::message::StopReason;
use dryad_protocol::usage::TokenCounts;
use std::collections::VecDeque;

/// Ids of calls that the server gave none begin with this; it never gets them back.
pub(super) const MADE_UP: &str = "gemini_call_";

/// Decodes one streamed answer of the Gemini API.
#[derive(Debug)]
pub struct GeminiDecoder {
    provider: String,
    /// Tells the made-up ids of one answer from those of others.
    answer_id: String,
    has_response_id: bool,
    open: Option<Block>,
    calls: usize,
    /// Set by the first reason to stop.
    stop: Option<StopReason>,
    usage: Option<TokenCounts>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Block {
    Text,
    Thinking,
}

impl GeminiDecoder {
    /// A decoder for the answer to this request.
    pub fn new(request: &Request<'_>) -> Self {
        Self {
            provider: request.model.provider.clone(),
            answer_id: request.messages.len().to_string(),
            has_response_id: false,
            open: None,
            calls: 0,
            stop: None,
            usage: None,
        }
    }

    fn candidate(&mut self, candidate: Candidate<'_>, out: &mut VecDeque<Delta>) -> Option<(String, Option<String>)> {
        for part in candidate.content.into_iter().flat_map(|content| content.parts) {
            self.part(part, out);
        }
        let reason = candidate.finish_reason?.into_string();
        Some((reason, candidate.finish_message.map(Text::into_string)))
    }

    fn part(&mut self, part: Part<'_>, out: &mut VecDeque<Delta>) {
        let signature = part.thought_signature.map(Text::into_string).filter(|mark| !mark.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        let Some(text) = part.text.map(Text::into_string).or_else(|| signature.as_ref().map(|_| String::new())) else {
            return;
        };
        if text.is_empty() && signature.is_none() {
            return;
        }
        // A mark that comes alone belongs to the block before it.
        let kind = match self.open {
            Some(open) if text.is_empty() => open,
            _ if part.thought => Block::Thinking,
            _ => Block::Text,
        };
        self.switch_to(kind, out);
        if !text.is_empty() {
            out.push_back(match kind {
                Block::Text => Delta::Text(text),
                Block::Thinking => Delta::Thinking(text),
            });
        }
        if signature.is_some() {
            self.close(signature, out);
        }
    }

    fn call(&mut self, call: FunctionCall<'_>, signature: Option<String>, out: &mut VecDeque<Delta>) {
        self.close(None, out);
        self.calls += 1;
        let given = call.id.map(Text::into_string).filter(|id| !id.is_empty());
        let id = given.unwrap_or_else(|| format!("{MADE_UP}{}_{}", self.answer_id, self.calls));
        out.push_back(Delta::ToolCallStart { id, name: call.name.into_string() });
        out.push_back(Delta::ToolCallArguments(call.args.map_or("{}", |args| args.get()).to_owned()));
        out.push_back(Delta::ToolCallEnd { signature });
    }

    fn switch_to(&mut self, kind: Block, out: &mut VecDeque<Delta>) {
        if self.open == Some(kind) {
            return;
        }
        self.close(None, out);
        self.open = Some(kind);
        out.push_back(match kind {
            Block::Text => Delta::TextStart,
            Block::Thinking => Delta::ThinkingStart,
        });
    }

    fn close(&mut self, signature: Option<String>, out: &mut VecDeque<Delta>) {
        out.extend(self.open.take().map(|kind| match kind {
            Block::Text => Delta::TextEnd { signature },
            Block::Thinking => Delta::ThinkingEnd { signature },
        }));
    }

    fn finish(&mut self, reason: &str, message: Option<String>) -> Result<(), ProviderError> {
        let explained = || message.map(|message| format!(": {message}")).unwrap_or_default();
        self.stop = Some(match reason {
            "STOP" => StopReason::Stop,
            "MAX_TOKENS" => StopReason::Length,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" | "FINISH_REASON_UNSPECIFIED" => {
                let message = format!("the model ended its answer with {reason}{}", explained());
                return Err(ProviderError::StreamBroken { message });
            }
            withheld => {
                let message = format!("the answer was withheld: {withheld}{}", explained());
                return Err(ProviderError::BadRequest { status: 200, message });
            }
        });
        Ok(())
    }

    fn failure(&self, failure: Failure<'_>) -> ProviderError {
        let code = failure.code.map(|code| code.to_string()).unwrap_or_default();
        let status = failure.status.map(Text::into_string).unwrap_or_default();
        let message = failure.message.map(Text::into_string).unwrap_or_default();
        stream_error(&self.provider, format!("{code} {status}").trim(), message)
    }
}

impl Decode for GeminiDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        let event: Event<'_> = parse(event.data)?;
        if let Some(failure) = event.error {
            return Err(self.failure(failure));
        }
        if let Some(id) = event.response_id.filter(|_| !self.has_response_id) {
            self.has_response_id = true;
            self.answer_id = id.as_str().to_owned();
            out.push_back(Delta::ResponseId(id.into_string()));
        }
        if let Some(blocked) = event.prompt_feedback.and_then(blocked) {
            return Err(blocked);
        }
        self.usage = event.usage_metadata.map(UsageMetadata::counts).or(self.usage);
        let end = event.candidates.into_iter().next().and_then(|candidate| self.candidate(candidate, out));
        if let Some((reason, message)) = end
            && let Err(error) = self.finish(&reason, message)
        {
            // What was written up to here has its price, too.
            self.close(None, out);
            out.extend(self.usage.map(Delta::Usage));
            return Err(error);
        }
        Ok(if self.stop.is_some() { Flow::Trailing } else { Flow::More })
    }

    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        let stop = match self.stop.ok_or_else(ended_early)? {
            StopReason::Stop if self.calls > 0 => StopReason::ToolUse,
            other => other,
        };
        self.close(None, out);
        out.extend(self.usage.map(Delta::Usage));
        out.push_back(Delta::Stop(stop));
        Ok(())
    }
}

impl UsageMetadata {
    fn counts(self) -> TokenCounts {
        let prompt = self.prompt_token_count + self.tool_use_prompt_token_count;
        TokenCounts {
            input: prompt.saturating_sub(self.cached_content_token_count),
            output: self.candidates_token_count + self.thoughts_token_count,
            cache_read: self.cached_content_token_count,
            cache_write: 0,
        }
    }
}

fn blocked(feedback: PromptFeedback<'_>) -> Option<ProviderError> {
    let reason = feedback.block_reason?.into_string();
    let explained = feedback.block_reason_message.map(|text| format!(": {}", text.as_str())).unwrap_or_default();
    Some(ProviderError::BadRequest { status: 200, message: format!("the prompt was blocked: {reason}{explained}") })
}
