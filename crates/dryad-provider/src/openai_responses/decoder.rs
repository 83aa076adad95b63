//! From the server's events to deltas.
//!
//! An answer is a list of output items, each with its own events. Deltas name no block, so an item
//! that speaks while another one is open waits until that one is closed.

use super::wire::{Event, Failure, Item, Response, Usage, item, text};
use crate::decode::{Decode, Flow, SseEvent, Text, ended_early, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use crate::http::stream_error;
use dryad_protocol::message::StopReason;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};

/// Decodes one streamed answer of the Responses API.
#[derive(Debug)]
pub struct ResponsesDecoder {
    provider: String,
    items: BTreeMap<u64, OpenItem>,
    /// The item whose deltas go out at once.
    current: Option<u64>,
    has_calls: bool,
}

/// An item that has begun and is not yet closed.
#[derive(Debug)]
struct OpenItem {
    kind: ItemKind,
    /// Whether any content came in deltas.
    has_content: bool,
    /// Deltas that wait for their turn.
    waiting: Vec<Delta>,
    is_done: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ItemKind {
    Message,
    Reasoning,
    Call,
}

impl ResponsesDecoder {
    /// A decoder for an answer of this provider.
    pub fn new(provider: &str) -> Self {
        Self { provider: provider.to_owned(), items: BTreeMap::new(), current: None, has_calls: false }
    }

