//! What is recorded of a call: who did it, why, and what an audit asks.

use super::{Pipeline, Way};
use crate::audit_name;
use crate::gate::Notes;
use crate::gate::reverse_thinking::METADATA_KEY;
use crate::plan::Effect;
use crate::preview;
use crate::spec::ToolSpec;
use dryad_protocol::action::PendingAction;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::id::{CallId, OperationId};
use dryad_protocol::operation::{Audit, CallEnd, OperationHead, Outcome};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The tool that decides on staged plans.
const RESOLVE: &str = "resolve";

/// Who does something.
pub(super) struct Doer<'a> {
    pub(super) spec: &'a ToolSpec,
    pub(super) call_id: Option<CallId>,
    pub(super) message_id: Option<String>,
    pub(super) turn: Option<u32>,
    pub(super) notes: &'a Notes,
    pub(super) undoes: Vec<OperationId>,
}

impl<'a> Doer<'a> {
    pub(super) fn of_call(way: Way<'a>) -> Self {
        Self {
            spec: way.tool.spec(),
            call_id: Some(way.call.id.clone()),
            message_id: way.call.message_id.clone(),
            turn: way.context.turn,
            notes: way.notes,
            undoes: way.undoes.cloned().into_iter().collect(),
        }
    }
}

impl Pipeline {
    pub(super) fn head(&self, doer: &Doer<'_>, effect: &Effect) -> OperationHead {
        OperationHead {
            id: crate::oplog::new_id(),
            timestamp: self.clock.now(),
            session_id: self.session_id.clone(),
            message_id: doer.message_id.clone(),
            call_id: doer.call_id.clone(),
            tool_name: doer.spec.name.clone(),
            label: self.label(doer.spec, effect),
            permission: doer.notes.permission(),
            outcome: Outcome::Applied,
            undoes: doer.undoes.clone(),
            audit: Some(Box::new(self.audit(doer))),
        }
    }

    /// The head of the operation that applying a staged plan is.
    pub(super) fn head_of_action(&self, action: &PendingAction, permission: &str) -> OperationHead {
        OperationHead {
            id: action.operation_id.clone(),
            timestamp: self.clock.now(),
            session_id: action.session_id.clone(),
            message_id: action.message_id.clone(),
            call_id: action.call_id.clone(),
            tool_name: action.source_tool_name.clone(),
            label: action.label.clone(),
            permission: permission.to_owned(),
            outcome: Outcome::Applied,
            undoes: Vec::new(),
            audit: Some(Box::new(Audit { outcome: CallEnd::Success, ..action.audit.clone() })),
        }
    }

    /// What is recorded of a person's decision against a staged plan; the model's own is a call and recorded as such.
    pub(super) fn head_of_discard(&self, action: &PendingAction, permission: &str) -> OperationHead {
        let operation = audit_name::suggested(RESOLVE).to_owned();
        OperationHead {
            id: crate::oplog::new_id(),
            timestamp: self.clock.now(),
            session_id: action.session_id.clone(),
            message_id: action.message_id.clone(),
            call_id: None,
            tool_name: RESOLVE.to_owned(),
            label: format!("discarded {}", action.label),
            permission: permission.to_owned(),
            outcome: Outcome::Applied,
            undoes: Vec::new(),
            audit: Some(Box::new(Audit { operation, outcome: CallEnd::Success, ..Audit::default() })),
        }
    }

    /// What an audit asks, for a call that goes well.
    pub(super) fn audit(&self, doer: &Doer<'_>) -> Audit {
        let ToolSpec { metadata, capability, .. } = doer.spec;
        let deliverable = doer.notes.deliverable().and_then(|deliverable| serde_json::to_value(deliverable).ok());
        Audit {
            operation: audit_name::operation(doer.spec).to_owned(),
            level: capability.safety_level() as u8,
            destructive: metadata.destructive,
            outcome: CallEnd::Success,
            resources: capability.affected_resources.clone(),
            turn: doer.turn,
            stored: false,
            metadata: deliverable.map(|value| (METADATA_KEY.to_owned(), value)).into_iter().collect(),
        }
    }

    /// What an effect does, in a few words without secrets.
    pub(super) fn label(&self, spec: &ToolSpec, effect: &Effect) -> String {
        let text = match effect {
            Effect::Files(files) => preview::affected(files, &self.workdir),
            Effect::Command(command) => command.command.lines().next().unwrap_or_default().chars().take(80).collect(),
            Effect::Foreign(foreign) => shown(&foreign.arguments),
            Effect::Resolve(resolution) => resolution.reason.clone(),
        };
        format!("{}: {}", spec.name, self.surroundings.mask.text(&text))
    }

    /// The command as it may lie on a disk: it ran with the real values, the record has them covered.
    pub(super) fn covered(&self, mut command: CommandSpec) -> CommandSpec {
        let cover = |text: &mut String| {
            if let Cow::Owned(covered) = self.surroundings.mask.text(text) {
                *text = covered;
            }
        };
        cover(&mut command.command);
        command.env.values_mut().for_each(cover);
        command
    }

    /// Arguments as they may lie on a disk.
    pub(super) fn covered_arguments(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let text = Value::Object(arguments.clone()).to_string();
        match self.surroundings.mask.text(&text) {
            Cow::Borrowed(_) => arguments,
            Cow::Owned(covered) => serde_json::from_str(&covered).unwrap_or_default(),
        }
    }
}

/// The beginning of arguments, as text.
fn shown(arguments: &Map<String, Value>) -> String {
    let one = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    let text = arguments.iter().map(one).collect::<Vec<_>>().join(" ");
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}
