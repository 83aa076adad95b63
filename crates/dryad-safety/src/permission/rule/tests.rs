//! Rules: what parses, and what they match.

use super::*;

fn problem(text: &str) -> Problem {
    Rule::parse(text).unwrap_err().problem
}

#[test]
fn every_form_parses_and_keeps_its_text() {
    for text in [
        "*",
        "bash",
        "bash(prefix:git status)",
        "write(/etc/**)",
        "write(./src/*)",
        "edit(*.lock)",
        "write(.env)",
        "write(~/x/**)",
        "webfetch(domain:example.com)",
        "bash(git log *)",
        "mcp__server__tool",
        "*(prefix:rm)",
    ] {
        assert_eq!(Rule::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Rule::parse(" bash ").unwrap().from_file("a.json").to_string(), "bash (a.json)");
}

#[test]
fn what_is_no_rule_is_refused_with_the_reason() {
    assert_eq!(problem(""), Problem::NoTool);
    assert_eq!(problem("(x)"), Problem::NoTool);
    assert_eq!(problem("two words"), Problem::BadTool("two words".to_owned()));
    assert_eq!(problem("bash(x"), Problem::Unclosed);
    assert_eq!(problem("bash()"), Problem::Empty);
    assert_eq!(problem("bash(rm)"), Problem::UnknownForm("rm".to_owned()));
    assert_eq!(problem("bash(prefix:)"), Problem::NotOneCommand(String::new()));
    assert_eq!(problem("bash(prefix:a; b)"), Problem::NotOneCommand("a; b".to_owned()));
    assert_eq!(problem("bash(prefix:a $x)"), Problem::NotOneCommand("a $x".to_owned()));
    assert_eq!(problem("bash(prefix:a > b)"), Problem::NotOneCommand("a > b".to_owned()));
    assert_eq!(problem("bash(prefix:'a)"), Problem::NotOneCommand("'a".to_owned()));
    assert_eq!(problem("webfetch(domain:a b)"), Problem::BadHost("a b".to_owned()));
    assert!(matches!(problem("write(/a[)"), Problem::BadGlob(_)));
    assert!(matches!(problem("write(/a/../b)"), Problem::BadGlob(_)));
}

#[test]
fn a_form_that_could_never_match_the_tool_is_refused() {
    for text in ["write(prefix:rm)", "read(domain:x)", "webfetch(/etc/**)", "webfetch(prefix:x)", "bash(domain:x)"] {
        assert!(matches!(problem(text), Problem::WrongForm { .. }), "{text}");
    }
}

#[test]
fn an_error_names_the_rule() {
    assert_eq!(
        Rule::parse("bash(rm)").unwrap_err().to_string(),
        "permission rule `bash(rm)`: `rm` is neither prefix:words, domain:host nor a path (which starts with `/`, `.` or `~`, or holds a `*`)"
    );
}
