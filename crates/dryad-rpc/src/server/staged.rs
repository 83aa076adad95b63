//! What was staged for the user, put to the user.
//!
//! The model goes on meanwhile. A yes applies it, a no discards it; without an answer it stays, and can
//! be resolved by `resolve` or on the command line later. A question about something that was resolved
//! otherwise is withdrawn.

use super::Server;
use crate::desk::Desk;
use crate::dialog::{Limits, PATIENCE, preview_text};
use crate::handler::safety;
use crate::sink::StagedNews;
use dryad_protocol::action::{PendingAction, ResolutionAction, Resolver};
use dryad_protocol::id::ActionId;
use std::collections::HashMap;
use tokio_util::sync::CancellationToken;

/// The questions that stand, by what they are about.
#[derive(Debug, Default)]
pub(super) struct Asked {
    open: HashMap<ActionId, CancellationToken>,
}

impl Asked {
    pub(super) fn cancel_all(&mut self) {
        self.open.drain().for_each(|(_, cancel)| cancel.cancel());
    }
}

impl Server {
    /// Asks about what was staged for the user, and withdraws what is resolved.
    pub(super) fn take_news(&mut self, news: StagedNews) {
        let id = match news {
            StagedNews::Resolved(id) => {
                if let Some(cancel) = self.asked.open.remove(&id) {
                    cancel.cancel();
                }
                return;
            }
            StagedNews::Added(id) => id,
        };
        // One that is gone already needs no answer.
        let Ok(action) = self.desk.conversation.pipeline().pending.read(&id) else { return };
        match action.resolver {
            Resolver::Agent => {}
            Resolver::User => {
                let (desk, cancel) = (self.desk.clone(), CancellationToken::new());
                self.asked.open.insert(id, cancel.clone());
                self.beside.spawn(async move { ask(&desk, &action, &cancel).await });
            }
        }
    }
}

async fn ask(desk: &Desk, action: &PendingAction, cancel: &CancellationToken) {
    let title = format!("Apply {}?", action.label);
    let reason = action.reason.as_deref().map(|reason| format!("{reason}\n\n")).unwrap_or_default();
    let message = format!("{reason}{}", preview_text(&action.preview));
    let limits = Limits { cancel, timeout: Some(PATIENCE) };
    let decision = match desk.dialogs.decide(&title, &message, limits).await {
        Some(true) => ResolutionAction::Apply,
        Some(false) => ResolutionAction::Discard,
        None => return,
    };
    let resolved = safety::resolve(desk, Some(action.id.as_str()), safety::resolution(decision)).await;
    if let Err(error) = resolved {
        desk.notify_error(&error);
    }
}
