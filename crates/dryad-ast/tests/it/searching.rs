//! What a search promises whatever the tree: the same answer every time, pages without gaps, bounds.

use crate::support::Directory;
use dryad_ast::ast_grep::{AstGrepArguments, AstGrepQuery, Found, search, search_each};
use dryad_ast::{AstSettings, Details};
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::json;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn places(found: &Found) -> Vec<String> {
    let file = |file: &dryad_ast::ast_grep::FileMatches| {
        let place = |line: usize| format!("{}:{line}", file.shown);
        file.matches.iter().map(|it| place(it.start.0)).collect::<Vec<_>>()
    };
    found.files.iter().flat_map(file).collect()
}

/// Forty files with up to four matches each.
fn forest() -> Directory {
    let directory = Directory::new();
    for number in 0..40 {
        directory.put(&format!("d{}/f{number}.js", number % 7), "f(1);\n".repeat(number % 5));
    }
    directory
}

#[test]
fn pages_neither_overlap_nor_leave_gaps() {
    let forest = forest();
    let all = places(&forest.search(json!({"pat": ["f($A)"], "limit": 1000})).unwrap());
    assert_eq!(all.len(), 80);
    let mut paged = Vec::new();
    for offset in (0..90).step_by(9) {
        let found = forest.search(json!({"pat": ["f($A)"], "limit": 9, "offset": offset})).unwrap();
        assert_eq!(found.totals.count, 80);
        assert_eq!(found.totals.limit_reached.is_some(), offset + 9 < 80, "{offset}");
        paged.extend(places(&found));
    }
    assert_eq!(paged, all);
}

/// A search of `forest` for all matches.
fn all() -> AstGrepQuery {
    let arguments = AstGrepArguments { pat: vec!["f($A)".to_owned()], ..AstGrepArguments::default() };
    AstGrepQuery { limit: NonZeroUsize::MAX, ..AstGrepQuery::try_from(arguments).unwrap() }
}

#[test]
fn matches_are_handed_over_in_the_order_of_the_page_until_it_is_enough() {
    let forest = forest();
    let (settings, context) = (AstSettings::default(), PlanContext::new(forest.path()));
    let expected = search(&all(), &settings, &context).unwrap();
    let mut taken = Vec::new();
    let totals = search_each(
        &all(),
        &settings,
        &context,
        |file| file.shown.to_owned(),
        |shown, page| {
            taken.push((shown, page));
            ControlFlow::Continue(())
        },
    );
    let shown = expected.files.iter().map(|file| (file.shown.clone(), 0..file.matches.len()));
    assert_eq!(taken, shown.collect::<Vec<_>>());
    assert_eq!(json!(Details::of_search(&totals.unwrap())), json!(Details::of_search(&expected.totals)));
    let mut left = 3;
    let cut = search_each(
        &all(),
        &settings,
        &context,
        |_| (),
        |(), _| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    let (cut, first) = (cut.unwrap(), &expected.files[..3]);
    assert_eq!((cut.file_count, cut.count), (3, first.iter().map(|file| file.matches.len()).sum()));
}

#[test]
fn matches_behind_the_page_are_counted_and_not_looked_at() {
    let directory = Directory::new();
    for number in 0..600 {
        directory.put(&format!("f{number:03}.js"), "f(1);\n".repeat(3));
    }
    let query = AstGrepQuery { limit: NonZeroUsize::new(2).unwrap(), ..all() };
    let looked = AtomicUsize::new(0);
    let look = |file: &dryad_ast::ast_grep::FileView<'_>| {
        looked.fetch_add(file.matches().len(), Ordering::Relaxed);
    };
    let settings = AstSettings::default();
    let totals = search_each(&query, &settings, &PlanContext::new(directory.path()), look, |(), page| {
        assert_eq!(page, 0..2);
        ControlFlow::Continue(())
    });
    assert_eq!(totals.unwrap().count, 1800);
    // Only files that were begun before the first one was counted may have been looked at.
    assert!(looked.into_inner() <= 2 * 128, "two matches of each file under way at most");
}

#[test]
fn two_patterns_that_find_the_same_code_have_found_it_once() {
    let directory = Directory::new();
    directory.put("a.js", "f(1);\ng(2);\n");
    let found = directory.search(json!({"pat": ["f($A)", "$F(1)", "g($A)"]})).unwrap();
    assert_eq!(places(&found), ["a.js:1", "a.js:2"]);
    assert_eq!(found.files[0].matches.iter().map(|it| it.pattern).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_script_that_its_grammar_must_not_see_is_told_and_the_others_are_searched() {
    let directory = Directory::new();
    directory.put("a.sh", "echo {\u{e01b8}..3}\n");
    directory.put("b.sh", "echo {1..3} \u{3042}\n");
    let found = directory.search(json!({"pat": ["echo $$$A"], "lang": "bash"})).unwrap();
    assert_eq!(places(&found), ["b.sh:1"]);
    assert!(
        format!("{:?}", found.totals.issues()).contains("line 1 is one that the bash grammar cannot read"),
        "{found:?}"
    );
    let refused = directory.search(json!({"pat": ["echo {\u{e01b8}"], "lang": "bash"})).unwrap_err();
    assert!(refused.to_string().starts_with("pattern cannot be used: "), "{refused}");
}

#[test]
fn no_more_files_are_looked_at_than_the_setting_says() {
    let forest = forest();
    let arguments = AstGrepArguments { pat: vec!["f($A)".to_owned()], ..AstGrepArguments::default() };
    let query = AstGrepQuery::try_from(arguments).unwrap();
    let settings = AstSettings { max_files: NonZeroUsize::new(10) };
    let found = search(&query, &settings, &PlanContext::new(forest.path())).unwrap();
    assert_eq!((found.totals.files_searched, found.totals.left_out), (10, 30));
    assert_eq!(json!(Details::of_search(&found.totals))["limitReached"], json!(true));
}

#[test]
fn a_call_that_is_no_longer_wanted_ends() {
    let forest = forest();
    let context = PlanContext::new(forest.path());
    context.cancel.cancel();
    let arguments = AstGrepArguments { pat: vec!["f($A)".to_owned()], ..AstGrepArguments::default() };
    let query = AstGrepQuery::try_from(arguments).unwrap();
    assert_eq!(search(&query, &AstSettings::default(), &context).unwrap_err(), ToolError::aborted());
}

#[test]
fn a_very_long_line_is_shown_by_its_match() {
    let directory = Directory::new();
    directory.put("min.js", format!("{}needle(42);{}", "a();".repeat(5000), "b();".repeat(5000)));
    let found = directory.search(json!({"pat": ["needle($A)"]})).unwrap();
    assert_eq!(found.files[0].matches[0].lines[0].text, "needle(42)");
    assert_eq!(found.files[0].matches[0].start, (1, 20001));
}
