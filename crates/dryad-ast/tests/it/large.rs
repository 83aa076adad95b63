//! A rewrite whose contents are too many to be held: from the call to the applied tree, undo and redo.

use crate::support::Directory;
use dryad_ast::{AstSettings, builtin};
use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::{CallContext, Pipeline, Unresolved, Who};
use dryad_safety::registry::Registry;
use dryad_safety::undo::{self, Mode, Selection};
use dryad_safety::workspace::Workspace;
use serde_json::{Value, json};
use std::sync::Arc;

/// With 64 kB each before and after, some times more than is held.
const FILES: usize = 40;

struct Desk {
    directory: Directory,
    home: Directory,
    workspace: Arc<Workspace>,
    pipeline: Pipeline,
}

fn source(number: usize, name: &str) -> String {
    let filling = format!("// {}\n", "x".repeat(100)).repeat(320);
    format!("{name}({number});\n{filling}{name}('end');\n{filling}")
}

impl Desk {
    fn new() -> Self {
        let (directory, home) = (Directory::new(), Directory::new());
        (0..FILES).for_each(|number| drop(directory.put(&format!("{number}.js"), source(number, "old"))));
        let workspace = Arc::new(Workspace::with_id(home.path(), "large"));
        let registry = Registry::default();
        builtin(&AstSettings::default()).into_iter().for_each(|tool| registry.register(tool).unwrap());
        let pipeline = Pipeline::new(Arc::new(registry), workspace.clone(), directory.path());
        Self { directory, home, workspace, pipeline }
    }

    fn rewrite(&self) -> ToolResult {
        let arguments: Value = json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]});
        let arguments = Ok(arguments.as_object().cloned().unwrap());
        let call = Call { id: "call".into(), name: "ast_edit".to_owned(), arguments, message_id: None };
        runtime().block_on(self.pipeline.run(&call, &CallContext::default())).result
    }

    fn apply(&self) -> Result<ToolResult, Unresolved> {
        let id = self.pipeline.pending.find(None).unwrap();
        let resolution = Resolution { action: ResolutionAction::Apply, reason: "test".to_owned(), extra: None };
        let context = CallContext::default();
        let resolved = runtime().block_on(self.pipeline.resolve_action(&id, &resolution, Who::User, &context));
        resolved.map(|resolved| resolved.result)
    }

    fn assert_all(&self, name: &str) {
        for number in 0..FILES {
            let found = self.directory.read(&format!("{number}.js"));
            assert!(found == source(number, name).as_bytes(), "{number}.js is not as it should be");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn it_is_staged_applied_undone_and_redone_as_any_other() {
    let desk = Desk::new();
    assert!(!desk.rewrite().is_error);
    desk.assert_all("old");
    desk.apply().unwrap();
    desk.assert_all("fresh");
    assert!(desk.pipeline.pending.list().unwrap().is_empty());
    let undone = undo::undo(&desk.workspace, &Selection::Last(1), Mode::Apply, &Clock::System).unwrap();
    assert!(undone.iter().all(|report| report.is_complete()));
    desk.assert_all("old");
    let redone = undo::redo(&desk.workspace, 1, Mode::Apply, &Clock::System).unwrap();
    assert!(redone.iter().all(|report| report.is_complete()));
    desk.assert_all("fresh");
    let names = std::fs::read_dir(desk.home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["vault", "workspaces"]);
}

#[test]
fn an_edit_that_follows_is_merged_on_undo() {
    let desk = Desk::new();
    desk.rewrite();
    desk.apply().unwrap();
    desk.directory.put("7.js", source(7, "fresh") + "mine();\n");
    let undone = undo::undo(&desk.workspace, &Selection::Last(1), Mode::Apply, &Clock::System).unwrap();
    assert_eq!(undone.len(), 1);
    assert_eq!(desk.directory.read("7.js"), (source(7, "old") + "mine();\n").as_bytes());
}

#[test]
fn a_file_that_changed_meanwhile_makes_all_of_it_stay() {
    let desk = Desk::new();
    desk.rewrite();
    desk.directory.put("39.js", "mine();\n");
    let error = desk.apply().unwrap_err().to_string();
    assert!(error.contains("39.js"), "{error}");
    desk.directory.put("39.js", source(39, "old"));
    desk.assert_all("old");
    assert_eq!(desk.pipeline.pending.list().unwrap().len(), 1);
    desk.apply().unwrap();
    desk.assert_all("fresh");
}
