//! The file class: roots, links, protected and dangerous paths, path rules.

use super::{allows, asks, denies, rules, with_mode, workspace, write};
use crate::permission_support::{ask, command_question, engine, tool};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use dryad_safety::permission::{Engine, Judgement, Mode, Policy, Question};
use dryad_safety::plan::{Contents, Effect, FilesEffect};
use dryad_safety::spec::{PermissionClass, ToolSpec};
use serde_json::{Map, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn protected_directories_and_dangerous_paths_are_asked_about() {
    let (_place, root) = workspace();
    let engine = with_mode(Mode::Write);
    for path in [".git/index", "a/.ssh/x", ".gnupg/x", ".config/x", "node_modules/m/index.js", ".dryad/settings.json"] {
        assert!(asks(&write(&engine, path, &root)), "{path}");
    }
    let dangerous = [
        "/etc/passwd",
        "/etc/sudoers.d/x",
        "/etc/cron.d/x",
        "/etc/systemd/system/x.service",
        "~/.bashrc",
        "~/.zshrc",
        "~/.gitconfig",
        "~/.config/git/config",
        "~/.ssh/authorized_keys",
        ".git/hooks/pre-commit",
        ".git/config",
        "/home/somebody/.bashrc",
        "/var/spool/cron/x",
    ];
    let yolo = with_mode(Mode::Yolo);
    let headless = crate::permission_support::engine(Policy { headless: true, mode: Mode::Yolo, ..Policy::default() });
    for path in dangerous {
        let judgement = write(&yolo, path, &root);
        assert!(asks(&judgement) && judgement.dangerous, "{path}");
        assert!(denies(&write(&headless, path, &root)), "{path}");
    }
    for path in [".gitignore", "src/ssh/x", "github/x", ".bashrc"] {
        assert!(allows(&write(&engine, path, &root)), "{path}");
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let (place, root) = workspace();
    let outside = place.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, root.join("link")).unwrap();
    symlink("/etc/passwd", root.join("innocent")).unwrap();
    symlink("../outside/new", root.join("dangling")).unwrap();
    symlink("src", root.join("inside")).unwrap();
    let engine = with_mode(Mode::Write);
    for path in ["link/file", "link/sub/deep", "link/../x", "dangling"] {
        assert!(asks(&write(&engine, path, &root)), "{path}");
    }
    assert!(write(&engine, "innocent", &root).dangerous);
    assert!(allows(&write(&engine, "inside/file", &root)));
    assert!(run_in(&engine, "echo x > innocent", &root).dangerous);
    // A rule that allows the name does not allow what the name leads to; a rule that denies the place does.
    let pattern = format!("write({}/**)", root.display());
    let allowing = crate::permission_support::engine(Policy { allow: rules(&[&pattern]), ..Policy::default() });
    assert!(asks(&write(&allowing, "link/file", &root)));
    let pattern = format!("write({}/**)", outside.canonicalize().unwrap().display());
    let denying = crate::permission_support::engine(Policy { deny: rules(&[&pattern]), ..Policy::default() });
    assert!(denies(&write(&denying, "link/file", &root)));
}

#[test]
fn added_roots_count_and_the_workspace_may_itself_be_reached_by_a_link() {
    let (place, root) = workspace();
    let other = place.path().join("other");
    fs::create_dir_all(&other).unwrap();
    let engine = engine(Policy { roots: vec![other.clone()], ..Policy::default() });
    assert!(allows(&write(&engine, &other.join("x").display().to_string(), &root)));
    let link = place.path().join("shortcut");
    symlink(&root, &link).unwrap();
    assert!(allows(&write(&engine, "src/x", &link)));
}

#[test]
fn path_rules_are_anchored_at_the_root_the_home_the_workspace_or_nowhere() {
    let (_place, root) = workspace();
    let policy = Policy {
        deny: rules(&[
            "write(*.env)",
            "write(~/secret/**)",
            "write(./generated/**)",
            "write(/srv/**)",
            "write(docs/*.md)",
        ]),
        mode: Mode::Yolo,
        ..Policy::default()
    };
    let engine = engine(policy);
    let denied = [
        "x.env",
        "deep/down/prod.env",
        "~/secret/a/b",
        "generated",
        "generated/x/y",
        "/srv/www/x",
        "docs/a.md",
        "src/../docs/a.md",
    ];
    for path in denied {
        assert!(denies(&write(&engine, path, &root)), "{path}");
    }
    for path in ["x.environment", "sub/generated/x", "docs/deep/a.md", "/srvx/a"] {
        assert!(allows(&write(&engine, path, &root)), "{path}");
    }
}

#[test]
fn an_allow_rule_must_cover_every_path_of_a_change_set() {
    let (place, root) = workspace();
    let outside = place.path().canonicalize().unwrap().join("outside");
    let pattern = format!("write({}/**)", outside.display());
    let engine = engine(Policy { mode: Mode::AlwaysAsk, allow: rules(&[&pattern]), ..Policy::default() });
    let judge = |paths: &[PathBuf]| {
        let change = |path: &PathBuf| Change { path: FilePath::new(path), before: Image::Absent, after: Image::Absent };
        let effect = Effect::Files(FilesEffect {
            changes: ChangeSet::new(paths.iter().map(change)),
            contents: Contents::default(),
            result: Default::default(),
        });
        let tool = tool("write", PermissionClass::File);
        engine.judge(&Question { tool: &tool, arguments: &Map::new(), effect: Some(&effect), workdir: &root })
    };
    assert!(allows(&judge(&[outside.join("a"), outside.join("b")])));
    assert!(asks(&judge(&[outside.join("a"), root.join("b")])));
}

#[test]
fn a_file_tool_that_reads_is_allowed_unless_denied() {
    let mut spec = tool("peek", PermissionClass::File);
    spec.metadata.audit_operation = "read".to_owned();
    let engine = engine(Policy { mode: Mode::AlwaysAsk, deny: rules(&["peek(/etc/**)"]), ..Policy::default() });
    let read = |spec: &ToolSpec, path: &str| {
        ask(spec, json!({ "file_path": path }), Path::new("/srv"), |question| engine.judge(question))
    };
    assert!(allows(&read(&spec, "/usr/x")));
    assert!(denies(&read(&spec, "/etc/x")));
}

fn run_in(engine: &Engine, command: &str, workdir: &Path) -> Judgement {
    command_question(command, workdir, |question| engine.judge(question))
}
