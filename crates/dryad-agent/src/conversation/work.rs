//! Who has the conversation, and how that is ended.
//!
//! The invariant: whoever works holds the one slot. Ending it means cancelling its token and waiting for
//! the slot, so that nothing of the old work happens after the new one began.
//!
//! What is done while nothing goes on (leisure) holds no slot, so that it is in nobody's way: whatever
//! begins ends it, and waits until it has told so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as Slot, MutexGuard as Rest, OwnedMutexGuard};
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
    /// Held by what is done at leisure.
    rest: Slot<()>,
    now: Mutex<Now>,
    /// Numbers the parts.
    parts: AtomicU64,
}

/// What goes on now.
#[derive(Debug, Default)]
struct Now {
    job: Option<(Job, CancellationToken)>,
    /// What waits or is done while there is no job.
    leisure: Option<CancellationToken>,
    compaction: Option<(u64, CancellationToken)>,
    retry: Option<(u64, CancellationToken)>,
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
    number: u64,
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
        let busy = self.begin(job, slot);
        self.rested().await;
        busy
    }

    /// Ends what goes on.
    pub(super) async fn stop(&self) {
        self.cancel();
        drop(self.slot.lock().await);
        self.rested().await;
    }

    /// Waits until nothing goes on.
    pub(super) async fn idle(&self) {
        drop(self.slot.lock().await);
    }

    /// Waits until what was done at leisure is over.
    pub(super) async fn rested(&self) {
        drop(self.rest.lock().await);
    }

    /// Begins a time of leisure, which the next job ends; nothing when there is a job.
    pub(super) fn leisure(&self) -> Option<CancellationToken> {
        let mut now = self.now();
        if now.job.is_some() {
            return None;
        }
        let cancel = CancellationToken::new();
        if let Some(earlier) = now.leisure.replace(cancel.clone()) {
            earlier.cancel();
        }
        Some(cancel)
    }

    /// Works at leisure: whoever begins a job waits for the end of it. Nothing when that has begun already.
    pub(super) async fn at_leisure(&self, cancel: &CancellationToken) -> Option<Rest<'_, ()>> {
        let rest = self.rest.lock().await;
        (!cancel.is_cancelled()).then_some(rest)
    }

    /// Does something at once if no job has begun since. No job begins meanwhile, so it must be short; it must
    /// not ask what goes on.
    pub(super) fn if_still_at_leisure<T>(&self, cancel: &CancellationToken, work: impl FnOnce() -> T) -> Option<T> {
        let now = self.now();
        (now.job.is_none() && !cancel.is_cancelled()).then(work)
    }

    /// Marks a part of what goes on, which can be ended by itself.
    pub(super) fn part(&self, part: Part, of: &CancellationToken) -> PartGuard<'_> {
        let cancel = of.child_token();
        let number = self.parts.fetch_add(1, Ordering::Relaxed);
        *self.now().part(part) = Some((number, cancel.clone()));
        PartGuard { work: self, part, number, cancel }
    }

    /// Ends a part of what goes on, if it does.
    pub(super) fn cancel_part(&self, part: Part) {
        if let Some((_, cancel)) = self.now().part(part) {
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
        let before = std::mem::replace(&mut *self.now(), Now { job: Some((job, cancel.clone())), ..Now::default() });
        before.leisure.into_iter().for_each(|leisure| leisure.cancel());
        Busy { work: self.clone(), cancel, _slot: slot }
    }

    fn cancel(&self) {
        let now = self.now();
        let job = now.job.as_ref().map(|(_, cancel)| cancel);
        job.into_iter().chain(&now.leisure).for_each(CancellationToken::cancel);
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn part(&mut self, part: Part) -> &mut Option<(u64, CancellationToken)> {
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
        let mut now = self.work.now();
        let slot = now.part(self.part);
        if slot.as_ref().is_some_and(|(number, _)| *number == self.number) {
            *slot = None;
        }
    }
}
