//! Carries out the calls of one turn.
//!
//! Adjacent concurrency-safe calls run side by side, bounded; every other call runs alone. Results
//! are given back in the order of the calls, and each call has exactly one, also when it never ran.

use crate::pipeline::Pipeline;
use crate::progress::Progress;
use dryad_protocol::call::{Call, ToolResult};
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use tokio_util::sync::CancellationToken;

/// Calls that run side by side at most.
pub const MAX_CONCURRENCY: usize = 10;

/// Told what happens to each call of a batch, as it happens.
pub trait BatchObserver: Sync {
    /// A call begins.
    fn started(&self, call: &Call);
    /// A call shows what it has so far.
    fn updated(&self, call: &Call, so_far: &ToolResult);
    /// A call is over.
    fn finished(&self, call: &Call, result: &ToolResult);
    /// Whether what is left of the batch shall be given up for a waiting user message. Asked after
    /// each finished call.
    fn interrupted(&self) -> bool;
}

/// Carries out `calls` and returns their results in the same order.
pub async fn execute_batch(
    pipeline: &Pipeline,
    calls: &[Call],
    cancel: &CancellationToken,
    observer: &dyn BatchObserver,
) -> Vec<ToolResult> {
    let mut batch =
        Batch { pipeline, calls, observer, cancel: cancel.child_token(), steered: false, results: Vec::new() };
    batch.results.resize(calls.len(), None);
    for group in groups(pipeline, calls) {
        batch.run_group(group).await;
    }
    let missing = || ToolResult::error("the call was lost");
    batch.results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
}

struct Batch<'a> {
    pipeline: &'a Pipeline,
    calls: &'a [Call],
    observer: &'a dyn BatchObserver,
    /// Cancels what is running when the run is cancelled or a user message waits.
    cancel: CancellationToken,
    steered: bool,
    results: Vec<Option<ToolResult>>,
}

impl Batch<'_> {
    async fn run_group(&mut self, group: Range<usize>) {
        let (pipeline, calls, observer, cancel) = (self.pipeline, self.calls, self.observer, self.cancel.clone());
        let give_up = self.given_up();
        let pending = group.filter_map(|position| {
            let call = calls.get(position)?;
            let (cancel, give_up) = (&cancel, give_up.clone());
            Some(async move { (position, run_call(pipeline, call, cancel, observer, give_up).await) })
        });
        let mut running = stream::iter(pending).buffer_unordered(MAX_CONCURRENCY);
        while let Some((position, result)) = running.next().await {
            if let Some(place) = self.results.get_mut(position) {
                *place = Some(result);
            }
            if !self.steered && self.observer.interrupted() {
                self.steered = true;
                self.cancel.cancel();
            }
        }
    }

    /// Why a call that has not started yet will not start.
    fn given_up(&self) -> Option<ToolResult> {
        if self.steered {
            Some(ToolResult::error("Skipped: a user message is waiting"))
        } else if self.cancel.is_cancelled() {
            Some(ToolResult::error("Aborted before execution"))
        } else {
            None
        }
    }
}

async fn run_call(
    pipeline: &Pipeline,
    call: &Call,
    cancel: &CancellationToken,
    observer: &dyn BatchObserver,
    give_up: Option<ToolResult>,
) -> ToolResult {
    observer.started(call);
    let result = match give_up {
        Some(result) => result,
        None => watched(pipeline, call, cancel, observer).await,
    };
    observer.finished(call, &result);
    result
}

/// Runs a call and passes its updates on. A panic outside the tool is contained here.
async fn watched(
    pipeline: &Pipeline,
    call: &Call,
    cancel: &CancellationToken,
    observer: &dyn BatchObserver,
) -> ToolResult {
    let (progress, mut updates) = Progress::watched();
    let mut work = std::pin::pin!(AssertUnwindSafe(pipeline.run(call, cancel, &progress)).catch_unwind());
    loop {
        tokio::select! {
            biased;
            result = &mut work => {
                return result.unwrap_or_else(|_| ToolResult::error(format!("{} crashed", call.name)));
            }
            Ok(()) = updates.changed() => {
                let so_far = updates.borrow_and_update().clone();
                if let Some(so_far) = so_far {
                    observer.updated(call, &so_far);
                }
            }
        }
    }
}

/// Cuts the batch into runs of concurrency-safe calls and single others.
fn groups(pipeline: &Pipeline, calls: &[Call]) -> Vec<Range<usize>> {
    let safe =
        |call: &Call| pipeline.registry.get(&call.name).is_some_and(|tool| tool.spec().metadata.concurrency_safe);
    let mut groups: Vec<(Range<usize>, bool)> = Vec::new();
    for (position, call) in calls.iter().enumerate() {
        let is_safe = safe(call);
        match groups.last_mut() {
            Some((range, true)) if is_safe => range.end = position + 1,
            _ => groups.push((position..position + 1, is_safe)),
        }
    }
    groups.into_iter().map(|(range, _)| range).collect()
}
