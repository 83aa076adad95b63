//! The end of every call: covered, put aside if it is large, recorded, and given back.

use super::record::Doer;
use super::{CallContext, Done, Pipeline, Refusal};
use crate::audit_name;
use crate::foreign::Data;
use crate::gate::Notes;
use crate::spec::ToolSpec;
use crate::spill::Processed;
use crate::tool::Tool;
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::content::UserBlock;
use dryad_protocol::id::CallId;
use dryad_protocol::operation::{Audit, CallEnd, Operation, OperationEffect, OperationHead, Outcome, UndoRecord};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What one call has come to.
#[derive(Clone)]
pub struct ToolCallResult {
    /// Which call.
    pub id: CallId,
    /// The tool, as the call named it.
    pub name: String,
    /// For the model.
    pub result: ToolResult,
    /// Whether the result is only a part of the output.
    pub truncated: bool,
    /// Where all of it lies. For the caller alone: it tells how this machine is laid out.
    pub stored_path: Option<String>,
    /// How it is taken back.
    pub undo_info: Option<UndoRecord>,
    /// For programs, as the tool gave it.
    pub data: Option<Data>,
}

impl fmt::Debug for ToolCallResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolCallResult")
            .field("id", &self.id)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

impl ToolCallResult {
    /// The result of a call that never ran.
    pub fn error(call: &Call, text: impl Into<String>) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            result: ToolResult::error(text),
            truncated: false,
            stored_path: None,
            undo_info: None,
            data: None,
        }
    }
}

impl Pipeline {
    pub(super) async fn finish(
        &self,
        call: &Call,
        tool: Option<&Arc<dyn Tool>>,
        context: &CallContext,
        notes: &Notes,
        done: Result<Done, Refusal>,
    ) -> ToolCallResult {
        let mut done = done.unwrap_or_else(|refusal| match refusal {
            Refusal::Failed(error) => Done::answer(ToolResult::error(error.to_string())),
            Refusal::Denied(text) => Done { end: CallEnd::Denied, ..Done::answer(ToolResult::error(text)) },
        });
        self.mask(&mut done.result);
        let name = tool.map_or(&call.name, |tool| &tool.spec().name);
        let processed = self.process(&call.id, name, done.result).await;
        let stored_path = processed.stored_path().map(str::to_owned);
        if done.operation.is_none() {
            let doer_spec = tool.map(|tool| tool.spec());
            self.record_call(call, doer_spec, context, notes, done.end, stored_path.is_some()).await;
        }
        ToolCallResult {
            id: call.id.clone(),
            name: call.name.clone(),
            result: processed.result,
            truncated: stored_path.is_some(),
            stored_path,
            undo_info: done.undo,
            data: done.data,
        }
    }

    /// Puts a large result aside, on a thread where blocking is allowed.
    async fn process(&self, call: &CallId, tool: &str, result: ToolResult) -> Processed {
        let Some(processor) = self.processor.as_ref().filter(|processor| processor.concerns(tool, &result)) else {
            return Processed::unchanged(result);
        };
        let (processor, call, tool, whole) = (processor.clone(), call.clone(), tool.to_owned(), result.clone());
        let processed = tokio::task::spawn_blocking(move || processor.process(&call, &tool, whole)).await;
        processed.unwrap_or_else(|_| Processed::unchanged(result))
    }

    /// Records a call that has no operation of its own. It is over already, so a log that cannot be
    /// written is told, and is no failure of the call.
    async fn record_call(
        &self,
        call: &Call,
        spec: Option<&ToolSpec>,
        context: &CallContext,
        notes: &Notes,
        end: CallEnd,
        stored: bool,
    ) {
        let audit = match spec {
            Some(spec) => {
                let (call_id, message_id) = (Some(call.id.clone()), call.message_id.clone());
                self.audit(&Doer { spec, call_id, message_id, turn: context.turn, notes, undoes: Vec::new() })
            }
            None => Audit { operation: audit_name::suggested(&call.name).to_owned(), ..Audit::default() },
        };
        let head = OperationHead {
            id: crate::oplog::new_id(),
            timestamp: self.clock.now(),
            session_id: self.session_id.clone(),
            message_id: call.message_id.clone(),
            call_id: Some(call.id.clone()),
            tool_name: spec.map_or(&call.name, |spec| &spec.name).clone(),
            label: String::new(),
            permission: notes.permission(),
            outcome: Outcome::Applied,
            undoes: Vec::new(),
            audit: Some(Box::new(Audit { outcome: end, stored, ..audit })),
        };
        self.append_call(head).await;
    }

    /// Has the audit know of something that changed no file.
    pub(super) async fn append_call(&self, head: OperationHead) {
        let workspace = self.workspace.clone();
        let operation = Operation { head, effect: OperationEffect::Nothing };
        if matches!(workspace.try_record_call(&operation), Ok(true)) {
            return;
        }
        let recorded = tokio::task::spawn_blocking(move || workspace.record_call(&operation)).await;
        match recorded {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the call is not in the audit"),
            Err(error) => tracing::warn!(%error, "the call is not in the audit"),
        }
    }

    /// Covers secrets in everything the model would read.
    fn mask(&self, result: &mut ToolResult) {
        for block in &mut result.content {
            if let UserBlock::Text(block) = block
                && let Cow::Owned(covered) = self.surroundings.mask.text(&block.text)
            {
                block.text = covered;
            }
        }
    }
}
