//! The permission engine, row by row of what it promises.

mod files;
mod session;

use crate::permission_support::{ask, command_question, engine, tool};
use dryad_protocol::command::CommandSpec;
use dryad_protocol::path::FilePath;
use dryad_safety::gate::Verdict;
use dryad_safety::permission::{Dangerous, Engine, Judgement, Mode, Policy, Question, Rule};
use dryad_safety::plan::Effect;
use dryad_safety::spec::{Metadata, PermissionClass};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
}

fn allows(judgement: &Judgement) -> bool {
    judgement.verdict == Verdict::Allow
}

fn asks(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Ask(_))
}

fn denies(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Deny(_))
}

fn with_mode(mode: Mode) -> Engine {
    engine(Policy { mode, ..Policy::default() })
}

fn write(engine: &Engine, path: &str, workdir: &Path) -> Judgement {
    ask(&tool("write", PermissionClass::File), json!({ "path": path }), workdir, |question| engine.judge(question))
}

fn fetch(engine: &Engine, url: &str) -> Judgement {
    let tool = tool("webfetch", PermissionClass::Webfetch);
    ask(&tool, json!({ "url": url }), Path::new("/srv"), |question| engine.judge(question))
}

fn run(engine: &Engine, command: &str) -> Judgement {
    command_question(command, Path::new("/srv/project"), |question| engine.judge(question))
}

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(root.join("src")).unwrap();
    (place, root)
}

#[test]
fn each_mode_lets_through_what_it_says() {
    let (_place, root) = workspace();
    let generic = tool("deploy", PermissionClass::Generic);
    let reader = tool("read", PermissionClass::Readonly);
    for (mode, writes, rest) in [(Mode::AlwaysAsk, false, false), (Mode::Write, true, false), (Mode::Yolo, true, true)]
    {
        let engine = with_mode(mode);
        let judge = |question: &Question<'_>| engine.judge(question);
        assert!(allows(&ask(&reader, json!({}), &root, judge)), "{mode:?}");
        assert_eq!(allows(&write(&engine, "src/a", &root)), writes, "{mode:?}");
        assert_eq!(allows(&write(&engine, "../outside", &root)), rest, "{mode:?}");
        assert_eq!(allows(&ask(&generic, json!({}), &root, judge)), rest, "{mode:?}");
        assert_eq!(allows(&fetch(&engine, "https://example.com")), rest, "{mode:?}");
        assert_eq!(allows(&run(&engine, "make")), rest, "{mode:?}");
        assert!(allows(&run(&engine, "ls")), "{mode:?}");
    }
}

#[test]
fn a_deny_rule_blocks_even_a_readonly_tool_and_holds_in_every_mode() {
    let reader = tool("read", PermissionClass::Readonly);
    let policy = Policy { deny: rules(&["read(/etc/**)", "deploy"]), mode: Mode::Yolo, ..Policy::default() };
    let engine = engine(policy);
    let read = |path: &str| ask(&reader, json!({ "path": path }), Path::new("/srv"), |question| engine.judge(question));
    assert!(denies(&read("/etc/fstab")));
    assert!(denies(&read("../etc/fstab")));
    assert!(allows(&read("/usr/share/doc")));
    let deploy = tool("deploy", PermissionClass::Generic);
    let judgement = ask(&deploy, json!({}), Path::new("/srv"), |question| engine.judge(question));
    assert_eq!(judgement.source, "rule deny deploy");
    assert!(denies(&judgement));
}

#[test]
fn a_rule_for_every_tool_and_a_rule_for_an_alias_match() {
    let mut spec = tool("deploy", PermissionClass::Generic);
    spec.metadata.aliases = vec!["ship".to_owned()];
    for rule in ["*", "ship", "deploy"] {
        let engine = engine(Policy { allow: rules(&[rule]), ..Policy::default() });
        assert!(allows(&ask(&spec, json!({}), Path::new("/srv"), |question| engine.judge(question))), "{rule}");
    }
    let engine = engine(Policy { allow: rules(&["other"]), ..Policy::default() });
    assert!(asks(&ask(&spec, json!({}), Path::new("/srv"), |question| engine.judge(question))));
}

#[test]
fn labels_take_no_part_in_permission() {
    let mut spec = tool("deploy", PermissionClass::Generic);
    spec.metadata = Metadata { read_only: true, destructive: false, ..spec.metadata };
    let engine = with_mode(Mode::Write);
    assert!(asks(&ask(&spec, json!({}), Path::new("/srv"), |question| engine.judge(question))));
    let mut reader = tool("read", PermissionClass::Readonly);
    reader.metadata.destructive = true;
    assert!(allows(&ask(&reader, json!({}), Path::new("/srv"), |question| engine.judge(question))));
}

#[test]
fn a_tool_that_declares_no_class_is_known_by_its_name_or_generic() {
    let engine = with_mode(Mode::Write);
    let judge = |name: &str, arguments| {
        let spec = tool(name, PermissionClass::Undeclared);
        ask(&spec, arguments, Path::new("/srv"), |question| engine.judge(question))
    };
    assert!(allows(&judge("bash", json!({ "command": "ls" }))));
    assert!(asks(&judge("bash", json!({ "command": "make" }))));
    assert!(allows(&judge("grep", json!({ "pattern": "x" }))));
    assert!(asks(&judge("something", json!({ "command": "ls" }))));
}

