//! From a Chat Completions stream to deltas.
//!
//! The stop is handed out only when nothing can follow but token counts: some servers give their
//! reason to stop before the last piece of a call, some give usage after it.

use super::calls::Calls;
use super::content::{Content, ContentPart};
use super::wire::{CallPart, Choice, Chunk, Part};
use crate::decode::{Decode, Flow, SseEvent, Text, ended_early, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use crate::http::event_error;
use crate::request::Request;
use dryad_protocol::message::StopReason;
use std::collections::VecDeque;

/// Decodes one answer.
#[derive(Debug)]
pub struct ChatDecoder {
    provider: String,
    open: Open,
    calls: Calls,
    /// Text that came while a call was incomplete; it follows the calls.
    held_text: String,
    has_id: bool,
    finish_reason: Option<String>,
    is_finished: bool,
}

/// The open block, calls aside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Open {
    Nothing,
    Text,
    /// Reasoning, with the field it comes in, which is the field it goes back in.
    Thinking(&'static str),
}

impl ChatDecoder {
    /// A decoder for the answer to a request.
    pub fn new(request: &Request<'_>) -> Self {
        Self {
            provider: request.model.provider.clone(),
            open: Open::Nothing,
            calls: Calls::new(request.messages.len()),
            held_text: String::new(),
            has_id: false,
            finish_reason: None,
            is_finished: false,
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        if let Some(id) = chunk.id.filter(|id| !self.has_id && !id.as_str().is_empty()) {
            self.has_id = true;
            out.push_back(Delta::ResponseId(id.into_string()));
        }
        let mut usage = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage));
        if let Some(mut choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) {
            usage = usage.or(choice.usage.take());
            self.choice(choice, out)?;
        }
        if let Some(usage) = usage {
            out.push_back(Delta::Usage(usage.counts()));
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        if let Some(part) = choice.delta.or(choice.message) {
            self.part(part, out)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.as_str().is_empty()) {
            self.finish_reason = Some(reason.into_string());
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        let has_text = |text: &Text<'_>| !text.as_str().is_empty();
        // OpenRouter sends the same reasoning in two fields: one is enough.
        let reasoning = [
            ("reasoning_content", part.reasoning_content),
            ("reasoning", part.reasoning),
            ("reasoning_text", part.reasoning_text),
        ];
        let mut reasoning = reasoning.into_iter().filter_map(|(field, text)| Some((field, text.filter(has_text)?)));
        if let Some((field, text)) = reasoning.next() {
            self.thinking(field, text.into_string(), out);
        }
        match part.content {
            Some(Content::Text(text)) => self.text(text.into_string(), out),
            Some(Content::Parts(parts)) => self.parts(parts, out),
            None => {}
        }
        if let Some(refusal) = part.refusal {
            self.text(refusal.into_string(), out);
        }
        let legacy = part.function_call.map(|function| CallPart { index: Some(0), id: None, function: Some(function) });
        for part in part.tool_calls.into_iter().flatten().chain(legacy) {
            self.calls.add(part)?;
        }
        if self.calls.is_next_waiting() {
            self.close_block(out);
        }
        self.calls.advance(out);
        Ok(())
    }

    fn parts(&mut self, parts: Vec<ContentPart<'_>>, out: &mut VecDeque<Delta>) {
        for ContentPart { text, thinking } in parts {
            if let Some(thinking) = thinking.map(Content::into_text).filter(|thinking| !thinking.is_empty()) {
                self.thinking("content", thinking, out);
            }
            if let Some(text) = text {
                self.text(text.into_string(), out);
            }
        }
    }

    fn text(&mut self, text: String, out: &mut VecDeque<Delta>) {
        if text.is_empty() {
            return;
        }
        if self.calls.is_unfinished() {
            return self.held_text.push_str(&text);
        }
        if self.open != Open::Text {
            self.open_block(Open::Text, Delta::TextStart, out);
        }
        out.push_back(Delta::Text(text));
    }

    fn thinking(&mut self, field: &'static str, text: String, out: &mut VecDeque<Delta>) {
        // Reasoning amid a call's arguments has no place in the message.
        if self.calls.is_unfinished() {
            return;
        }
        if !matches!(self.open, Open::Thinking(_)) {
            self.open_block(Open::Thinking(field), Delta::ThinkingStart, out);
        }
        out.push_back(Delta::Thinking(text));
    }

    fn open_block(&mut self, block: Open, start: Delta, out: &mut VecDeque<Delta>) {
        self.close_block(out);
        if self.calls.is_open() {
            self.calls.close_open(out);
        }
        self.open = block;
        out.push_back(start);
    }

    fn close_block(&mut self, out: &mut VecDeque<Delta>) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Text => out.push_back(Delta::TextEnd { signature: None }),
            Open::Thinking(field) => out.push_back(Delta::ThinkingEnd { signature: Some(field.to_owned()) }),
        }
    }

    fn finish(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        self.close_block(out);
        self.calls.finish(out);
        if !self.held_text.is_empty() {
            let text = std::mem::take(&mut self.held_text);
            out.extend([Delta::TextStart, Delta::Text(text), Delta::TextEnd { signature: None }]);
        }
        out.push_back(Delta::Stop(self.stop_reason()?));
        Ok(())
    }

    /// Whether tools are wanted is told by the calls: servers disagree about the word for it.
    fn stop_reason(&self) -> Result<StopReason, ProviderError> {
        let reason = self.finish_reason.as_deref().unwrap_or("stop");
        match reason {
            "length" | "max_tokens" => Ok(StopReason::Length),
            "content_filter" => Err(ProviderError::BadRequest {
                status: 200,
                message: format!("the content filter of {} stopped the answer", self.provider),
            }),
            "error" => Err(ProviderError::Overloaded {
                status: 200,
                message: format!("{} ended the answer with an error", self.provider),
                retry_after: None,
            }),
            _ if self.calls.is_empty() => Ok(StopReason::Stop),
            _ => Ok(StopReason::ToolUse),
        }
    }
}

impl Decode for ChatDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        if event.data.trim() == "[DONE]" {
            self.finish(out)?;
            return Ok(Flow::Done);
        }
        let chunk: Chunk<'_> = parse(event.data)?;
        if chunk.error.is_some() {
            return Err(event_error(&self.provider, event.data));
        }
        self.chunk(chunk, out)?;
        Ok(if self.finish_reason.is_some() { Flow::Trailing } else { Flow::More })
    }

    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        match self.finish_reason {
            Some(_) => self.finish(out),
            None => Err(ended_early()),
        }
    }
}
