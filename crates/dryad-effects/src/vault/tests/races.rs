//! Several at once, on the same content.

use super::*;
use std::sync::Barrier;
use std::thread;

const THREADS: usize = 6;
const ROUNDS: usize = 60;

/// Runs `work` in every thread at once, with the thread's number.
fn at_once(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(thread);
            });
        }
    });
}

#[test]
fn every_absorbed_file_is_counted_and_the_content_is_stored_once() {
    let bench = Bench::new();
    let id = blob_id(b"the same");
    at_once(|thread| {
        for round in 0..ROUNDS {
            let (slot, id) = bench.file(&format!("slot-{thread}-{round}"), "the same");
            if round % 3 == 0 {
                bench.vault.put(b"the same").unwrap();
            }
            bench.vault.absorb(&slot, id).unwrap();
        }
    });
    assert_eq!(bench.vault.references(id).unwrap(), THREADS * (ROUNDS + ROUNDS / 3));
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 8 });
    assert!(bench.vault.verify(&|_, _| ()).is_empty());
    assert!(bench.names().iter().all(|name| !name.contains(".tmp-")));
}

#[test]
fn comings_and_goings_balance_and_no_file_is_shared_with_the_outside() {
    let bench = Bench::new();
    let id = blob_id(b"to and fro");
    at_once(|thread| {
        for round in 0..ROUNDS {
            let (slot, id) = bench.file(&format!("slot-{thread}-{round}"), "to and fro");
            bench.vault.absorb(&slot, id).unwrap();
            let to = bench.path(&format!("to-{thread}-{round}"));
            match round % 4 {
                3 => bench.vault.forget(id).unwrap(),
                // Changed in place at once: had it still a name in the vault, that would be damaged.
                _ => {
                    bench.vault.take(id, &to).unwrap();
                    assert_eq!(fs::read(&to).unwrap(), b"to and fro");
                    fs::write(&to, "changed by the user").unwrap();
                }
            }
        }
    });
    assert_eq!(bench.vault.references(id).unwrap(), 0);
    assert_eq!(bench.names(), [""; 0]);
}
