//! Rules, from files to matches.

use super::*;
use crate::prompt::PromptRule;
use dryad_provider::delta::Delta;
use std::path::Path;

fn rule(head: &str) -> StreamRule {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("rules")).unwrap();
    std::fs::write(root.path().join("rules/r.md"), format!("---\n{head}\n---\nbe kind\n")).unwrap();
    let loaded = load(root.path(), Path::new("/nowhere"));
    assert_eq!(loaded.warnings, Vec::<String>::new());
    loaded.rules.into_iter().next().unwrap()
}

fn book(rules: Vec<StreamRule>, settings: StreamRuleSettings) -> RuleBook {
    let (rules, warnings) = StreamRules::new(rules, settings);
    assert_eq!(warnings, Vec::<String>::new());
    let book = RuleBook::default();
    book.set_rules(rules);
    book
}

fn text(pieces: &[&str]) -> Vec<Delta> {
    let pieces = pieces.iter().map(|&piece| Delta::Text(piece.to_owned()));
    [Delta::TextStart].into_iter().chain(pieces).chain([Delta::TextEnd { signature: None }]).collect()
}

fn thinking(piece: &str) -> Vec<Delta> {
    vec![Delta::ThinkingStart, Delta::Thinking(piece.to_owned()), Delta::ThinkingEnd { signature: None }]
}

fn call(name: &str, pieces: &[&str]) -> Vec<Delta> {
    let start = Delta::ToolCallStart { id: "c".to_owned(), name: name.to_owned() };
    let pieces = pieces.iter().map(|&piece| Delta::ToolCallArguments(piece.to_owned()));
    [start].into_iter().chain(pieces).chain([Delta::ToolCallEnd { signature: None }]).collect()
}

/// What the deltas lead to: the first that leads to anything.
fn seen(head: &str, deltas: &[Delta]) -> &'static str {
    let mut watch = book(vec![rule(head)], StreamRuleSettings::default()).watch();
    for delta in deltas {
        match watch.see(delta) {
            Seen::Nothing => {}
            Seen::Noted(_) => return "noted",
            Seen::Interrupt(_) => return "interrupt",
        }
    }
    "nothing"
}

#[test]
fn a_match_may_come_in_pieces() {
    assert_eq!(seen("condition: unsafe code", &text(&["this is uns", "afe co", "de"])), "interrupt");
    assert_eq!(seen("condition: unsafe code", &text(&["unsafe", " but code"])), "nothing");
    assert_eq!(seen("condition: '^b'", &text(&["a", "b"])), "nothing", "a piece is no beginning");
    let long = "x".repeat(5000);
    assert_eq!(seen("condition: 'a[^b]*b'", &text(&["a", &long, "b"])), "interrupt", "the end looks at all of it");
}

