//! What is made of pattern texts, and what is said of those that make no sense.

use super::*;

fn compile(texts: &[&str], language: Option<Language>, files: &[Language]) -> Result<Patterns, String> {
    let reading = Reading { language, selector: None, strictness: Strictness::Smart };
    let file = |&language: &Language| SourceFile { path: "x".into(), language, is_named: false };
    let files: Vec<SourceFile> = files.iter().map(file).collect();
    Patterns::compile(texts.iter().copied(), reading, &files).map_err(|error| error.to_string())
}

fn refusal(text: &str, language: Language, selector: Option<&str>) -> String {
    let reading = Reading { language: Some(language), selector, strictness: Strictness::Smart };
    let refused = Patterns::compile([text].into_iter(), reading, &[]).err().unwrap().to_string();
    refused.lines().next().unwrap().to_owned()
}

#[test]
fn a_pattern_is_looked_for_where_it_parses() {
    let patterns = compile(&["fn $F() {}"], None, &[Language::Rust, Language::Json]).unwrap();
    assert_eq!(patterns.of(Language::Rust).len(), 1);
    assert_eq!(patterns.of(Language::Json).len(), 0);
}

#[test]
fn a_text_without_the_fixed_part_cannot_match() {
    let patterns = compile(&["needle($A)", "$A.unwrap()"], Some(Language::Rust), &[]).unwrap();
    assert!(patterns.may_match(Language::Rust, "x needle x") && patterns.may_match(Language::Rust, "unwrap"));
    assert!(!patterns.may_match(Language::Rust, "hay") && !patterns.may_match(Language::Python, "needle"));
    let open = compile(&["$F($A)"], Some(Language::Rust), &[]).unwrap();
    assert!(open.may_match(Language::Rust, "f(x)"));
}

#[test]
fn what_it_captures_is_known() {
    let patterns = compile(&["$F($A, $$$REST, $_)"], Some(Language::Rust), &[]).unwrap();
    let captures = patterns.of(Language::Rust)[0].captures();
    assert_eq!(captures.one, BTreeSet::from(["A".to_owned(), "F".to_owned()]));
    assert_eq!(captures.many, BTreeSet::from(["REST".to_owned()]));
}

#[test]
fn what_is_no_pattern_is_refused_with_a_reason() {
    let check = |text, language, selector, expected: &str| assert_eq!(refusal(text, language, selector), expected);
    check("foo(); bar();", Language::Rust, None, "pattern is more than one node of rust: foo(); bar();");
    check("$$$A", Language::Rust, None, "pattern is a list of nodes: $$$A");
    check("f($A)", Language::Rust, Some("no_such_kind"), "sel is no node kind of rust");
    check("f($A)", Language::Rust, Some("if_expression"), "sel if_expression is not in the pattern: f($A)");
    let everywhere = compile(&["$$$A"], None, &[Language::Rust, Language::Go]).err().unwrap();
    assert!(everywhere.starts_with("pattern is a list of nodes: $$$A\nUse $A for one node"), "{everywhere}");
}

#[test]
fn a_pattern_that_is_nothing_but_an_error_counts_where_there_is_no_better_one() {
    let broken = compile(&["$A == nil"], Some(Language::Lua), &[]).unwrap();
    assert_eq!(broken.of(Language::Lua).len(), 1);
    let refusal = broken.refuse_broken().unwrap_err().to_string();
    assert!(refusal.starts_with("pattern does not parse as lua: $A == nil\nWrite it as code"), "{refusal}");
    let mixed = compile(&["$A == nil"], None, &[Language::Lua, Language::Go]).unwrap();
    assert_eq!((mixed.of(Language::Lua).len(), mixed.of(Language::Go).len()), (0, 1));
    assert!(mixed.refuse_broken().is_ok());
}

#[test]
fn an_error_inside_a_pattern_is_a_doubt() {
    let patterns = compile(&["foo($A, let x)"], Some(Language::Rust), &[]).unwrap();
    assert_eq!(patterns.doubts, ["pattern `foo($A, let x)` does not parse cleanly as rust"]);
    assert!(compile(&["foo($A)"], Some(Language::Rust), &[]).unwrap().doubts.is_empty());
}