#[test]
fn the_order_is_deny_danger_ask_allow() {
    let policy = |dangerous| Policy {
        deny: rules(&["bash(prefix:shutdown)"]),
        ask: rules(&["bash(prefix:git push)"]),
        allow: rules(&["bash(prefix:git)", "bash(prefix:rm)", "bash(prefix:shutdown)"]),
        dangerous,
        ..Policy::default()
    };
    let engine = engine(policy(Dangerous::Ask));
    assert!(denies(&run(&engine, "shutdown now")));
    let danger = run(&engine, "rm -rf /");
    assert!(asks(&danger) && danger.dangerous);
    assert_eq!(danger.source, "dangerous: recursive delete of an absolute path");
    let asked = run(&engine, "git push");
    assert!(asks(&asked));
    assert_eq!(asked.source, "rule ask bash(prefix:git push)");
    let allowed = run(&engine, "git commit -m x");
    assert!(allows(&allowed));
    assert_eq!(allowed.source, "rule allow bash(prefix:git)");
}

#[test]
fn dangerous_calls_are_asked_about_refused_or_judged_like_others() {
    let judge = |dangerous, headless, mode| {
        let engine = engine(Policy { dangerous, headless, mode, ..Policy::default() });
        run(&engine, "git reset --hard")
    };
    assert!(asks(&judge(Dangerous::Ask, false, Mode::Yolo)));
    assert!(denies(&judge(Dangerous::Ask, true, Mode::Yolo)));
    assert!(denies(&judge(Dangerous::Deny, false, Mode::Yolo)));
    let allowed = judge(Dangerous::Allow, true, Mode::Yolo);
    assert!(allows(&allowed) && allowed.dangerous);
    assert!(asks(&judge(Dangerous::Allow, false, Mode::Write)));
}

#[test]
fn domain_rules_stop_at_a_label_and_only_the_web_is_fetched() {
    let policy =
        Policy { allow: rules(&["webfetch(domain:example.com)", "webfetch(domain:localhost)"]), ..Policy::default() };
    let engine = engine(policy);
    for url in ["https://example.com/x", "https://docs.EXAMPLE.com.", "http://localhost:3000"] {
        assert!(allows(&fetch(&engine, url)), "{url}");
    }
    for url in
        ["https://evilexample.com", "https://example.com.evil.org", "https://example.com@evil.org", "http://127.0.0.1"]
    {
        assert!(asks(&fetch(&engine, url)), "{url}");
    }
    let yolo = with_mode(Mode::Yolo);
    for url in ["file:///etc/passwd", "ftp://example.com", "nonsense", ""] {
        assert!(denies(&fetch(&yolo, url)), "{url}");
    }
    assert!(fetch(&yolo, "http://169.254.169.254/latest/meta-data").dangerous);
    let denying = crate::permission_support::engine(Policy {
        deny: rules(&["webfetch(domain:evil.org)"]),
        mode: Mode::Yolo,
        ..Policy::default()
    });
    assert!(denies(&fetch(&denying, "https://sub.evil.org/x")));
}

#[test]
fn a_planned_command_is_judged_with_its_shell_directory_and_variables() {
    let engine = engine(Policy { allow: rules(&["bash(prefix:cargo test)"]), ..Policy::default() });
    let judge_command = |command: &str, shell: &str, cwd: &str, env: &[&str]| {
        let tool = tool("bash", PermissionClass::Bash);
        let spec = CommandSpec {
            command: command.to_owned(),
            cwd: FilePath::new(cwd),
            // What the tool sets by itself does not count.
            env: [("AWS_PAGER".to_owned(), "cat".to_owned())].into(),
            shell: shell.to_owned(),
            timeout_seconds: 1,
        };
        let given: Map<String, Value> = env.iter().map(|name| ((*name).to_owned(), Value::from("x"))).collect();
        let arguments = Map::from_iter([("env".to_owned(), Value::Object(given))]);
        let (effect, workdir) = (Effect::Command(spec), Path::new("/srv/project"));
        engine.judge(&Question { tool: &tool, arguments: &arguments, effect: Some(&effect), workdir })
    };
    let judge = |shell: &str, cwd: &str, env: &[&str]| judge_command("cargo test > out", shell, cwd, env);
    assert!(allows(&judge("/bin/bash", "/srv/project", &["CI"])));
    assert!(asks(&judge("/usr/bin/fish", "/srv/project", &[])));
    assert!(asks(&judge_command("[[ a && evil ]]", "/bin/sh", "/srv/project", &[])));
    assert!(asks(&judge("/bin/bash", "/elsewhere", &[])));
    assert!(asks(&judge("/bin/bash", "/srv/project", &["LD_PRELOAD"])));
    assert!(asks(&judge("/bin/bash", "/srv/project", &["FOO"])));
}

#[test]
fn git_is_only_asked_freely_in_the_directory_worked_in() {
    let engine = with_mode(Mode::Write);
    let status = |cwd: &str, command: &str| {
        let tool = tool("bash", PermissionClass::Bash);
        let arguments = json!({ "command": command, "cwd": cwd });
        ask(&tool, arguments, Path::new("/srv"), |question| engine.judge(question))
    };
    assert!(allows(&status("/srv", "git status")));
    assert!(asks(&status("/tmp/downloaded", "git status")));
    assert!(allows(&status("/tmp/downloaded", "ls")));
}

#[test]
fn a_call_without_what_its_class_looks_at_is_asked_about() {
    let engine = with_mode(Mode::Write);
    let judge = |name, class| {
        ask(&tool(name, class), json!({ "command": 7 }), Path::new("/srv"), |question| engine.judge(question))
    };
    assert!(asks(&judge("bash", PermissionClass::Bash)));
    assert!(asks(&judge("write", PermissionClass::File)));
    assert!(denies(&judge("webfetch", PermissionClass::Webfetch)));
}