    fn handle(&mut self, event: Event<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        let index = event.output_index;
        match event.kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.add(index, ItemKind::Message, event.delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add(index, ItemKind::Reasoning, event.delta, out);
            }
            "response.reasoning_summary_part.added" if event.summary_index > 0 => {
                self.emit(index, Delta::Thinking("\n\n".to_owned()), out);
            }
            "response.function_call_arguments.delta" => self.add(index, ItemKind::Call, event.delta, out),
            "response.function_call_arguments.done" => self.complete(index, ItemKind::Call, event.arguments, out),
            "response.output_item.added" => self.begin(index, &item(event.item)?, out),
            "response.output_item.done" => self.finish_item(index, event.item, out)?,
            "response.created" => {
                out.extend(event.response.and_then(|r| r.id).map(|id| Delta::ResponseId(id.into_string())))
            }
            "response.completed" => return self.finish(event.response, out),
            "response.incomplete" => return self.cut_short(event.response, out),
            "response.failed" | "response.cancelled" => return Err(self.failure(event.response.and_then(|r| r.error))),
            "error" => {
                let top = Failure { kind: None, code: event.code, message: event.message };
                return Err(self.failure(event.error.or(Some(top))));
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn begin(&mut self, index: u64, item: &Item<'_>, out: &mut VecDeque<Delta>) {
        let (kind, start) = match item.kind.as_str() {
            "message" => (ItemKind::Message, Delta::TextStart),
            "reasoning" => (ItemKind::Reasoning, Delta::ThinkingStart),
            "function_call" => (ItemKind::Call, Delta::ToolCallStart { id: item.joined_id(), name: text(&item.name) }),
            _ => return,
        };
        self.has_calls |= kind == ItemKind::Call;
        self.items.insert(index, OpenItem { kind, has_content: false, waiting: Vec::new(), is_done: false });
        self.emit(index, start, out);
    }

    /// Takes the end of an item, and what it holds where nothing of it came in deltas.
    fn finish_item(
        &mut self,
        index: u64,
        raw: Option<&RawValue>,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), ProviderError> {
        let item = item(raw)?;
        if !self.items.contains_key(&index) {
            self.begin(index, &item, out);
        }
        let Some(kind) = self.items.get(&index).map(|open| open.kind) else { return Ok(()) };
        let (rest, end) = match kind {
            ItemKind::Message => (item.text(&item.content, ""), Delta::TextEnd { signature: item.mark() }),
            ItemKind::Reasoning => {
                let signature = item.encrypted_content.as_ref().and(raw).map(|raw| raw.get().to_owned());
                (item.text(&item.summary, "\n\n"), Delta::ThinkingEnd { signature })
            }
            ItemKind::Call => (text(&item.arguments), Delta::ToolCallEnd { signature: None }),
        };
        self.complete(index, kind, Some(Text(rest.into())), out);
        self.emit(index, end, out);
        self.close(index, out);
        Ok(())
    }

    fn add(&mut self, index: u64, kind: ItemKind, delta: Option<Text<'_>>, out: &mut VecDeque<Delta>) {
        let Some(open) = self.items.get_mut(&index).filter(|open| open.kind == kind) else { return };
        open.has_content = true;
        let Some(text) = delta.map(Text::into_string) else { return };
        let delta = match kind {
            ItemKind::Message => Delta::Text(text),
            ItemKind::Reasoning => Delta::Thinking(text),
            ItemKind::Call => Delta::ToolCallArguments(text),
        };
        self.emit(index, delta, out);
    }

    /// Takes an item's whole content, which counts only if it did not come in deltas.
    fn complete(&mut self, index: u64, kind: ItemKind, whole: Option<Text<'_>>, out: &mut VecDeque<Delta>) {
        let is_empty = self.items.get(&index).is_some_and(|open| !open.has_content);
        if is_empty && whole.as_ref().is_some_and(|whole| !whole.as_str().is_empty()) {
            self.add(index, kind, whole, out);
        }
    }

    fn emit(&mut self, index: u64, delta: Delta, out: &mut VecDeque<Delta>) {
        if *self.current.get_or_insert(index) == index {
            out.push_back(delta);
        } else if let Some(open) = self.items.get_mut(&index) {
            open.waiting.push(delta);
        }
    }

    /// Closes an item; if it was the open one, those that waited follow, the earliest first.
    fn close(&mut self, index: u64, out: &mut VecDeque<Delta>) {
        if let Some(open) = self.items.get_mut(&index) {
            open.is_done = true;
        }
        while let Some(current) = self.current
            && self.items.get(&current).is_none_or(|open| open.is_done)
        {
            self.items.remove(&current);
            self.current = self.items.keys().next().copied();
            if let Some(next) = self.current.and_then(|next| self.items.get_mut(&next)) {
                out.extend(next.waiting.drain(..));
            }
        }
    }

    /// Ends every item that has no end of its own, in order.
    fn close_all(&mut self, out: &mut VecDeque<Delta>) {
        while let Some(index) = self.current.or_else(|| self.items.keys().next().copied()) {
            let Some(open) = self.items.get(&index) else { break };
            let end = match open.kind {
                ItemKind::Message => Delta::TextEnd { signature: None },
                ItemKind::Reasoning => Delta::ThinkingEnd { signature: None },
                ItemKind::Call => Delta::ToolCallEnd { signature: None },
            };
            self.emit(index, end, out);
            self.close(index, out);
        }
    }

    fn finish(&mut self, response: Option<Response<'_>>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        self.close_all(out);
        out.extend(response.and_then(|response| response.usage).map(Usage::into_delta));
        out.push_back(Delta::Stop(if self.has_calls { StopReason::ToolUse } else { StopReason::Stop }));
        Ok(Flow::Done)
    }

    fn cut_short(&mut self, response: Option<Response<'_>>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        self.close_all(out);
        let (usage, details) =
            response.map(|response| (response.usage, response.incomplete_details)).unwrap_or_default();
        out.extend(usage.map(Usage::into_delta));
        let reason = details.and_then(|details| details.reason).map(Text::into_string).unwrap_or_default();
        match reason.as_str() {
            "" | "max_output_tokens" | "max_tokens" => {
                out.push_back(Delta::Stop(StopReason::Length));
                Ok(Flow::Done)
            }
            other => {
                Err(ProviderError::BadRequest { status: 200, message: format!("the answer was withheld: {other}") })
            }
        }
    }

    fn failure(&self, failure: Option<Failure<'_>>) -> ProviderError {
        let Some(failure) = failure else { return stream_error(&self.provider, "", String::new()) };
        let kind = failure.kind.map(Text::into_string).unwrap_or_default();
        let code = failure.code.map(RawValue::get).unwrap_or_default().trim_matches('"');
        let message = failure.message.map(Text::into_string).unwrap_or_default();
        stream_error(&self.provider, format!("{kind} {code}").trim(), message)
    }
}

impl Decode for ResponsesDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut VecDeque<Delta>) -> Result<Flow, ProviderError> {
        if event.data == "[DONE]" {
            return Ok(Flow::More);
        }
        let event = parse(event.data)?;
        self.handle(event, out)
    }

    fn end(&mut self, _out: &mut VecDeque<Delta>) -> Result<(), ProviderError> {
        Err(ended_early())
    }
}
