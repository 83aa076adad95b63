//! Random histories of a workspace, played on a real disk and on a reference file system in memory.
//!
//! Dryad changes files, a person changes them as well, operations are undone and done again, in any order. After
//! every step the disk must be what the reference says, and every verdict of an undo must be justified and kept. What
//! fails shrinks, and is remembered in `model/regressions.txt`, which is tried first ever after.

mod judge;
mod step;
mod text;
mod tree;
mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::process::Command;
use step::{Step, Want};
use tree::Saving;
use world::{Tally, World};

/// How many histories each test plays.
const CASES: u32 = 1300;

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/model/regressions.txt");

/// Plays histories drawn from `strategy`. The same `seed` gives the same histories on every machine.
fn check<S: Strategy>(seed: u8, strategy: S, play: impl Fn(S::Value)) {
    let config = Config {
        cases: CASES,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]));
    let outcome = runner.run(&strategy, |value| {
        play(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn with_a_person(seed: u8) {
    histories(seed, step::with_person());
}

fn without_a_person(seed: u8) {
    histories(seed, step::without_person());
}

/// Plays histories of such steps. All verdicts must come up: what never happens is not tested. That something is the user's
/// since it was taken back in part is rare.
fn histories(seed: u8, step: impl Strategy<Value = Step>) {
    let tally = RefCell::new(Tally::new());
    check(seed, (step::beginning(), vec(step, 3..13)), |(beginning, steps)| {
        let mut world = World::new(&beginning);
        steps.iter().for_each(|step| world.run(step));
        world.finish();
        world.verdicts.iter().for_each(|(verdict, count)| *tally.borrow_mut().entry(verdict).or_default() += count);
    });
    let mut tally = tally.into_inner();
    tally.remove("kept yours");
    assert!(tally.len() == 6 && tally.values().all(|count| *count > 20), "{tally:?}");
}

/// All operations undone bring back the beginning, all undone again the end, times included, for ever.
fn there_and_back(seed: u8) {
    check(seed, (step::beginning(), vec(step::by_dryad(), 1..6)), |(beginning, operations)| {
        let mut world = World::new(&beginning);
        let first = world.tree.clone();
        operations.iter().for_each(|wants| world.dryad(wants));
        let last = world.tree.clone();
        assert!(world.undo_last(usize::MAX), "not everything was undone");
        tree::assert_like(&first, &world.tree, "after everything was undone");
        assert!(world.redo(usize::MAX), "not everything was done again");
        tree::assert_like(&last, &world.tree, "after everything was done again");
        assert!(world.undo_last(usize::MAX), "not everything was undone again");
        tree::assert_like(&first, &world.tree, "after everything was undone again");
        world.finish();
    });
}

/// What the first redo merges is what the second one finds.
#[test]
fn a_dry_run_of_two_redos_foretells_the_merge() {
    let text = || Want::Text([1; text::LINES], 0o644);
    let mut world = World::new(&[(0, text())]);
    let steps = [
        Step::Dryad(vec![(0, text())]),
        Step::Dryad(vec![(0, Want::Edit(0, 2))]),
        Step::Undo(0),
        Step::UndoLast(1),
        Step::Person(0, Want::Edit(2, 0), Saving::InPlace),
        Step::Redo(2),
    ];
    steps.iter().for_each(|step| world.run(step));
    world.finish();
}

/// Plays a test in a process where every file that is replaced has its slot in the vault, as in a large change.
fn with_slots_in_the_vault(test: &str, play: impl Fn()) {
    const FROM: &str = "DRYAD_BATCH_FROM";
    if std::env::var_os(FROM).is_some() {
        return play();
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    assert!(again.args(["--exact", test, "--nocapture"]).env(FROM, "1").status().unwrap().success());
}

#[test]
fn with_a_person_1() {
    with_a_person(1);
}

#[test]
fn with_a_person_2() {
    with_a_person(2);
}

#[test]
fn with_a_person_3() {
    with_a_person(3);
}

#[test]
fn with_a_person_4() {
    with_slots_in_the_vault("model::with_a_person_4", || with_a_person(4));
}

#[test]
fn without_a_person_1() {
    without_a_person(5);
}

#[test]
fn without_a_person_2() {
    with_slots_in_the_vault("model::without_a_person_2", || without_a_person(6));
}

#[test]
fn there_and_back_1() {
    there_and_back(7);
}

#[test]
fn there_and_back_2() {
    with_slots_in_the_vault("model::there_and_back_2", || there_and_back(8));
}
