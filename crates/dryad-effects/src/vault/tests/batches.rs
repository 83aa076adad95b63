//! Contents that lie in slots: found, read, counted and collected like any other.

use super::*;

const OWNER: &str = "owner";

impl Bench {
    /// A batch of this owner: each slot holds the first of two contents.
    fn batch(&self, owner: &str, pairs: &[(&str, &str)]) -> Vec<PathBuf> {
        let mut batch = self.vault.new_batch(owner);
        let add = |(before, after): &(&str, &str)| batch.add(pair(before, after)).unwrap();
        let slots: Vec<PathBuf> = pairs.iter().map(add).collect();
        batch.make().unwrap();
        for (slot, (before, _)) in slots.iter().zip(pairs) {
            fs::write(slot, before).unwrap();
        }
        slots
    }
}

fn pair(before: &str, after: &str) -> Pair {
    Pair { before: blob_id(before.as_bytes()), after: blob_id(after.as_bytes()) }
}

#[test]
fn a_slot_is_found_by_whichever_of_its_contents_it_holds() {
    let bench = Bench::new();
    let slots = bench.batch(OWNER, &[("one", "1"), ("two", "2")]);
    let Pair { before, after } = pair("two", "2");
    assert_eq!(bench.vault.read(before).unwrap(), b"two");
    assert!(bench.vault.has_whole(before) && !bench.vault.has_whole(after));
    fs::write(&slots[1], "2").unwrap();
    assert_eq!(bench.vault.read(after).unwrap(), b"2");
    assert!(matches!(bench.vault.read(before), Err(VaultError::Missing { .. })));
    assert_eq!(bench.vault.slots_for(OWNER, after, before), [slots[1].clone()]);
    assert!(bench.vault.slots_for(OWNER, before, after).is_empty(), "it is not there");
}

#[test]
fn another_process_sees_a_batch_that_came_later() {
    let bench = Bench::new();
    let other = Vault::open(bench.path("state/vault")).unwrap();
    bench.batch(OWNER, &[("one", "1")]);
    assert!(other.has_whole(blob_id(b"one")));
    bench.batch(OWNER, &[("two", "2")]);
    assert!(other.has_whole(blob_id(b"two")));
}

#[test]
fn only_the_owner_may_exchange_a_slot() {
    let bench = Bench::new();
    bench.batch("somebody", &[("one", "1")]);
    let Pair { before, after } = pair("one", "1");
    assert!(bench.vault.slots_for(OWNER, before, after).is_empty());
    assert_eq!(bench.vault.slots_for("somebody", before, after).len(), 1);
    assert!(bench.vault.slots_for("somebody", before, blob_id(b"other")).is_empty(), "that would not fit back");
}

#[test]
fn what_is_taken_from_a_batch_is_copied_and_stays() {
    let bench = Bench::new();
    let slots = bench.batch(OWNER, &[("one", "1")]);
    let (id, to) = (blob_id(b"one"), bench.path("to"));
    assert_eq!(bench.vault.take(id, &to).unwrap(), Taken::Copied);
    assert_eq!((fs::read(&to).unwrap(), fs::read(&slots[0]).unwrap()), (b"one".to_vec(), b"one".to_vec()));
    assert_eq!(bench.vault.references(id).unwrap(), 1);
}

#[test]
fn what_was_never_put_into_a_slot_is_damage() {
    let bench = Bench::new();
    let slots = bench.batch(OWNER, &[("one", "1"), ("two", "2")]);
    assert!(bench.vault.verify(&|_, _| {}).is_empty());
    fs::write(&slots[0], "onE").unwrap();
    let id = blob_id(b"one");
    assert!(matches!(bench.vault.read(id), Err(VaultError::Damaged { .. })));
    assert!(bench.vault.contains(id).unwrap() && !bench.vault.has_whole(id));
    match bench.vault.verify(&|_, _| {}).as_slice() {
        [Problem::Strange { path, found }] => {
            assert_eq!((path.as_path(), *found), (slots[0].as_path(), blob_id(b"onE")))
        }
        problems => panic!("{problems:?}"),
    }
    // The same content under its name is as good.
    bench.absorbed("one", 1);
    assert_eq!(bench.vault.read(id).unwrap(), b"one");
}

#[test]
fn slots_count_and_go_when_nothing_keeps_them() {
    let bench = Bench::new();
    let slots = bench.batch(OWNER, &[("first", "1"), ("second", "2")]);
    let index = 8 + 2 * 32;
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 2, bytes: 11 + index });
    let wanted = blob_id(b"second");
    let told = bench.vault.collect(&|id| *id == wanted, 0, true).unwrap();
    assert_eq!((told.removed.as_slice(), slots[0].exists()), ([(blob_id(b"first"), 5)].as_slice(), true));
    assert_eq!(bench.vault.collect(&|id| *id == wanted, 0, false).unwrap(), told);
    assert_eq!((slots[0].exists(), slots[1].exists(), told.over_quota), (false, true, true));
    bench.vault.collect(&|_| false, 0, false).unwrap();
    assert_eq!(fs::read_dir(bench.vault.batches.directory()).unwrap().count(), 0, "nothing is left of the batch");
}

#[test]
fn a_content_that_many_share_gets_few_slots() {
    let bench = Bench::new();
    let mut batch = bench.vault.new_batch(OWNER);
    let given = (0..100).filter(|number| batch.add(pair("", &number.to_string())).is_some()).count();
    assert!((1..100).contains(&given), "{given}");
    assert!(batch.add(pair("other", "else")).is_some());
}

#[test]
fn batches_have_names_of_their_own_and_come_whole() {
    let bench = Bench::new();
    let first = bench.batch(OWNER, &[("one", "1")]);
    let unfinished = bench.vault.batches.directory().join(".new-owner-00000002/0");
    fs::create_dir_all(&unfinished).unwrap();
    assert!(bench.vault.verify(&|_, _| {}).is_empty());
    let second = bench.batch(OWNER, &[("one", "1")]);
    assert_ne!(first, second);
    assert!(!unfinished.exists(), "what a dead process left is in nobody's way");
}

#[test]
fn a_slot_that_was_found_is_the_same_when_other_batches_come_meanwhile() {
    let bench = Bench::new();
    let slots = bench.batch(OWNER, &[("one", "1")]);
    assert!(bench.vault.has_whole(blob_id(b"one")), "it is known");
    let found = bench.vault.batches.find(blob_id(b"one"), |spots| {
        bench.batch("somebody", &[("other", "else")]);
        bench.batch(OWNER, &[("two", "2")]);
        assert!(bench.vault.batches.refresh().unwrap());
        Some(spots.first()?.path.clone())
    });
    assert_eq!(found.as_ref(), slots.first());
}
