//! Carries out the calls of one turn.
//!
//! Adjacent concurrency-safe calls run side by side, bounded; every other call runs alone. Results
//! are given back in the order of the calls, and each call has exactly one, also when it never ran.

use crate::pipeline::{CallContext, Pipeline, ToolCallResult};
use crate::progress::Progress;
use dryad_protocol::call::{Call, ToolResult};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;
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
    fn finished(&self, call: &Call, result: &ToolCallResult);
    /// Whether what is left of the batch shall be given up for a waiting user message. Asked after
    /// each finished call.
    fn interrupted(&self) -> bool;
}

/// What a batch is carried out with.
#[derive(Clone, Debug, Default)]
pub struct BatchContext {
    /// Cancels all of it.
    pub cancel: CancellationToken,
    /// Where relative paths start, instead of the pipeline's own directory. Empty changes nothing.
    pub workdir: PathBuf,
    /// The turn of its run, from 1.
    pub turn: Option<u32>,
    /// Calls that run side by side at most; 0 means [`MAX_CONCURRENCY`].
    pub max_concurrency: usize,
}

/// Carries out `calls` and returns their results in the same order.
pub async fn execute_batch(
    pipeline: &Pipeline,
    calls: &[Call],
    context: &BatchContext,
    observer: &dyn BatchObserver,
) -> Vec<ToolCallResult> {
    let bound = if context.max_concurrency == 0 { MAX_CONCURRENCY } else { context.max_concurrency };
    let cancel = context.cancel.child_token();
    let batch = Batch { pipeline, observer, context, cancel, steered: AtomicBool::new(false) };
    let mut results = Vec::with_capacity(calls.len());
    for group in groups(pipeline, calls) {
        let mut running: Vec<BoxFuture<'_, _>> = Vec::with_capacity(group.len());
        for (position, call) in group.iter().enumerate() {
            running.push(batch.place(position, call).boxed());
        }
        let mut finished: Vec<_> = stream::iter(running).buffer_unordered(bound).collect().await;
        finished.sort_by_key(|(position, _)| *position);
        results.extend(finished.into_iter().map(|(_, result)| result));
    }
    results
}

struct Batch<'a> {
    pipeline: &'a Pipeline,
    observer: &'a dyn BatchObserver,
    context: &'a BatchContext,
    /// Cancels what is running when the run is cancelled or a user message waits.
    cancel: CancellationToken,
    /// A user message waits: what has not started will not start.
    steered: AtomicBool,
}

impl Batch<'_> {
    /// Carries out one call and says which of its group it was.
    async fn place(&self, position: usize, call: &Call) -> (usize, ToolCallResult) {
        self.observer.started(call);
        let result = match self.given_up(call) {
            Some(result) => result,
            None => self.watched(call).await,
        };
        self.observer.finished(call, &result);
        if !self.cancel.is_cancelled() && self.observer.interrupted() {
            self.steered.store(true, Ordering::Relaxed);
            self.cancel.cancel();
        }
        (position, result)
    }

    /// Why a call that has not started yet will not start.
    fn given_up(&self, call: &Call) -> Option<ToolCallResult> {
        match self.cancel.is_cancelled() {
            true if self.steered.load(Ordering::Relaxed) => {
                Some(ToolCallResult::error(call, "Skipped: a user message is waiting"))
            }
            true => Some(ToolCallResult::error(call, "Aborted before execution")),
            false => None,
        }
    }

    /// Runs a call and passes its updates on. A panic outside the tool is contained here.
    async fn watched(&self, call: &Call) -> ToolCallResult {
        let (progress, mut updates) = Progress::watched();
        let BatchContext { workdir, turn, .. } = self.context;
        let context = CallContext { cancel: self.cancel.clone(), progress, workdir: workdir.clone(), turn: *turn };
        let work = AssertUnwindSafe(self.pipeline.run(call, &context)).catch_unwind();
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => {
                    // What a call showed right before its end is told before it.
                    if updates.has_changed().unwrap_or(false) {
                        self.tell_update(call, &mut updates);
                    }
                    return result.unwrap_or_else(|_| ToolCallResult::error(call, format!("{} crashed", call.name)));
                }
                Ok(()) = updates.changed() => {
                    self.tell_update(call, &mut updates);
                }
            }
        }
    }
}

impl Batch<'_> {
    fn tell_update(&self, call: &Call, updates: &mut watch::Receiver<Option<ToolResult>>) {
        let so_far = updates.borrow_and_update().clone();
        if let Some(so_far) = so_far {
            self.observer.updated(call, &so_far);
        }
    }
}

/// Cuts the batch into runs of concurrency-safe calls and single others.
fn groups<'c>(pipeline: &Pipeline, calls: &'c [Call]) -> impl Iterator<Item = &'c [Call]> {
    let safe =
        |call: &Call| pipeline.registry.get(&call.name).is_some_and(|tool| tool.spec().metadata.concurrency_safe);
    calls.chunk_by(move |call, next| safe(call) && safe(next))
}
