//! What is done while nothing goes on: a long context is summarised before somebody waits for it.
//!
//! It is in nobody's way: whatever is asked for ends it, and a summary that comes too late is thrown away.

use super::hooks::Occasion;
use super::summaries::Outcome;
use super::todo::Keeper;
use super::work::Part;
use super::{Conversation, ConversationError, Idle};
use dryad_protocol::entry::Compaction;
use dryad_protocol::event::{CompactionAction, CompactionEvent, CompactionReason};
use dryad_session::compact::plan::Plan;
use dryad_session::compact::tokens;
use std::sync::{Arc, PoisonError};
use tokio_util::sync::CancellationToken;

impl Conversation {
    /// Waits for the time to make room at leisure, where that is wanted and something runs tasks.
    pub(super) fn rest(&self) {
        let idle = {
            let settings = self.settings();
            settings.idle.filter(|_| settings.compaction.enabled)
        };
        let (Some(idle), Ok(runtime)) = (idle, tokio::runtime::Handle::try_current()) else { return };
        let Some(cancel) = self.inner.work.leisure() else { return };
        // The wait must not keep a conversation that nobody has any more.
        let inner = Arc::downgrade(&self.inner);
        let task = runtime.spawn(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(idle.after) => {}
            }
            if let Some(inner) = inner.upgrade() {
                Self { inner }.make_room_at_leisure(idle, &cancel).await;
            }
        });
        let keeper = Keeper::new(task.abort_handle());
        *self.inner.resting.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
    }

    async fn make_room_at_leisure(&self, idle: Idle, cancel: &CancellationToken) {
        let Some(_rest) = self.inner.work.at_leisure(cancel).await else { return };
        let settings = self.settings().compaction;
        let is_worth_it = self
            .with_session(|session| tokens::of_context(session) > idle.tokens && Plan::new(session, &settings).is_ok());
        if !settings.enabled || !is_worth_it {
            return;
        }
        let (reason, action) = (CompactionReason::Idle, CompactionAction::ContextFull);
        self.inner.agent.emit(CompactionEvent::AutoCompactionStart { reason, action });
        self.inner.agent.emit(CompactionEvent::CompactionStart { reason });
        let outcome = match self.ask_hooks_until(Occasion::Compact { reason }, cancel).await {
            Ok(agreed) => self.compact_at_leisure(cancel).await.map(|made| (made, agreed)),
            Err(error) => Err(error),
        };
        let (made, agreed) = match outcome {
            Ok((made, agreed)) => (Ok(Some(made)), Some(agreed)),
            Err(error) => (Err(error), None),
        };
        self.tell_end(reason, action, &Outcome::of(&made), false);
        if let Some(agreed) = agreed {
            self.tell_hooks_until(agreed, cancel).await;
        }
    }

    /// Has the summary written while others may begin, and takes it if none has.
    async fn compact_at_leisure(&self, cancel: &CancellationToken) -> Result<Compaction, ConversationError> {
        let place = || self.with_session(|session| (session.id().clone(), session.leaf().cloned()));
        let before = place();
        let written = {
            let part = self.inner.work.part(Part::Compaction, cancel);
            self.write_compaction(None, &part.cancel).await?
        };
        let taken = self.inner.work.if_still_at_leisure(cancel, || {
            let is_there = place() == before;
            if is_there {
                self.take_compaction(&written);
            }
            is_there
        });
        if taken == Some(true) { Ok(written) } else { Err(ConversationError::Cancelled) }
    }
}
