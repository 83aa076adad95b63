//! Does the same to many files on all cores, and hands the results over in the order of the files.
//!
//! ```text
//! files ─► handed out one by one ─► workers ─► window: results that wait for an earlier one ─► taker
//! ```
//!
//! There is no thread that only takes: the worker that finishes the earliest file hands it over, with whatever
//! waited behind it. The invariant: files under way and results not yet handed over are never more than
//! [`WINDOW`] together, so memory does not grow with the number of files. Whoever would go beyond waits.

use dryad_safety::tool::{PlanContext, ToolError};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// More threads than this only compete for memory.
const MOST_THREADS: usize = 12;

/// Files under way and results that wait, at most: enough that one large file seldom holds up the rest.
const WINDOW: usize = 128;

/// How many threads work.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Calls `work` for every item on any thread, and `take` with the results: one at a time, in the order of the
/// items, until it breaks. What it broke with is given back.
///
/// # Errors
///
/// When the call is no longer wanted, or `work` panicked.
pub(crate) fn in_order<T: Sync, R: Send, B: Send>(
    items: &[T],
    context: &PlanContext,
    work: impl Fn(&T) -> R + Sync,
    take: impl FnMut(R) -> ControlFlow<B> + Send,
) -> Result<Option<B>, ToolError> {
    let line =
        Line { window: Mutex::new(Window::new(items.len())), moved: Condvar::new(), taker: Mutex::new((take, None)) };
    let run = || {
        let _guard = EndOnPanic(&line);
        while !context.cancel.is_cancelled() {
            let Some((index, item)) = line.next().and_then(|index| Some((index, items.get(index)?))) else { return };
            line.deliver(index, work(item));
        }
        line.end();
    };
    let finished = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads().min(items.len())).map(|_| scope.spawn(run)).collect();
        started.into_iter().map(|thread| thread.join()).collect::<Result<Vec<_>, _>>()
    });
    context.check_cancelled()?;
    finished.map_err(|_| ToolError::new("a file could not be parsed: the parser crashed"))?;
    let (_, broke) = line.taker.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(broke)
}

/// Everything that the workers share.
struct Line<R, F, B> {
    window: Mutex<Window<R>>,
    /// Told when the window has room again, or all is over.
    moved: Condvar,
    /// Who takes the results, and what it broke with.
    taker: Mutex<(F, Option<B>)>,
}

/// The items that are handed out and not yet taken.
struct Window<R> {
    /// The item that is taken next.
    first: usize,
    /// The item that is handed out next.
    next: usize,
    /// How many there are.
    total: usize,
    /// The results from `first` to `next`, as far as they are there.
    results: VecDeque<Option<R>>,
    /// Whether somebody hands over right now.
    is_taking: bool,
    /// Workers that wait for room.
    waiting: usize,
    /// Whether nothing more is wanted.
    is_over: bool,
}

impl<R> Window<R> {
    fn new(total: usize) -> Self {
        Self { first: 0, next: 0, total, results: VecDeque::new(), is_taking: false, waiting: 0, is_over: false }
    }

    /// The earliest result, if it is there.
    fn pop(&mut self) -> Option<R> {
        let result = self.results.front_mut()?.take()?;
        self.results.pop_front();
        self.first += 1;
        Some(result)
    }

    /// Whether those who wait should go on: not for each single place, which would only wake them to sleep again.
    fn has_room_again(&self) -> bool {
        self.waiting > 0 && self.results.len() <= WINDOW / 2
    }
}

impl<R, F: FnMut(R) -> ControlFlow<B>, B> Line<R, F, B> {
    fn window(&self) -> MutexGuard<'_, Window<R>> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item to work on, once there is room for its result; none at the end.
    fn next(&self) -> Option<usize> {
        let mut window = self.window();
        loop {
            if window.is_over || window.next == window.total {
                return None;
            }
            // The result that is being handed over is still there.
            if window.results.len() + usize::from(window.is_taking) < WINDOW {
                window.results.push_back(None);
                window.next += 1;
                return Some(window.next - 1);
            }
            window.waiting += 1;
            window = self.moved.wait(window).unwrap_or_else(PoisonError::into_inner);
            window.waiting -= 1;
        }
    }

    /// Puts a result in its place, and hands over what can be unless somebody else does.
    fn deliver(&self, index: usize, result: R) {
        let mut window = self.window();
        let place = index - window.first;
        if let Some(slot) = window.results.get_mut(place) {
            *slot = Some(result);
        }
        if window.is_taking {
            return;
        }
        while !window.is_over
            && let Some(result) = window.pop()
        {
            window.is_taking = true;
            drop(window);
            let is_over = self.take(result);
            window = self.window();
            window.is_taking = false;
            window.is_over |= is_over;
            if window.is_over || window.has_room_again() {
                self.moved.notify_all();
            }
        }
    }

    /// Hands over one result; whether it was the last one that is wanted.
    fn take(&self, result: R) -> bool {
        let mut taker = self.taker.lock().unwrap_or_else(PoisonError::into_inner);
        match (taker.0)(result) {
            ControlFlow::Continue(()) => false,
            ControlFlow::Break(broke) => {
                taker.1 = Some(broke);
                true
            }
        }
    }
}

impl<R, F, B> Line<R, F, B> {
    /// Lets everybody stop.
    fn end(&self) {
        self.window.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.moved.notify_all();
    }
}

/// Ends the work of all if one panics: its result will never come.
struct EndOnPanic<'a, R, F, B>(&'a Line<R, F, B>);

impl<R, F, B> Drop for EndOnPanic<'_, R, F, B> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests;