#[test]
fn scopes_say_what_is_watched() {
    let (said, thought) = (text(&["bad"]), thinking("bad"));
    let called = call("edit", &[r#"{"path": "src/a.rs", "text": "bad"}"#]);
    let table = [
        ("condition: bad", ["interrupt", "nothing", "interrupt"]),
        ("condition: bad\nscope: thinking", ["nothing", "interrupt", "nothing"]),
        ("condition: bad\nscope: tool", ["nothing", "nothing", "interrupt"]),
        ("condition: bad\nscope: [text, 'tool:write']", ["interrupt", "nothing", "nothing"]),
        ("condition: bad\nscope: 'tool:edit'", ["nothing", "nothing", "interrupt"]),
        ("condition: bad\nscope: 'edit(*.rs)'", ["nothing", "nothing", "interrupt"]),
        ("condition: bad\nscope: 'edit(*.{ts,js}), tool:edit(lib/**)'", ["nothing", "nothing", "nothing"]),
        ("condition: bad\nglobs: '*.rs, *.toml'", ["nothing", "nothing", "interrupt"]),
        ("condition: bad\nglobs: ['docs/**']", ["nothing", "nothing", "nothing"]),
    ];
    for (head, expected) in table {
        assert_eq!([seen(head, &said), seen(head, &thought), seen(head, &called)], expected, "{head}");
    }
}

#[test]
fn the_file_may_be_named_last() {
    let late = call("edit", &[r#"{"text": "bad", "#, r#""path": "a.r"#, r#"s"}"#]);
    assert_eq!(seen("condition: bad\nscope: edit(*.rs)", &late), "interrupt");
}

#[test]
fn a_long_call_is_watched_to_its_end() {
    let pieces: Vec<String> = (0..20_000).map(|at| format!("line {at} ")).collect();
    let mut deltas = vec![r#"{"path": "a.rs", "content": ""#];
    deltas.extend(pieces.iter().map(String::as_str));
    deltas.push("bad\"}");
    assert_eq!(seen("condition: bad\nglobs: '*.rs'", &call("write", &deltas)), "interrupt");
}

#[test]
fn modes_say_when_a_match_interrupts() {
    let (said, called) = (text(&["bad"]), call("edit", &["bad"]));
    let table = [
        ("always", ["interrupt", "interrupt"]),
        ("never", ["noted", "noted"]),
        ("prose-only", ["interrupt", "noted"]),
        ("tool-only", ["noted", "interrupt"]),
    ];
    for (mode, expected) in table {
        let head = format!("condition: bad\ninterruptMode: {mode}");
        assert_eq!([seen(&head, &said), seen(&head, &called)], expected, "{mode}");
    }
}

#[test]
fn a_rule_is_told_once_or_after_a_gap() {
    let matches = |book: &RuleBook| {
        let mut watch = book.watch();
        let seen = text(&["bad"]).iter().map(|delta| watch.see(delta)).find(|seen| *seen != Seen::Nothing);
        if let Some(Seen::Interrupt(rules)) = &seen {
            book.note(rules);
        }
        seen.is_some()
    };
    let once = book(vec![rule("condition: bad")], StreamRuleSettings::default());
    assert_eq!((0..3).map(|_| matches(&once)).collect::<Vec<_>>(), [true, false, false]);
    let settings = StreamRuleSettings { repeat: Repeat::AfterGap(3), ..StreamRuleSettings::default() };
    let gap = book(vec![rule("condition: bad")], settings);
    assert_eq!((0..6).map(|_| matches(&gap)).collect::<Vec<_>>(), [true, false, false, true, false, false]);
    let restored = book(vec![rule("condition: bad")], StreamRuleSettings::default());
    restored.restore(&["r".to_owned()]);
    assert!(!matches(&restored));
    let off = StreamRuleSettings { enabled: false, ..StreamRuleSettings::default() };
    assert!(!matches(&book(vec![rule("condition: bad")], off)));
}

#[test]
fn what_cannot_be_used_is_left_out_with_a_word() {
    let bad = |head: &str| StreamRules::new(vec![rule(head)], StreamRuleSettings::default()).1.join("");
    assert!(bad("condition: 'a('").starts_with("rule r ("), "{}", bad("condition: 'a('"));
    assert!(bad("condition: a\nscope: sometimes").contains("`sometimes` is no scope"));
    assert!(bad("condition: '(a{1000}){1000}'").contains("size limit"));
}

#[test]
fn the_projects_rule_beats_the_users_of_the_same_name() {
    let (project, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (root, names) in [(&project, ["a", "b"]), (&user, ["b", "c"])] {
        std::fs::create_dir(root.path().join("rules")).unwrap();
        for name in names {
            std::fs::write(root.path().join(format!("rules/{name}.md")), "---\ncondition: x\n---\ntext").unwrap();
        }
        std::fs::write(root.path().join("rules/plain.md"), "no condition").unwrap();
    }
    std::fs::write(user.path().join("rules/odd.md"), "---\ncondition: x\ninterruptMode: maybe\n---\n").unwrap();
    let loaded = load(project.path(), user.path());
    let told: Vec<_> = loaded.rules.iter().map(|rule| (rule.name.as_str(), rule.source.level)).collect();
    use dryad_protocol::rule::RuleLevel::{Project, User};
    assert_eq!(told, [("a", Project), ("b", Project), ("c", User)]);
    assert_eq!(loaded.warnings.len(), 1);
}

#[test]
fn a_rule_without_a_condition_is_told_where_it_says_so() {
    let (project, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |root: &tempfile::TempDir, name: &str, text: &str| {
        std::fs::create_dir_all(root.path().join("rules")).unwrap();
        std::fs::write(root.path().join(format!("rules/{name}.md")), text).unwrap();
    };
    write(&project, "style", "---\nalwaysApply: true\n---\nUse tabs.\n");
    write(&project, "sql", "---\ndescription: Changing the schema\nalwaysApply: false\n---\nNever drop.\n");
    write(&project, "other", "---\nglobs: '*.py'\n---\nFor somebody else.\n");
    write(&user, "style", "---\ncondition: x\n---\nThe project has one of this name.\n");
    let loaded = load(project.path(), user.path());
    let told = [
        PromptRule::Listed {
            name: "sql".to_owned(),
            description: "Changing the schema".to_owned(),
            path: project.path().join("rules/sql.md"),
        },
        PromptRule::Always { name: "style".to_owned(), text: "Use tabs.".to_owned() },
    ];
    assert_eq!((loaded.told.as_slice(), loaded.rules.len(), loaded.warnings.len()), (&told[..], 0, 0));
}
