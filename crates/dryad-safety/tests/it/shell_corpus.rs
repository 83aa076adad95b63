//! Shell commands with the verdict each must get, read from the tables in `shell_corpus/`.
//!
//! A line is `verdict <tab> command <tab> why`. In a command `␤` is a line break, `␉` a tab and `‹200b›` the
//! character of that number. `@allow`, `@ask` and `@deny` lines add a rule for the lines that follow, `@clear` drops
//! the rules.
//!
//! Verdicts: `allow`; `ask` (allowed where everything passes); `danger` (asked about in every mode, refused where
//! nobody can be asked); `deny`; `asked` (by a rule, in every mode).

use crate::permission_support::{command_question, engine};
use dryad_safety::gate::Verdict;
use dryad_safety::permission::{Judgement, Mode, Policy, Rule};
use std::path::Path;

const TABLES: [(&str, &str); 9] = [
    ("reading", include_str!("shell_corpus/reading.tsv")),
    ("structure", include_str!("shell_corpus/structure.tsv")),
    ("wrappers", include_str!("shell_corpus/wrappers.tsv")),
    ("opaque", include_str!("shell_corpus/opaque.tsv")),
    ("executors", include_str!("shell_corpus/executors.tsv")),
    ("dangerous", include_str!("shell_corpus/dangerous.tsv")),
    ("variables", include_str!("shell_corpus/variables.tsv")),
    ("redirections", include_str!("shell_corpus/redirections.tsv")),
    ("rules", include_str!("shell_corpus/rules.tsv")),
];

/// One line of a table.
struct Case {
    place: String,
    expected: String,
    command: String,
    rules: Policy,
}

fn cases() -> Vec<Case> {
    TABLES.iter().flat_map(|(name, table)| cases_of(name, table)).collect()
}

fn cases_of(name: &str, table: &str) -> Vec<Case> {
    let mut rules = Policy::default();
    let mut cases = Vec::new();
    for (number, line) in table.lines().enumerate() {
        let place = format!("{name}.tsv:{}", number + 1);
        match line.split_once(' ') {
            _ if line.is_empty() || line.starts_with('#') => {}
            _ if line == "@clear" => rules = Policy::default(),
            Some(("@allow", rule)) => rules.allow.push(Rule::parse(rule).unwrap()),
            Some(("@ask", rule)) => rules.ask.push(Rule::parse(rule).unwrap()),
            Some(("@deny", rule)) => rules.deny.push(Rule::parse(rule).unwrap()),
            _ => {
                let mut columns = line.split('\t');
                let mut column = || columns.next().unwrap_or_else(|| panic!("{place}: a column is missing")).to_owned();
                let (expected, command, why) = (column(), unescape(&column()), column());
                assert!(!why.is_empty(), "{place}: no reason is given");
                cases.push(Case { place, expected, command, rules: rules.clone() });
            }
        }
    }
    cases
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('‹');
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('›').unwrap();
        result.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        result.push_str(rest);
    }
    result.replace('␤', "\n").replace('␉', "\t")
}

fn judge(case: &Case, mode: Mode, headless: bool) -> Judgement {
    let engine = engine(Policy { mode, headless, ..case.rules.clone() });
    command_question(&case.command, Path::new("/srv/project"), |question| engine.judge(question))
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

/// What the three settings that matter make of a case: write, yolo, yolo where nobody can be asked.
fn check(case: &Case) -> Result<(), String> {
    let all = [(Mode::Write, false), (Mode::Yolo, false), (Mode::Yolo, true)];
    let found = all.map(|(mode, headless)| judge(case, mode, headless));
    let verdicts = found.each_ref().map(|judgement| name(&judgement.verdict));
    let expected = match case.expected.as_str() {
        "allow" => ["allow", "allow", "allow"],
        "ask" => ["ask", "allow", "allow"],
        "danger" => ["ask", "ask", "deny"],
        "asked" => ["ask", "ask", "ask"],
        "deny" => ["deny", "deny", "deny"],
        other => return Err(format!("{}: unknown verdict {other}", case.place)),
    };
    let dangerous = found.iter().any(|judgement| judgement.dangerous);
    let consistent = case.expected == "deny" || dangerous == (case.expected == "danger");
    match verdicts == expected && consistent {
        true => Ok(()),
        false => Err(format!("{}: {}: `{}` got {verdicts:?}: {:?}", case.place, case.expected, case.command, found[0])),
    }
}

#[test]
fn every_command_of_the_corpus_gets_its_verdict() {
    let cases = cases();
    assert!(cases.len() >= 300, "only {} commands", cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Whatever a command is chained to, it is judged no more mildly than alone.
#[test]
fn no_chain_makes_a_command_of_the_corpus_pass() {
    let strict = |case: &&Case| case.expected == "danger" && !case.command.contains(['\n', '#']);
    for case in cases().iter().filter(strict) {
        let command = case.command.trim_end_matches('&').trim();
        let chains = [
            format!("ls; {command}"),
            format!("cd sub && {command}"),
            format!("true || {command}"),
            format!("( {command} )"),
            format!("if true; then {command}; fi"),
            format!("for i in 1 2; do {command}; done"),
            format!("echo \"$( {command} )\""),
            format!("cat <( {command} )"),
            format!("f() {{ {command}; }}; f"),
        ];
        for chained in chains {
            let chained = Case {
                command: chained,
                rules: case.rules.clone(),
                place: case.place.clone(),
                expected: String::new(),
            };
            let verdict = judge(&chained, Mode::Write, false).verdict;
            assert_ne!(verdict, Verdict::Allow, "{}: {}", case.place, chained.command);
        }
    }
}
