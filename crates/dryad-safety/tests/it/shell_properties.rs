//! Properties of reading shell commands: whatever the text, nothing panics and nothing unseen is allowed.

use crate::permission_support::{command_question, engine};
use dryad_safety::gate::Verdict;
use dryad_safety::permission::{Mode, Policy, Rule, shell};
use proptest::prelude::*;
use std::path::Path;
use std::time::Instant;

/// Ways to write a program's name that mean the same program.
const SPELLINGS: [&str; 8] = ["evil", "'evil'", "\"evil\"", "e\"\"vil", "\\evil", "ev'i'l", "$'\\x65vil'", "/opt/evil"];

/// Places a command can stand in; `@` is the command.
const PLACES: [&str; 34] = [
    "@",
    "good; @",
    "good && @",
    "good || @",
    "good | @",
    "good & @",
    "( @ )",
    "{ @ ; }",
    "good $( @ )",
    "good \"$( @ )\"",
    "good ${x:-$( @ )}",
    "good <( @ )",
    "x=$( @ )",
    "x=$( @ ) good",
    "if @; then good; fi",
    "if good; then @; fi",
    "while @; do good; done",
    "for i in $( @ ); do good; done",
    "for i in 1; do @; done",
    "case a in a) @;; esac",
    "f() { @; }; good",
    "! @",
    "time @",
    "env @",
    "nohup @",
    "nice -n 3 @",
    "timeout 3 @",
    "command @",
    "exec @",
    "good > f; @",
    "good\n@",
    "good <<E\n$( @ )\nE",
    "find . -exec @ {} +",
    "ls | xargs @",
];

/// Pieces of shell text, to be thrown together.
const PIECES: [&str; 60] = [
    "good",
    "evil",
    "ls",
    "echo",
    "a",
    "-x",
    "--y=z",
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    " ",
    "\t",
    "\\",
    "$x",
    "${x",
    "$((",
    "))",
    "<",
    ">",
    ">>",
    "2>&1",
    "<<E",
    "<<'E'",
    "\nE\n",
    "<<<",
    "<(",
    "if",
    "then",
    "fi",
    "for i in",
    "do",
    "done",
    "while",
    "case x in",
    "esac",
    "[[",
    "]]",
    "[",
    "]",
    "#",
    "=",
    "x=",
    "!",
    "bash -c",
    "eval",
    "env",
    "xargs",
    "find . -exec",
    "*",
];

fn is_allowed(command: &str, rules: &[&str]) -> bool {
    let allow = rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect();
    let engine = engine(Policy { mode: Mode::Write, allow, ..Policy::default() });
    let judgement = command_question(command, Path::new("/srv/project"), |question| engine.judge(question));
    judgement.verdict == Verdict::Allow
}

fn pieces() -> impl Strategy<Value = String> {
    let glue = prop::sample::select(vec!["", " "]);
    let piece = (prop::sample::select(PIECES.to_vec()), glue).prop_map(|(piece, glue)| format!("{piece}{glue}"));
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A command that runs `evil` somewhere, two places deep.
fn hidden() -> impl Strategy<Value = String> {
    let place = || prop::sample::select(PLACES.to_vec());
    (place(), place(), prop::sample::select(SPELLINGS.to_vec())).prop_map(|(outer, inner, evil)| {
        let inner = inner.replace('@', &format!("{evil} arg"));
        // Where only a simple command fits, the inner one is given to a shell.
        let is_simple = [
            "time @",
            "env @",
            "nohup @",
            "nice -n 3 @",
            "timeout 3 @",
            "command @",
            "exec @",
            "find . -exec @ {} +",
            "ls | xargs @",
            "! @",
        ];
        match is_simple.contains(&outer) {
            true => outer.replace('@', &format!("bash -c '{}'", inner.replace('\'', r"'\''"))),
            false => outer.replace('@', &inner),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_rule_for_one_program_never_allows_another(command in hidden()) {
        prop_assert!(!is_allowed(&command, &["bash(prefix:good)"]), "{command}");
    }

    #[test]
    fn arbitrary_text_is_judged_without_a_panic(text in any::<String>()) {
        is_allowed(&text, &["bash(prefix:good)"]);
        shell::is_read_only(&shell::parse(&text));
    }

    #[test]
    fn shell_like_text_is_judged_without_a_panic_and_an_unknown_program_never_passes(text in pieces()) {
        let allowed = is_allowed(&text, &["bash(prefix:good)"]);
        // The word may stand in the text as an argument or in quotes; it must not be a program.
        let runs = shell::parse(&text).commands.iter().any(|command| command.program() == Some("evil"));
        prop_assert!(!(allowed && runs), "{text}");
    }

    #[test]
    fn what_is_read_only_stays_so_beside_itself_and_not_beside_another(text in pieces()) {
        let alone = shell::is_read_only(&shell::parse(&text));
        let beside = shell::parse(&format!("evil\n{text}"));
        prop_assert!(!shell::is_read_only(&beside), "{text} (alone: {alone})");
    }
}

/// These made the grammar read outside its tables.
#[test]
fn characters_beyond_ascii_do_no_harm() {
    for text in
        ["{\u{e01b8}", "echo {\u{e01b8}..3}", "echo {1..\u{10ffff}}", "a{\u{e01b8}}", "cat <<\u{e9}\nx\n\u{e9}\nevil"]
    {
        assert!(!is_allowed(&format!("{text}\nevil"), &["bash(prefix:good)"]));
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = format!("{}evil{}", "$(echo ".repeat(5_000), ")".repeat(5_000));
    let nested = (0..9).fold("evil".to_owned(), |inner, _| format!("bash -c '{}'", inner.replace('\'', r"'\''")));
    let wide = "good; ".repeat(20_000);
    let parentheses = format!("{}{}", "(".repeat(20_000), ")".repeat(20_000));
    let wrappers = format!("{}evil", "env ".repeat(2_000));
    for text in [deep, nested, wide, parentheses, wrappers] {
        let started = Instant::now();
        assert!(!is_allowed(&text, &["bash(prefix:good)"]));
        assert!(started.elapsed().as_secs() < 20, "{} bytes took {:?}", text.len(), started.elapsed());
    }
}

#[test]
fn evil_is_seen_in_every_place_and_spelling() {
    for place in PLACES {
        for evil in SPELLINGS {
            let command = place.replace('@', &format!("{evil} arg"));
            let script = shell::parse(&command);
            let seen = script.commands.iter().any(|command| command.program() == Some("evil"));
            assert!(seen || !script.opaque.is_empty(), "{command}");
        }
    }
}
