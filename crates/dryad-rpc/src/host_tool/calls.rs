//! Calls that the host is carrying out.
//!
//! The invariant: a call ends once, by its result, by being cancelled, or by the host going away; what
//! comes for it afterwards is ignored.

use super::{HostToolAnswer, HostToolFrame};
use crate::outbox::Outbox;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use dryad_safety::progress::Progress;
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// All calls that are open.
pub(super) struct Calls {
    outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<String, Open>,
    frames: u64,
    /// Whether the host has gone.
    closed: bool,
}

struct Open {
    progress: Progress,
    done: oneshot::Sender<Result<ToolResult, ToolError>>,
}

/// Tells the host that a call is not wanted any more, unless it is over.
struct Withdraw<'a> {
    calls: &'a Calls,
    id: &'a str,
}

impl Calls {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { outbox, state: Mutex::default() }
    }

    /// Has the host carry out a call.
    ///
    /// Cancelling, or dropping the future, withdraws it.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        context: &PlanContext,
    ) -> Result<ToolResult, ToolError> {
        let aborted = || ToolError::new(format!("Host tool {name:?} was aborted"));
        if context.cancel.is_cancelled() {
            return Err(aborted());
        }
        let gone = || ToolError::new(format!("Host tool {name:?} failed: the host has closed its side"));
        let (done, result) = oneshot::channel();
        let id = self.open(Open { progress: context.progress.clone(), done }).ok_or_else(gone)?;
        let _withdraw = Withdraw { calls: self, id: &id };
        let tool_call_id = context.call_id.as_ref().map_or("", |id| id.as_str());
        self.outbox.send(&HostToolFrame::HostToolCall { id: &id, tool_call_id, tool_name: name, arguments });
        tokio::select! {
            biased;
            ended = result => ended.unwrap_or_else(|_| Err(gone())),
            () = context.cancel.cancelled() => Err(aborted()),
        }
    }

    /// Takes what the host says about a call; about one that is not open, nothing.
    pub(super) fn answer(&self, answer: HostToolAnswer) {
        match answer {
            HostToolAnswer::HostToolUpdate { id, partial_result } => {
                if let Some(open) = self.state().open.get(&id) {
                    open.progress.update(partial_result);
                }
            }
            HostToolAnswer::HostToolResult { id, result, is_error } => {
                let Some(Open { done, .. }) = self.state().open.remove(&id) else { return };
                let failed = is_error.unwrap_or(false);
                // The one who waited may have gone in the meantime.
                done.send(if failed { Ok(failure(&result)) } else { Ok(result) }).ok();
            }
        }
    }

    /// Lets every open call fail, and every later one.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.open.clear();
    }

    fn open(&self, open: Open) -> Option<String> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let id = state.next_id();
        state.open.insert(id.clone(), open);
        Some(id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_id(&mut self) -> String {
        self.frames += 1;
        format!("host-{}", self.frames)
    }
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        if state.open.remove(self.id).is_none() {
            return;
        }
        let id = state.next_id();
        drop(state);
        self.calls.outbox.send(&HostToolFrame::HostToolCancel { id: &id, target_id: self.id });
    }
}

/// What the model reads when the host says that a call failed.
fn failure(result: &ToolResult) -> ToolResult {
    let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
    let text = texts.join("\n");
    let text = if text.trim().is_empty() { "Host tool execution failed".to_owned() } else { text };
    ToolResult::error(text).with_details(json!({}))
}
