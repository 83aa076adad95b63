//! Merges to read, then laws over texts small enough that lines collide.

use super::*;
use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;

/// Long enough for any text of these tests on any machine.
const AMPLE: Duration = Duration::from_secs(600);

fn check(cases: &[[&str; 3]], expected: Expect) {
    let lines = cases.iter().map(|[base, ours, theirs]| {
        let result = match merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()) {
            Merge::Clean(bytes) => format!("{:?}", String::from_utf8(bytes).unwrap()),
            Merge::Conflict { regions } => format!("conflict in {regions}"),
            Merge::NotText => "not text".to_owned(),
        };
        format!("{base:?}: {ours:?} + {theirs:?} = {result}\n")
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn differences_with_an_unchanged_line_between_them_both_go_in() {
    check(
        &[
            ["a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"],
            ["a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n"],
            ["a\nb\nc\n", "0\na\nb\nc\n", "a\nb\n"],
            ["a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "a\nb\nC\nd\ne\n"],
        ],
        expect![[r#"
            "a\nb\nc\n": "A\nb\nc\n" + "a\nb\nC\n" = "A\nb\nC\n"
            "a\nb\nc\n": "b\nc\n" + "a\nb\nc\nd\n" = "b\nc\nd\n"
            "a\nb\nc\n": "0\na\nb\nc\n" + "a\nb\n" = "0\na\nb\n"
            "a\nb\nc\nd\ne\n": "A\nb\nc\nd\nE\n" + "a\nb\nC\nd\ne\n" = "A\nb\nC\nd\nE\n"
        "#]],
    );
}

#[test]
fn differences_that_touch_conflict_unless_they_are_the_same() {
    check(
        &[
            ["a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"],
            ["a\nb\n", "a\nx\nb\n", "a\ny\nb\n"],
            ["a\nb\n", "a\nx\nb\n", "b\n"],
            ["a\nb\nc\n", "a\nx\nc\n", "a\nc\n"],
            ["a\nb\nc\nd\ne\n", "1\nb\nc\nd\n2\n", "3\nb\nc\nd\n4\n"],
            ["a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\nX\nc\nD\n"],
            ["a\nb\n", "a\nx\nb\n", "a\nx\nb\nc\n"],
            ["", "a\n", "b\n"],
        ],
        expect![[r#"
            "a\nb\nc\n": "A\nb\nc\n" + "a\nB\nc\n" = conflict in 1
            "a\nb\n": "a\nx\nb\n" + "a\ny\nb\n" = conflict in 1
            "a\nb\n": "a\nx\nb\n" + "b\n" = conflict in 1
            "a\nb\nc\n": "a\nx\nc\n" + "a\nc\n" = conflict in 1
            "a\nb\nc\nd\ne\n": "1\nb\nc\nd\n2\n" + "3\nb\nc\nd\n4\n" = conflict in 2
            "a\nb\nc\nd\n": "a\nX\nc\nd\n" + "a\nX\nc\nD\n" = "a\nX\nc\nD\n"
            "a\nb\n": "a\nx\nb\n" + "a\nx\nb\nc\n" = "a\nx\nb\nc\n"
            "": "a\n" + "b\n" = conflict in 1
        "#]],
    );
}

#[test]
fn the_end_of_the_last_line_is_a_change_of_its_own() {
    check(
        &[
            ["a\nb", "A\nb", "a\nb\nc"],
            ["a\nb\nc", "a\nb\nc\n", "a\nb\nC"],
            ["a\nb\n", "a\nb\nc\n", "a\nb"],
            ["a\nb\nc", "a\nb\n", "A\nb\nc"],
            ["a\nb\n", "", "a\nb"],
            ["", "a", "a\n"],
            ["a", "a\r\nb\r\n", "a\r\nb"],
            ["a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nc\r\nd"],
        ],
        expect![[r#"
            "a\nb": "A\nb" + "a\nb\nc" = "A\nb\nc"
            "a\nb\nc": "a\nb\nc\n" + "a\nb\nC" = "a\nb\nC\n"
            "a\nb\n": "a\nb\nc\n" + "a\nb" = "a\nb\nc"
            "a\nb\nc": "a\nb\n" + "A\nb\nc" = "A\nb\n"
            "a\nb\n": "" + "a\nb" = ""
            "": "a" + "a\n" = conflict in 1
            "a": "a\r\nb\r\n" + "a\r\nb" = "a\r\nb\r\n"
            "a\r\nb\r\nc": "A\r\nb\r\nc" + "a\r\nb\r\nc\r\nd" = "A\r\nb\r\nc\r\nd"
        "#]],
    );
}

#[test]
fn endings_and_the_byte_order_mark_are_kept() {
    check(
        &[
            ["a\r\nb\nc\r\n", "A\r\nb\nc\r\n", "a\r\nb\nc\r\nd\n"],
            ["a\nb\nc\n", "a\r\nb\nc\n", "a\nb\nC\n"],
            ["a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb\nC\n"],
            ["\u{feff}a\nb\nc\n", "\u{feff}A\nb\nc\n", "\u{feff}a\nb\nC\n"],
            ["\u{feff}a\nb\nc\n", "a\nb\nc\n", "\u{feff}A\nb\nc\n"],
            ["a\n", "\u{feff}\u{feff}a\n", "\u{feff}a\nb\n"],
            ["a\rb\nc\nd\r", "a\rB\nc\nd\r", "a\rb\nc\nd\r\ne"],
        ],
        expect![[r#"
            "a\r\nb\nc\r\n": "A\r\nb\nc\r\n" + "a\r\nb\nc\r\nd\n" = "A\r\nb\nc\r\nd\n"
            "a\nb\nc\n": "a\r\nb\nc\n" + "a\nb\nC\n" = "a\r\nb\nC\n"
            "a\nb\nc\n": "a\r\nb\r\nc\r\n" + "a\nb\nC\n" = conflict in 1
            "\u{feff}a\nb\nc\n": "\u{feff}A\nb\nc\n" + "\u{feff}a\nb\nC\n" = "\u{feff}A\nb\nC\n"
            "\u{feff}a\nb\nc\n": "a\nb\nc\n" + "\u{feff}A\nb\nc\n" = "A\nb\nc\n"
            "a\n": "\u{feff}\u{feff}a\n" + "\u{feff}a\nb\n" = conflict in 1
            "a\rb\nc\nd\r": "a\rB\nc\nd\r" + "a\rb\nc\nd\r\ne" = "a\rB\nc\nd\r\ne"
        "#]],
    );
}

#[test]
fn bytes_that_are_not_text_merge_only_when_two_are_equal() {
    let (text, zero, broken) = (b"a\n".as_slice(), b"a\0".as_slice(), b"\xff\xfea".as_slice());
    assert_eq!(merge(text, zero, broken), Merge::NotText);
    assert_eq!(merge(text, b"b\n", zero), Merge::NotText);
    assert_eq!(merge(broken, text, b"b\n"), Merge::NotText);
    assert_eq!(merge(text, broken, text), Merge::Clean(broken.to_vec()));
    assert_eq!(merge(zero, zero, broken), Merge::Clean(broken.to_vec()));
    assert_eq!(merge(zero, broken, broken), Merge::Clean(broken.to_vec()));
}

#[test]
fn what_takes_too_long_to_compare_is_a_conflict() {
    let texts: [&[u8]; 3] = [b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n"];
    assert_eq!(merge_texts(texts[0], texts[1], texts[2], Duration::ZERO), Merge::Conflict { regions: 1 });
    assert_eq!(merge_texts(texts[0], texts[1], texts[2], AMPLE), Merge::Clean(b"A\nb\nC\n".to_vec()));
}

#[test]
fn texts_with_nothing_in_common_are_given_up_in_time() {
    let text = |seed: u64| -> Vec<u8> {
        let number = |n: u64| n.wrapping_mul(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        (0..60_000).flat_map(|n| format!("{}\n", number(n)).into_bytes()).collect()
    };
    let started = Instant::now();
    assert!(matches!(merge(&text(3), &text(5), &text(7)), Merge::Conflict { .. }));
    assert!(started.elapsed() < 10 * TIME_LIMIT, "took {:?}", started.elapsed());
}

/// A text of few different lines with all that can go wrong at its ends.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = (prop_oneof!["a", "b", "c", ""], prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")]);
    let end = prop_oneof![Just(""), Just("b"), Just("a\r")];
    let mark = prop_oneof![4 => Just(""), 1 => Just("\u{feff}")];
    (mark, vec(line, 0..10), end).prop_map(|(mark, lines, end)| {
        let lines = lines.into_iter().map(|(content, ending)| content + ending).collect::<String>();
        format!("{mark}{lines}{end}").into_bytes()
    })
}

/// A base of few different lines, and two edits of it that may touch.
fn edited() -> impl Strategy<Value = [Vec<u8>; 3]> {
    let line = || prop_oneof!["a\n", "b\n", "c\r\n", "d"];
    let side = || vec(prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2), 1 => Just(3)], 12);
    let new = || vec(prop_oneof!["a\n", "p\n", "q\n"], 12);
    (vec(line(), 1..12), (side(), new()), (side(), new()))
        .prop_map(|(base, ours, theirs)| [base.concat().into_bytes(), edit(&base, &ours), edit(&base, &theirs)])
}

fn edit(base: &[String], (steps, new): &(Vec<u8>, Vec<String>)) -> Vec<u8> {
    let lines = base.iter().zip(steps).zip(new).map(|((line, step), new)| match step {
        0 => line.clone(),
        1 => String::new(),
        2 => new.clone(),
        _ => format!("{new}{line}"),
    });
    lines.collect::<String>().into_bytes()
}

/// One stretch of a text that one side edits, and the unchanged lines after it.
#[derive(Clone, Debug)]
struct Stretch {
    ours: bool,
    old: usize,
    new: Vec<String>,
    unchanged: usize,
}

fn stretch() -> impl Strategy<Value = Stretch> {
    (any::<bool>(), 0..3_usize, vec(prop_oneof!["x\n", "y\n", "x\r\n"], 0..3), 1..3_usize)
        .prop_map(|(ours, old, new, unchanged)| Stretch { ours, old, new, unchanged })
}

/// The text with those stretches edited that `edited` picks; lines of the base are all different.
fn written(stretches: &[Stretch], edited: impl Fn(&Stretch) -> bool) -> Vec<u8> {
    let mut number = 0;
    let mut text = String::new();
    let mut keep = |count: usize| {
        (0..count)
            .map(|_| {
                number += 1;
                format!("line {number}\n")
            })
            .collect::<String>()
    };
    for stretch in stretches {
        let old = keep(stretch.old);
        text += &if edited(stretch) { stretch.new.concat() } else { old };
        text += &keep(stretch.unchanged);
    }
    text.into_bytes()
}

fn counted(text: &[u8]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let text = String::from_utf8(text.to_vec()).unwrap();
    for line in text.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_side_without_a_difference_yields_to_the_other(base in text(), side in text()) {
        let clean = Merge::Clean(side.clone());
        prop_assert_eq!(&merge(&base, &side, &base), &clean);
        prop_assert_eq!(&merge(&base, &base, &side), &clean);
        prop_assert_eq!(&merge(&base, &side, &side), &clean);
        prop_assert_eq!(&merge_texts(&base, &side, &base, AMPLE), &clean);
        prop_assert_eq!(&merge_texts(&base, &base, &side, AMPLE), &clean);
        prop_assert_eq!(&merge_texts(&base, &side, &side, AMPLE), &clean);
    }

    #[test]
    fn the_sides_are_equal_before_the_merge(base in text(), ours in text(), theirs in text()) {
        prop_assert_eq!(merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
    }

    #[test]
    fn edits_of_one_text_merge_the_same_either_way([base, ours, theirs] in edited()) {
        prop_assert_eq!(merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
    }

    #[test]
    fn edits_with_an_unchanged_line_between_them_are_both_carried_out(stretches in vec(stretch(), 0..6)) {
        let base = written(&stretches, |_| false);
        let ours = written(&stretches, |stretch| stretch.ours);
        let theirs = written(&stretches, |stretch| !stretch.ours);
        prop_assert_eq!(merge(&base, &ours, &theirs), Merge::Clean(written(&stretches, |_| true)));
    }

    #[test]
    fn a_clean_result_holds_every_line_that_was_put_in([base, ours, theirs] in edited()) {
        if let Merge::Clean(result) = merge(&base, &ours, &theirs) {
            let (base, result) = (counted(&base), counted(&result));
            for (line, count) in counted(&ours).into_iter().chain(counted(&theirs)) {
                let kept = result.get(&line).copied().unwrap_or_default();
                prop_assert!(base.contains_key(&line) || kept >= count, "{line:?} occurs {kept} times, not {count}");
            }
        }
    }

    #[test]
    fn any_bytes_have_an_answer(texts in [vec(any::<u8>(), 0..12), vec(any::<u8>(), 0..12), vec(any::<u8>(), 0..12)]) {
        let [base, ours, theirs] = texts;
        let text = [&base, &ours, &theirs].iter().all(|text| !text.contains(&0) && std::str::from_utf8(text).is_ok());
        prop_assert_eq!(merge_texts(&base, &ours, &theirs, AMPLE) == Merge::NotText, !text);
    }
}
