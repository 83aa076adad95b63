//! Tool calls, put together from their pieces.
//!
//! Deltas know one open block at a time, servers may send the pieces of several calls in any order.
//! So one call is open and its pieces go through at once; pieces of others are held back until it is
//! complete. Calls come out whole and in the order of their index, however they came in.

use super::json_progress::JsonProgress;
use super::wire::{CallPart, FunctionPart};
use crate::decode::{Text, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// All calls of one answer.
#[derive(Debug)]
pub(super) struct Calls {
    calls: Vec<Call>,
    open: Option<usize>,
    closed: usize,
    /// Makes an id, together with a call's number, for servers that give none.
    id_prefix: String,
}

#[derive(Debug)]
struct Call {
    /// The index as the server gave it.
    index: Option<u64>,
    /// Where it stands in the answer.
    order: u64,
    id: String,
    name: String,
    /// Argument text that has not been handed out yet.
    held: String,
    progress: JsonProgress,
    has_arguments: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Waiting,
    Open,
    Closed,
}

impl Calls {
    /// No calls yet. `conversation_length` tells the made-up ids of one answer from another's.
    pub(super) fn new(conversation_length: usize) -> Self {
        Self { calls: Vec::new(), open: None, closed: 0, id_prefix: format!("call_{conversation_length}") }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether a call is open and its arguments have not come to their end.
    pub(super) fn is_unfinished(&self) -> bool {
        self.open.and_then(|open| self.calls.get(open)).is_some_and(|call| !call.progress.is_complete())
    }

    /// Whether a call is open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a call could open now.
    pub(super) fn is_next_waiting(&self) -> bool {
        self.next().is_some()
    }

    /// Takes a piece of a call.
    pub(super) fn add(&mut self, part: CallPart<'_>) -> Result<(), ProviderError> {
        let slot = self.slot_of(&part);
        let Some(call) = self.calls.get_mut(slot) else { return Ok(()) };
        if let Some(id) = part.id.filter(|id| call.id.is_empty() && !id.as_str().is_empty()) {
            call.id = id.into_string();
        }
        let Some(FunctionPart { name, arguments }) = part.function else { return Ok(()) };
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name.into_string();
        }
        match arguments {
            Some(arguments) => call.add_arguments(arguments),
            None => Ok(()),
        }
    }

    /// Hands out what can be handed out.
    pub(super) fn advance(&mut self, out: &mut VecDeque<Delta>) {
        loop {
            if let Some(call) = self.open.and_then(|open| self.calls.get_mut(open)) {
                call.hand_out(out);
                let is_complete = call.progress.is_complete();
                if !is_complete || !self.calls.iter().any(|call| call.stage == Stage::Waiting) {
                    return;
                }
                self.close_open(out);
            }
            match self.next() {
                Some(next) => self.open(next, out),
                None => return,
            }
        }
    }

    /// Closes the open call.
    pub(super) fn close_open(&mut self, out: &mut VecDeque<Delta>) {
        if let Some(call) = self.open.take().and_then(|open| self.calls.get_mut(open)) {
            call.hand_out(out);
            call.close(out);
            self.closed += 1;
        }
    }

    /// Hands out all that is left, in order, whether it is complete or not.
    pub(super) fn finish(&mut self, out: &mut VecDeque<Delta>) {
        self.close_open(out);
        let waiting = |call: &(usize, &Call)| call.1.stage == Stage::Waiting;
        while let Some((next, _)) = self.calls.iter().enumerate().filter(waiting).min_by_key(|(_, call)| call.order) {
            self.open(next, out);
            self.close_open(out);
        }
    }

    /// The call whose turn it is. After a gap in the order nothing is handed out until the end,
    /// since the missing call may still come.
    fn next(&self) -> Option<usize> {
        let is_next =
            |call: &Call| call.stage == Stage::Waiting && call.order == self.closed as u64 && !call.name.is_empty();
        self.calls.iter().position(is_next).filter(|_| self.open.is_none())
    }

    fn open(&mut self, slot: usize, out: &mut VecDeque<Delta>) {
        let id_prefix = &self.id_prefix;
        if let Some(call) = self.calls.get_mut(slot) {
            if call.id.is_empty() {
                call.id = format!("{id_prefix}_{slot}");
            }
            call.stage = Stage::Open;
            out.push_back(Delta::ToolCallStart { id: call.id.clone(), name: call.name.clone() });
            self.open = Some(slot);
        }
    }

    /// The call that a piece belongs to; a new one if it is the first of it.
    fn slot_of(&mut self, part: &CallPart<'_>) -> usize {
        let id = part.id.as_ref().map(Text::as_str).filter(|id| !id.is_empty());
        let name = part.function.as_ref().and_then(|function| function.name.as_ref()).map(Text::as_str);
        let name = name.filter(|name| !name.is_empty());
        let found = match (part.index, id) {
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self.calls.iter().position(|call| call.id == id),
            (None, None) => self.calls.len().checked_sub(1),
        };
        // Some servers number every call 0, or number none: another id or another beginning tells.
        let is_another = |call: &Call| match (part.index, id) {
            (_, Some(id)) => name.is_some() && !call.id.is_empty() && call.id != id,
            (None, None) => name.is_some() && !call.name.is_empty(),
            (Some(_), None) => name.is_some() && !call.name.is_empty() && call.progress.is_complete(),
        };
        match found.filter(|found| !self.calls.get(*found).is_some_and(is_another)) {
            Some(found) => found,
            None => self.new_slot(part.index),
        }
    }

    fn new_slot(&mut self, index: Option<u64>) -> usize {
        let free = self.calls.iter().map(|call| call.order + 1).max().unwrap_or(0);
        let is_taken = |index: u64| self.calls.iter().any(|call| call.order == index);
        let order = index.filter(|index| !is_taken(*index)).unwrap_or(free);
        self.calls.push(Call {
            index,
            order,
            id: String::new(),
            name: String::new(),
            held: String::new(),
            progress: JsonProgress::default(),
            has_arguments: false,
            stage: Stage::Waiting,
        });
        self.calls.len() - 1
    }
}

impl Call {
    fn add_arguments(&mut self, arguments: &RawValue) -> Result<(), ProviderError> {
        let raw = arguments.get();
        let text: Text<'_> = match raw.as_bytes().first() {
            Some(b'"') => parse(raw)?,
            Some(b'n') => return Ok(()),
            _ => Text(raw.into()),
        };
        let text = text.as_str();
        if self.stage == Stage::Closed && !text.trim().is_empty() {
            let message = format!("more arguments for `{}` came after they were complete", self.name);
            return Err(ProviderError::StreamBroken { message });
        }
        self.progress.feed(text);
        self.held.push_str(text);
        Ok(())
    }

    fn hand_out(&mut self, out: &mut VecDeque<Delta>) {
        if !self.held.is_empty() {
            self.has_arguments |= !self.held.trim().is_empty();
            out.push_back(Delta::ToolCallArguments(std::mem::take(&mut self.held)));
        }
    }

    /// A tool without arguments is called with none at all by some servers.
    fn close(&mut self, out: &mut VecDeque<Delta>) {
        if !self.has_arguments {
            out.push_back(Delta::ToolCallArguments("{}".to_owned()));
        }
        self.stage = Stage::Closed;
        out.push_back(Delta::ToolCallEnd { signature: None });
    }
}
