//! The order of results, the bound on those that wait, and every way to end early.

use super::*;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

const CRASHED: &str = "a file could not be parsed: the parser crashed";

fn context() -> PlanContext {
    PlanContext::new("/")
}

/// Counts how many of it there are.
struct Alive<'a>(&'a AtomicUsize, usize);

impl<'a> Alive<'a> {
    fn new(alive: &'a AtomicUsize, most: &AtomicUsize, index: usize) -> Self {
        most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(alive, index)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn results_come_in_the_order_of_the_items() {
    let items: Vec<usize> = (0..5000).collect();
    let mut taken = Vec::new();
    let broke = in_order(
        &items,
        &context(),
        |item| item * 2,
        |result| {
            taken.push(result);
            ControlFlow::<Infallible>::Continue(())
        },
    );
    assert_eq!(broke.unwrap(), None);
    assert_eq!(taken, items.iter().map(|item| item * 2).collect::<Vec<_>>());
}

#[test]
fn no_more_results_wait_than_the_window_holds() {
    let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let items: Vec<usize> = (0..20 * WINDOW).collect();
    let mut taken = Vec::new();
    let work = |item: &usize| {
        let result = Alive::new(&alive, &most, *item);
        // The first one takes until the others have gone as far as they may.
        while threads() > 1 && *item == 0 && alive.load(Ordering::SeqCst) < WINDOW {
            std::thread::yield_now();
        }
        result
    };
    in_order(&items, &context(), work, |result: Alive<'_>| {
        taken.push(result.1);
        ControlFlow::<Infallible>::Continue(())
    })
    .unwrap();
    assert_eq!(taken, items);
    let most = most.into_inner();
    assert!(most <= WINDOW && (most == WINDOW || threads() == 1), "{most} results at once");
}

#[test]
fn nothing_is_taken_after_the_end_and_little_is_worked_on() {
    let worked = AtomicUsize::new(0);
    let items: Vec<usize> = (0..100 * WINDOW).collect();
    let mut taken = 0;
    let work = |item: &usize| {
        worked.fetch_add(1, Ordering::SeqCst);
        *item
    };
    let broke = in_order(&items, &context(), work, |item| {
        taken += 1;
        if item == 5 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((broke.unwrap(), taken), (Some("enough"), 6));
    assert!(worked.into_inner() <= WINDOW + 6);
}

#[test]
fn a_call_that_is_no_longer_wanted_ends() {
    let context = context();
    let items: Vec<usize> = (0..100 * WINDOW).collect();
    let ended = in_order(
        &items,
        &context,
        |item| *item,
        |item| {
            if item == 3 {
                context.cancel.cancel();
            }
            ControlFlow::<Infallible>::Continue(())
        },
    );
    assert_eq!(ended.unwrap_err(), ToolError::aborted());
}

#[test]
fn a_panic_is_told_and_holds_nobody_up() {
    let items: Vec<usize> = (0..10 * WINDOW).collect();
    let work = |item: &usize| assert_ne!(*item, 7, "no");
    let crashed = in_order(&items, &context(), work, |()| ControlFlow::<Infallible>::Continue(()));
    assert_eq!(crashed.unwrap_err().to_string(), CRASHED);
    let taking = in_order(
        &items,
        &context(),
        |item| *item,
        |item| {
            assert_ne!(item, 7, "no");
            ControlFlow::<Infallible>::Continue(())
        },
    );
    assert_eq!(taking.unwrap_err().to_string(), CRASHED);
}
