//! Grants, denials, settings, projects.

use super::{allows, asks, denies, rules, run, with_mode, workspace};
use crate::permission_support::{ask, command_question, engine, tool};
use dryad_safety::permission::{
    Dangerous, Mode, PermissionSettings, Policy, Rule, denied_text, tighten, user_denied_text,
};
use dryad_safety::spec::PermissionClass;
use serde_json::json;
use std::path::Path;

#[test]
fn a_grant_lasts_as_long_as_the_engine_and_covers_no_more_than_was_asked() {
    let engine = with_mode(Mode::Write);
    let command = "npm run build -- --out 'a b'";
    assert!(asks(&run(&engine, command)));
    let suggested = command_question(command, Path::new("/srv"), |question| engine.suggest(question));
    suggested.into_iter().for_each(|rule| engine.grant(rule));
    let allowed = run(&engine, command);
    assert!(allows(&allowed));
    assert_eq!(allowed.source, "session grant bash(prefix:npm run build -- --out 'a b')");
    assert!(asks(&run(&engine, "npm run build -- --out 'a b' --more")));
    assert!(asks(&run(&engine, "npm run build; evil")));
    assert_eq!(engine.grants().len(), 1);
    assert!(asks(&run(&with_mode(Mode::Write), command)));
    let hidden = command_question("$X", Path::new("/srv"), |question| engine.suggest(question));
    assert!(hidden.is_empty());
}

#[test]
fn what_is_suggested_for_files_hosts_and_other_tools_allows_exactly_that() {
    let (_place, root) = workspace();
    let engine = with_mode(Mode::AlwaysAsk);
    let cases = [
        (tool("write", PermissionClass::File), json!({ "path": "src/[a].rs" }), json!({ "path": "src/a.rs" })),
        (
            tool("webfetch", PermissionClass::Webfetch),
            json!({ "url": "https://a.example" }),
            json!({ "url": "https://b.example" }),
        ),
    ];
    for (tool, wanted, other) in cases {
        let suggested = ask(&tool, wanted.clone(), &root, |question| engine.suggest(question));
        assert_eq!(suggested.len(), 1);
        suggested.into_iter().for_each(|rule| engine.grant(rule));
        assert!(allows(&ask(&tool, wanted, &root, |question| engine.judge(question))));
        assert!(asks(&ask(&tool, other, &root, |question| engine.judge(question))));
    }
    let generic = tool("deploy", PermissionClass::Generic);
    ask(&generic, json!({}), &root, |question| engine.suggest(question))
        .into_iter()
        .for_each(|rule| engine.grant(rule));
    assert!(allows(&ask(&generic, json!({}), &root, |question| engine.judge(question))));
}

#[test]
fn three_denials_in_a_row_bring_a_reminder() {
    let engine = with_mode(Mode::Write);
    for tool in ["bash", "bash", "write"] {
        engine.note_denial(tool);
        assert_eq!(engine.reminder(tool), None);
    }
    engine.note_denial("bash");
    assert!(engine.reminder("bash").is_some_and(|text| text.contains("\"bash\"") && text.contains('3')));
    assert_eq!(engine.reminder("write"), None);
    engine.note_allowed("bash");
    engine.note_denial("bash");
    assert_eq!(engine.reminder("bash"), None);
    let denials = engine.denials();
    assert_eq!((denials.total, denials.by_tool["bash"], denials.consecutive["bash"]), (5, 4, 1));
}

#[test]
fn refusals_read_as_the_protocol_says() {
    assert_eq!(denied_text("bash", "no"), "Permission denied for tool \"bash\": no");
    assert_eq!(user_denied_text("bash", ""), "User denied tool \"bash\"");
    assert_eq!(user_denied_text("bash", "not now"), "User denied tool \"bash\": not now");
}

#[test]
fn a_project_can_only_tighten() {
    let user = Policy { mode: Mode::Write, allow: rules(&["bash(prefix:make)"]), ..Policy::default() };
    let project = Policy {
        mode: Mode::Yolo,
        dangerous: Dangerous::Allow,
        allow: rules(&["*"]),
        deny: rules(&["bash(prefix:make deploy)"]),
        roots: vec!["/".into()],
        ..Policy::default()
    };
    let policy = tighten(user.clone(), project);
    assert_eq!((policy.mode, policy.dangerous), (Mode::Write, Dangerous::Ask));
    assert!(policy.roots.is_empty());
    assert_eq!(policy.ignored.len(), 4, "{:?}", policy.ignored);
    let tightened = engine(policy);
    assert!(allows(&run(&tightened, "make")));
    assert!(denies(&run(&tightened, "make deploy")));
    assert!(asks(&run(&tightened, "evil")));
    let stricter = tighten(user, Policy { mode: Mode::AlwaysAsk, dangerous: Dangerous::Deny, ..Policy::default() });
    assert_eq!((stricter.mode, stricter.dangerous), (Mode::AlwaysAsk, Dangerous::Deny));
}

#[test]
fn settings_are_rules_or_rules_with_examples_and_errors_name_file_and_rule() {
    let load =
        |settings| serde_json::from_value::<PermissionSettings>(settings).unwrap().apply("a.json", Policy::default());
    let good = load(json!({
        "mode": "always-ask",
        "dangerous": "deny",
        "deny": ["bash(prefix:rm)", { "rule": "write(/etc/**)", "matches": ["/etc/passwd"], "not": ["/usr/x"] }],
        "ask": [{ "rule": "webfetch(domain:example.com)", "matches": ["docs.example.com"], "not": ["https://evilexample.com"] }],
        "allow": [{ "rule": "bash(prefix:git log)", "matches": ["git log -5 | head"], "not": ["git log; rm x", "git logger"] }],
    }));
    let policy = good.unwrap();
    assert_eq!((policy.mode, policy.dangerous, policy.deny.len()), (Mode::AlwaysAsk, Dangerous::Deny, 2));
    assert_eq!(policy.deny[0].file(), Some("a.json"));
    let message = |settings| load(settings).unwrap_err().to_string();
    assert_eq!(
        message(json!({ "deny": ["bash(rm"] })),
        "a.json: permission rule `bash(rm`: a `(` needs a `)` at the end"
    );
    assert_eq!(
        message(json!({ "allow": [{ "rule": "bash(prefix:git log)", "matches": ["git status; evil"] }] })),
        "a.json: permission rule `bash(prefix:git log)`: its example `git status; evil` should match but does not"
    );
    assert_eq!(
        message(json!({ "deny": [{ "rule": "bash(prefix:rm)", "not": ["ls && rm x"] }] })),
        "a.json: permission rule `bash(prefix:rm)`: its example `ls && rm x` should not match but does"
    );
}

#[test]
fn an_engine_is_shared_between_threads() {
    let engine = with_mode(Mode::Write);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                engine.grant(Rule::parse(&format!("bash(prefix:make t{number})")).unwrap());
                assert!(allows(&run(engine, &format!("make t{number}"))));
                engine.note_denial("bash");
            });
        }
    });
    assert_eq!((engine.grants().len(), engine.denials().total), (4, 4));
}
