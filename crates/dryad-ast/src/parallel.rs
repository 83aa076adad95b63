//! Does the same to many files on all cores.
//!
//! Files are handed out one by one, so that a large one holds up one thread only; results come back in
//! the order of the files, whichever thread was first.

use dryad_safety::tool::{PlanContext, ToolError};
use std::sync::atomic::{AtomicUsize, Ordering};

/// More threads than this only compete for memory.
const MOST_THREADS: usize = 12;

/// How many threads work.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Calls `work` for every item and keeps what it gives back.
///
/// # Errors
///
/// When the call is no longer wanted, or `work` panicked.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    context: &PlanContext,
    work: impl Fn(&T) -> Option<R> + Sync,
) -> Result<Vec<R>, ToolError> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while !context.cancel.is_cancelled() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            done.extend(work(item).map(|result| (index, result)));
        }
        done
    };
    let finished = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads().min(items.len())).map(|_| scope.spawn(take)).collect();
        started.into_iter().map(|thread| thread.join()).collect::<Result<Vec<_>, _>>()
    });
    context.check_cancelled()?;
    let finished = finished.map_err(|_| ToolError::new("a file could not be parsed: the parser crashed"))?;
    let mut results: Vec<(usize, R)> = finished.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let doubled = map(&items, &PlanContext::new("/"), |item| (item % 3 != 0).then_some(item * 2)).unwrap();
        let expected: Vec<usize> = items.iter().filter(|item| *item % 3 != 0).map(|item| item * 2).collect();
        assert_eq!(doubled, expected);
    }

    #[test]
    fn a_call_that_is_no_longer_wanted_ends() {
        let context = PlanContext::new("/");
        context.cancel.cancel();
        assert_eq!(map(&[1, 2], &context, |item| Some(*item)).unwrap_err(), ToolError::aborted());
    }

    #[test]
    fn a_panic_is_told_and_not_passed_on() {
        let crashed = map(&[1], &PlanContext::new("/"), |_| -> Option<()> { panic!("no") });
        assert_eq!(crashed.unwrap_err().to_string(), "a file could not be parsed: the parser crashed");
    }
}
