//! Any sequence of operations against a map of counts.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(usize),
    PutFile(usize),
    Absorb(usize),
    AbsorbShared(usize),
    Take(usize),
    CopyOut(usize),
    Forget(usize),
    Collect(usize),
}

const CONTENTS: [&str; 4] = ["a", "be", "some text", "a longer text than that"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = 0..CONTENTS.len();
    let step = prop_oneof![
        1 => which.clone().prop_map(Step::Put),
        1 => which.clone().prop_map(Step::PutFile),
        3 => which.clone().prop_map(Step::Absorb),
        1 => which.clone().prop_map(Step::AbsorbShared),
        3 => which.clone().prop_map(Step::Take),
        1 => which.clone().prop_map(Step::CopyOut),
        2 => which.clone().prop_map(Step::Forget),
        1 => which.prop_map(Step::Collect),
    ];
    prop::collection::vec(step, 1..40)
}

/// The vault, and how many references the model says each content has.
struct Both {
    bench: Bench,
    counts: HashMap<usize, usize>,
}

impl Both {
    fn run(&mut self, step: Step) {
        let (bench, vault) = (&self.bench, &self.bench.vault);
        let to = bench.path("to");
        match step {
            Step::Put(which) => {
                vault.put(CONTENTS[which].as_bytes()).unwrap();
                *self.counts.entry(which).or_default() += 1;
            }
            Step::PutFile(which) => {
                let (path, id) = bench.file("file", CONTENTS[which]);
                vault.put_file(&path, id).unwrap();
                assert_eq!(fs::read(&path).unwrap(), CONTENTS[which].as_bytes());
                *self.counts.entry(which).or_default() += 1;
            }
            Step::Absorb(which) => {
                bench.absorbed(CONTENTS[which], 1);
                *self.counts.entry(which).or_default() += 1;
            }
            Step::AbsorbShared(which) => {
                let (path, id) = bench.file("file", CONTENTS[which]);
                let slot = bench.path("slot");
                fs::hard_link(&path, &slot).unwrap();
                vault.absorb(&slot, id).unwrap();
                *self.counts.entry(which).or_default() += 1;
            }
            Step::Take(which) => {
                let last = self.count(which) == 1;
                let taken = vault.take(id_of(which), &to);
                self.went_out(which, taken.as_ref().map(|_| ()));
                assert!(taken.is_err() || (taken.unwrap() == Taken::Moved) == last);
                self.dropped(which);
            }
            Step::CopyOut(which) => self.went_out(which, vault.copy_out(id_of(which), &to).as_ref().map(|_| ())),
            Step::Forget(which) => {
                assert_eq!(vault.forget(id_of(which)).is_ok(), self.count(which) > 0);
                self.dropped(which);
            }
            Step::Collect(which) => {
                vault.collect(&|id| *id == id_of(which), 0, false).unwrap();
                self.counts.retain(|kept, _| *kept == which);
            }
        }
    }

    fn count(&self, which: usize) -> usize {
        self.counts.get(&which).copied().unwrap_or(0)
    }

    fn dropped(&mut self, which: usize) {
        if let Some(count) = self.counts.get_mut(&which) {
            *count = count.saturating_sub(1);
        }
    }

    /// Checks what stands at `to`, and clears it away.
    fn went_out(&self, which: usize, result: Result<(), &VaultError>) {
        let to = self.bench.path("to");
        if self.count(which) == 0 {
            assert!(matches!(result, Err(VaultError::Missing { .. })));
            assert!(!to.exists());
        } else {
            result.unwrap();
            assert_eq!(fs::read(&to).unwrap(), CONTENTS[which].as_bytes());
            assert_eq!(fs::metadata(&to).unwrap().nlink(), 1);
            fs::remove_file(&to).unwrap();
        }
    }

    fn agree(&self) {
        let vault = &self.bench.vault;
        for (which, content) in CONTENTS.iter().enumerate() {
            let count = self.count(which);
            assert_eq!(vault.references(id_of(which)).unwrap(), count, "of {content:?}");
            assert_eq!(vault.contains(id_of(which)).unwrap(), count > 0);
            assert_eq!(vault.read(id_of(which)).ok(), (count > 0).then(|| content.as_bytes().to_vec()));
        }
        let kept = CONTENTS.iter().enumerate().filter(|(which, _)| self.count(*which) > 0);
        let usage = Usage { blobs: kept.clone().count(), bytes: kept.map(|(_, content)| content.len() as u64).sum() };
        assert_eq!(vault.usage().unwrap(), usage);
    }
}

fn id_of(which: usize) -> BlobId {
    blob_id(CONTENTS[which].as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_vault_counts_like_a_map(steps in steps()) {
        let mut both = Both { bench: Bench::new(), counts: HashMap::new() };
        for step in steps {
            both.run(step);
            both.agree();
        }
        prop_assert!(both.bench.vault.verify(&|_, _| ()).is_empty());
    }
}
