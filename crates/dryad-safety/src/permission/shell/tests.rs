//! Commands as the grammar reads them.

use super::*;

fn lines(text: &str) -> Vec<String> {
    parse(text).commands.iter().map(SimpleCommand::line).collect()
}

#[test]
fn commands_are_listed_the_outer_before_the_inner() {
    assert_eq!(lines("a 1 && b \"$(c 'x y')\" | d"), ["a 1", "b $(c 'x y')", "c x y", "d"]);
    assert_eq!(lines("sudo -u x env A=b rm y"), ["sudo -u x env A=b rm y", "env A=b rm y", "rm y"]);
    assert_eq!(lines("bash -c 'a; b'"), ["bash -c a; b", "a", "b"]);
}

#[test]
fn quotes_and_escapes_are_taken_away() {
    assert_eq!(lines(r#"e"c"h'o' a\ b "c\"d\$" $'\t\x41\u00e9' "#), ["echo a b c\"d$ \tAé"]);
    let script = parse("echo * ~ '*' $x {a,b} {}");
    let facts: Vec<_> = script.commands[0].words.iter().map(|word| (word.known, word.glob, word.tilde)).collect();
    let expected = [(true, false, false), (true, true, false), (true, false, true), (true, false, false)];
    assert_eq!(facts[..4], expected);
    assert_eq!(facts[4..], [(false, false, false), (false, false, false), (true, false, false)]);
}

#[test]
fn redirections_and_assignments_belong_to_their_command() {
    let script = parse("A=1 a > f 2>&1 arg < g; b <<'E'\ntext\nE\n");
    let [first, second] = &script.commands[..] else { panic!("{script:?}") };
    assert_eq!(first.line(), "a arg");
    assert_eq!((first.assignments[0].name.as_str(), first.assignments[0].exported), ("A", true));
    let directions: Vec<_> = first.redirections.iter().map(|redirection| redirection.direction).collect();
    assert_eq!(directions, [Direction::Write, Direction::Duplicate, Direction::Read]);
    assert_eq!(second.redirections[0].target, Word::literal("text\n"));
}

#[test]
fn a_pipe_says_who_feeds_whom() {
    let script = parse("a | b | c");
    assert_eq!(
        script.commands.iter().map(|command| command.fed_by.clone()).collect::<Vec<_>>(),
        [None, Some(0..1), Some(0..2)]
    );
}

#[test]
fn what_the_grammar_skips_or_hides_is_opaque() {
    for text in
        ["ls \\ -x", "r\\\nm", "echo ${x^^$(y)}", "cat <<E\n`x`\nE", "cat <<'E'; x\na\nE", "$x", "echo 'a", "a\rb"]
    {
        assert!(!parse(text).opaque.is_empty(), "{text:?}");
    }
    for text in ["ls -l \\\n  src", "echo \"a  b\"", "cat <<E\na $x\nE", "f() { ls; }; f", "(ls)", "ls 2>&1 | cat"] {
        assert_eq!(parse(text).opaque, [], "{text:?}");
    }
}

#[test]
fn a_text_that_cannot_be_parsed_is_guessed_at() {
    let script = parse("echo 'open; sudo rm -rf /");
    assert!(script.guesses.iter().any(|command| command.line() == "rm -rf /"));
}
