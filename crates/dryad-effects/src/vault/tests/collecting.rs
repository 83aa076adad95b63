//! Quota and collection.

use super::*;
use std::time::{Duration, SystemTime};

/// Contents of `sizes`, in the order of their arrival.
fn arrived(bench: &Bench, sizes: &[usize]) -> Vec<BlobId> {
    let mut ids = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        ids.push(bench.vault.put(&vec![number as u8; *size]).unwrap());
        wait_for_the_clock(bench);
    }
    ids
}

/// Waits until the file system's clock has moved on.
fn wait_for_the_clock(bench: &Bench) {
    let time = || {
        let (path, _) = bench.file("clock", "");
        let metadata = fs::metadata(path).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let first = time();
    while time() == first {
        std::thread::yield_now();
    }
}

#[test]
fn the_oldest_go_first_and_only_until_the_rest_fits() {
    let bench = Bench::new();
    let ids = arrived(&bench, &[10, 20, 30, 40]);
    let planned = bench.vault.collect(&|_| false, 75, true).unwrap();
    assert_eq!(bench.vault.usage().unwrap().blobs, 4, "a dry run removes nothing");
    let done = bench.vault.collect(&|_| false, 75, false).unwrap();
    assert_eq!(planned, done);
    let removed = vec![(ids[0], 10), (ids[1], 20)];
    assert_eq!(done, Collection { removed, kept_bytes: 70, over_quota: false, swept: 0 });
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 2, bytes: 70 });
    assert!(!bench.vault.contains(ids[0]).unwrap() && bench.vault.contains(ids[2]).unwrap());
}

#[test]
fn what_is_wanted_stays_even_over_the_quota() {
    let bench = Bench::new();
    let ids = arrived(&bench, &[10, 20, 30]);
    let done = bench.vault.collect(&|id| *id != ids[1], 35, false).unwrap();
    assert_eq!(done, Collection { removed: vec![(ids[1], 20)], kept_bytes: 40, over_quota: true, swept: 0 });
    assert_eq!(bench.vault.read(ids[0]).unwrap(), vec![0; 10]);
}

#[test]
fn all_references_go_and_a_new_one_makes_a_content_young() {
    let bench = Bench::new();
    let ids = arrived(&bench, &[10, 20]);
    bench.vault.put(&[0; 10]).unwrap();
    let done = bench.vault.collect(&|_| false, 10, false).unwrap();
    assert_eq!(done.removed, [(ids[1], 20)], "the first got its second reference last");
    bench.vault.collect(&|_| false, 0, false).unwrap();
    assert_eq!(bench.names(), [""; 0]);
}

#[test]
fn what_arrives_after_the_moment_is_not_touched() {
    let bench = Bench::new();
    let ids = arrived(&bench, &[10]);
    let an_hour = Duration::from_secs(3600);
    let keep = |_: &BlobId| false;
    let earlier = SystemTime::now() - an_hour;
    let kept = bench.vault.collect_arrived_before(earlier, &keep, 0, false).unwrap();
    assert_eq!(kept, Collection { removed: Vec::new(), kept_bytes: 10, over_quota: true, swept: 0 });
    let later = SystemTime::now() + an_hour;
    assert_eq!(bench.vault.collect_arrived_before(later, &keep, 0, false).unwrap().removed, [(ids[0], 10)]);
}

#[test]
fn an_interrupted_collection_leaves_a_vault_that_works() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 3);
    // As if it had been killed after the first name.
    fs::remove_file(bench.plain_name(id)).unwrap();
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
    assert_eq!(bench.vault.put(b"text").unwrap(), id);
    assert!(bench.vault.verify(&|_, _| ()).is_empty());
    bench.vault.collect(&|_| false, 0, false).unwrap();
    assert_eq!(bench.names(), [""; 0]);
}

#[test]
fn unfinished_files_go_when_their_writer_is_dead_and_an_hour_has_passed() {
    let bench = Bench::new();
    bench.vault.put(b"text").unwrap();
    let unfinished = |writer: u32, number: u32, age: u64| {
        let path = bench.vault.layout.blobs().join(format!(".tmp-{writer}-{number}"));
        let modified = SystemTime::now() - Duration::from_secs(age);
        File::create(&path).unwrap().set_modified(modified).unwrap();
        path
    };
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let old = unfinished(dead, 900_000, 3700);
    let young = unfinished(dead, 900_001, 3500);
    let living = unfinished(std::process::id(), 900_002, 3700);
    assert_eq!(bench.vault.collect(&|_| true, 100, true).unwrap().swept, 1);
    assert!(old.exists());
    assert_eq!(bench.vault.collect(&|_| true, 100, false).unwrap().swept, 1);
    assert!(!old.exists() && young.exists() && living.exists());
}
