//! Who has the conversation, and how that is ended.
//!
//! The invariant: whoever works holds the one slot. Ending it means cancelling its token and waiting for
//! the slot, so that nothing of the old work happens after the new one began.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as Slot, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

/// What a conversation is busy with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Job {
    /// A prompt, until nothing goes on by itself.
    Prompt,
    /// Something with the session.
    Change,
}

/// The one slot.
#[derive(Debug, Default)]
pub(super) struct Work {
    slot: Arc<Slot<()>>,
    now: Mutex<Now>,
}

/// What goes on now.
#[derive(Debug, Default)]
struct Now {
    job: Option<(Job, CancellationToken)>,
    compaction: Option<CancellationToken>,
    retry: Option<CancellationToken>,
}

/// A stretch of work that can be ended by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Compaction,
    Retry,
}

/// Holds the slot until it is dropped.
#[derive(Debug)]
pub(super) struct Busy {
    work: Arc<Work>,
    pub(super) cancel: CancellationToken,
    _slot: OwnedMutexGuard<()>,
}

/// A part of the work that is going on.
#[derive(Debug)]
pub(super) struct PartGuard<'a> {
    work: &'a Work,
    part: Part,
    pub(super) cancel: CancellationToken,
}

impl Work {
    /// Takes the slot if it is free.
    pub(super) fn try_begin(self: &Arc<Self>, job: Job) -> Option<Busy> {
        let slot = self.slot.clone().try_lock_owned().ok()?;
        Some(self.begin(job, slot))
    }

    /// Ends what goes on and takes the slot.
    pub(super) async fn take_over(self: &Arc<Self>, job: Job) -> Busy {
        self.cancel();
        let slot = self.slot.clone().lock_owned().await;
        self.begin(job, slot)
    }

    /// Ends what goes on.
    pub(super) async fn stop(&self) {
        self.cancel();
        drop(self.slot.lock().await);
    }

    /// Waits until nothing goes on.
    pub(super) async fn idle(&self) {
        drop(self.slot.lock().await);
    }

    /// Marks a part of what goes on, which can be ended by itself.
    pub(super) fn part(&self, part: Part, of: &CancellationToken) -> PartGuard<'_> {
        let cancel = of.child_token();
        *self.now().part(part) = Some(cancel.clone());
        PartGuard { work: self, part, cancel }
    }

    /// Ends a part of what goes on, if it does.
    pub(super) fn cancel_part(&self, part: Part) {
        if let Some(cancel) = self.now().part(part) {
            cancel.cancel();
        }
    }

    /// Whether a part goes on.
    pub(super) fn has_part(&self, part: Part) -> bool {
        self.now().part(part).is_some()
    }

    /// What goes on.
    pub(super) fn job(&self) -> Option<Job> {
        self.now().job.as_ref().map(|(job, _)| *job)
    }

    fn begin(self: &Arc<Self>, job: Job, slot: OwnedMutexGuard<()>) -> Busy {
        let cancel = CancellationToken::new();
        self.now().job = Some((job, cancel.clone()));
        Busy { work: self.clone(), cancel, _slot: slot }
    }

    fn cancel(&self) {
        if let Some((_, cancel)) = &self.now().job {
            cancel.cancel();
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn part(&mut self, part: Part) -> &mut Option<CancellationToken> {
        match part {
            Part::Compaction => &mut self.compaction,
            Part::Retry => &mut self.retry,
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.work.now() = Now::default();
    }
}

impl Drop for PartGuard<'_> {
    fn drop(&mut self) {
        *self.work.now().part(self.part) = None;
    }
}
