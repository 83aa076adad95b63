//! Work on many files by several threads: most of it is waiting for the kernel.
//!
//! Apply and undo look at, make and move thousands of files, one like the other and none depending on another.
//! Parts are handed out in order and are small, so that a slow one does not hold up the rest; what comes back is
//! in the order of the items, whoever worked on them.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// So many items are worked on one after the other: threads would cost more.
const FEW: usize = 128;

/// Neighbours often lie in one directory, which only one thread can change at a time.
const PART: usize = 64;

/// More threads would wait for the same disk.
const MOST_THREADS: usize = 8;

/// Does `work` on all of `items`, part by part; the results of the parts in their order, or the error of the
/// first part that failed. After an error no further part is begun.
pub fn in_parts<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&[T]) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    // How many threads there are takes longer to find out than a few items take.
    if items.len() <= FEW { Ok(vec![work(items)?]) } else { shared_out(items, PART, work) }
}

/// Does `work` on each of `items`, of which one takes long; the results in their order.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    let work = |part: &[T]| Ok::<_, Infallible>(part.iter().map(&work).collect::<Vec<R>>());
    let Ok(done) = shared_out(items, 1, work);
    done.into_iter().flatten().collect()
}

/// Does two things at the same time.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| resume_unwind(panic)), other)
    })
}

/// Hands out parts of this size to all threads.
fn shared_out<T: Sync, R: Send, E: Send>(
    items: &[T],
    size: usize,
    work: impl Fn(&[T]) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads();
    if threads == 1 {
        return Ok(vec![work(items)?]);
    }
    let next = AtomicUsize::new(0);
    let take_part = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = items.chunks(size).nth(index) else { return done };
            let result = work(part);
            if result.is_err() {
                next.fetch_add(items.len(), Ordering::Relaxed);
            }
            done.push((index, result));
        }
    };
    let mut done: Vec<(usize, Result<R, E>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take_part)).collect();
        let mut done = take_part();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Does `first` on all of `items`, part by part in one thread, and `then` on every part that it is done with, in the
/// others. For work that the kernel does one after the other, whoever asks: threads would only wait for each other.
/// What comes back is in no order.
pub fn one_then_others<T: Sync, R: Send, E: Send>(
    items: &[T],
    first: impl Fn(&[T]) -> Result<(), E>,
    then: impl Fn(&[T]) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (done, parts) = channel();
    let (parts, then) = (Mutex::new(parts), &then);
    let follow = || std::iter::from_fn(|| next(&parts)).map(then).collect::<Result<Vec<R>, E>>();
    let others = if items.len() <= FEW { 0 } else { threads() - 1 };
    thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(follow)).collect();
        let firsts = items.chunks(PART).try_for_each(|part| {
            first(part)?;
            // Nobody is there any more after an error, which is told below.
            done.send(part).ok();
            Ok(())
        });
        drop(done);
        let own = firsts.and_then(|()| follow());
        let all = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        all.fold(own, |all, more| Ok([all?, more?].into_iter().flatten().collect()))
    })
}

/// The next part that is done.
fn next<'i, T>(parts: &Mutex<Receiver<&'i [T]>>) -> Option<&'i [T]> {
    parts.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..10_000).collect();
        let parts = in_parts(&items, |part| Ok::<_, ()>(part.to_vec())).unwrap();
        assert!(parts.len() > 1 || thread::available_parallelism().map_or(1, usize::from) == 1);
        assert_eq!(parts.concat(), items);
    }

    #[test]
    fn the_first_error_is_the_one_that_counts() {
        let items: Vec<usize> = (0..10_000).collect();
        let begun = AtomicUsize::new(0);
        let result = in_parts(&items, |part| {
            begun.fetch_add(1, Ordering::Relaxed);
            if part.contains(&0) { Err("first") } else { Ok(()) }
        });
        assert_eq!(result, Err("first"));
        assert!(begun.into_inner() <= items.len().div_ceil(PART));
    }

    #[test]
    fn what_follows_sees_every_part_that_is_done() {
        for count in [0, 3, 10_000] {
            let items: Vec<usize> = (0..count).collect();
            let done = AtomicUsize::new(0);
            let first = |part: &[usize]| {
                done.fetch_add(part.len(), Ordering::SeqCst);
                Ok::<_, ()>(())
            };
            let then = |part: &[usize]| {
                assert!(part.iter().all(|item| *item < done.load(Ordering::SeqCst)));
                Ok(part.to_vec())
            };
            let mut followed = one_then_others(&items, first, then).unwrap().concat();
            followed.sort_unstable();
            assert_eq!(followed, items);
        }
    }

    #[test]
    fn an_error_ends_what_comes_first_and_what_follows() {
        let items: Vec<usize> = (0..10_000).collect();
        let fails = |part: &[usize]| if part.contains(&5000) { Err("it") } else { Ok(()) };
        assert_eq!(one_then_others(&items, fails, |_| Ok(())).unwrap_err(), "it");
        assert_eq!(one_then_others(&items, |_| Ok(()), fails).unwrap_err(), "it");
    }

    #[test]
    fn each_has_its_result() {
        for count in [0, 1, 2, 100] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(each(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn two_things_are_done_at_the_same_time() {
        let (sender, receiver) = channel();
        let answered = both(move || receiver.recv().unwrap() + 1, move || sender.send(1).unwrap());
        assert_eq!(answered, (2, ()));
    }

    #[test]
    fn few_are_one_part() {
        assert_eq!(in_parts(&[1, 2, 3], |part| Ok::<_, ()>(part.len())), Ok(vec![3]));
        assert_eq!(in_parts(&[], |part: &[u8]| Ok::<_, ()>(part.len())), Ok(vec![0]));
    }
}
