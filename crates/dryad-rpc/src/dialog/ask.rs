//! The gates' questions, put to the host's user.

use super::{Dialogs, Ending, Limits, PATIENCE, UiRequest, UiResponse};
use dryad_protocol::action::Preview;
use dryad_safety::dialog::{DialogAnswer, UserInterface};
use dryad_safety::gate::checkpoint::{CheckpointAnswer, CheckpointHandler, CheckpointRequest};
use dryad_safety::gate::permission::{PermissionAnswer, PermissionHandler, PermissionRequest};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Arguments are shown up to so many characters.
const SHOWN_ARGUMENTS: usize = 1000;

/// Previews are shown up to so many characters.
const SHOWN_PREVIEW: usize = 20_000;

impl UserInterface for Dialogs {
    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer> {
        let milliseconds = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let request = UiRequest::Select { title, options, timeout: milliseconds };
        Box::pin(async move { self.answer_of(request, timeout).await })
    }

    fn input<'a>(&'a self, title: &'a str) -> BoxFuture<'a, DialogAnswer> {
        let request = UiRequest::Input { title, placeholder: None, timeout: None };
        Box::pin(async move { self.answer_of(request, None).await })
    }
}

impl Dialogs {
    async fn answer_of(&self, request: UiRequest<'_>, timeout: Option<Duration>) -> DialogAnswer {
        // Dropped with the call that waits for it, so the token need not come from there.
        let limits = Limits { cancel: &CancellationToken::new(), timeout };
        match self.put(request, limits).await {
            Ending::Answered(UiResponse { value: Some(value), .. }) => DialogAnswer::Given(value),
            Ending::Answered(_) | Ending::Dismissed => DialogAnswer::Cancelled,
            Ending::TimedOut => DialogAnswer::TimedOut,
        }
    }
}

impl PermissionHandler for Dialogs {
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(async move {
            let PermissionRequest { tool_name, arguments, reason, dangerous, .. } = request;
            let title = if dangerous { "Dangerous command" } else { "Permission" };
            let message = format!("Allow {tool_name}? {reason}\n\n{}", shown(&arguments));
            // Dropped with the call that waits for it, so the token need not come from there.
            let limits = Limits { cancel: &CancellationToken::new(), timeout: Some(PATIENCE) };
            match self.decide(title, &message, limits).await {
                Some(true) => PermissionAnswer::Once,
                Some(false) => PermissionAnswer::Deny(String::new()),
                None => PermissionAnswer::Deny("nobody answered".to_owned()),
            }
        })
    }
}

impl CheckpointHandler for Dialogs {
    fn release(&self, request: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer> {
        Box::pin(async move {
            let CheckpointRequest { tool_name, arguments, destructive, preview, deliverable, .. } = request;
            let mut message = format!("Release {tool_name}?");
            if destructive {
                message.push_str(" What it does cannot be undone.");
            }
            message.push_str(&format!("\n\n{}", shown(&arguments)));
            if let Some(preview) = &preview {
                message.push_str(&format!("\n\n{}", preview_text(preview)));
            }
            if let Some(deliverable) = &deliverable {
                let told = serde_json::to_string_pretty(deliverable).unwrap_or_default();
                message.push_str(&format!("\n\nWhat speaks against it: {told}"));
            }
            let limits = Limits { cancel: &CancellationToken::new(), timeout: Some(PATIENCE) };
            match self.decide("Checkpoint", &message, limits).await {
                Some(true) => CheckpointAnswer::Allow,
                Some(false) => CheckpointAnswer::Deny("the user said no".to_owned()),
                None => CheckpointAnswer::Deny("nobody answered".to_owned()),
            }
        })
    }
}

/// What would be done, for a dialog.
pub(crate) fn preview_text(preview: &Preview) -> String {
    let text = cut(&preview.text, SHOWN_PREVIEW);
    format!("{}\n{text}", preview.would_affect)
}

fn shown(arguments: &Map<String, Value>) -> String {
    match (arguments.get("command").and_then(Value::as_str), arguments.len()) {
        (Some(command), 1) => cut(command, SHOWN_ARGUMENTS),
        (_, _) => cut(&Value::Object(arguments.clone()).to_string(), SHOWN_ARGUMENTS),
    }
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
