//! `tool_search` over a real view, and large results that `read` brings back.

use crate::support::{Directory, text};
use dryad_protocol::call::ToolResult;
use dryad_protocol::id::CallId;
use dryad_safety::artifact::Artifacts;
use dryad_safety::deferred::Deferred;
use dryad_safety::registry::Registry;
use dryad_safety::spec::{PermissionClass, SafetyLevel, ToolSpec};
use dryad_safety::spill::{ResultProcessor, Spill};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use dryad_tools::read::{ReadSettings, ReadTool};
use dryad_tools::tool_search::ToolSearchTool;
use dryad_tools::{ToolSettings, builtin};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Another program's tool, described as it likes.
struct Foreign(ToolSpec);

impl Tool for Foreign {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan(&self, _: Map<String, Value>, _: &PlanContext) -> Result<dryad_safety::plan::Plan, ToolError> {
        Err(ToolError::new("never called here"))
    }
}

fn foreign(name: &str, description: &str) -> Arc<dyn Tool> {
    let mut spec = builtin(&ToolSettings::default())[0].spec().clone();
    spec.name = name.to_owned();
    spec.description = description.to_owned();
    spec.metadata.search_hint = String::new();
    Arc::new(Foreign(spec))
}

/// The built-in tools, the search and ten others of another program.
fn view() -> (Arc<Deferred>, Arc<dyn Tool>) {
    let deferred = Arc::new(Deferred::new(Arc::new(Registry::default()), 0));
    let search: Arc<dyn Tool> = Arc::new(ToolSearchTool::new(&deferred));
    let long = format!("Sends\n  mail. {}", "Really. ".repeat(100));
    let mut tools = builtin(&ToolSettings::default());
    tools.extend([search.clone(), foreign("mail_send", &long), foreign("mail_list", "Lists mail.")]);
    tools.extend((0..8).map(|number| foreign(&format!("other{number}"), "Something else.")));
    for tool in tools {
        deferred.registry().register(tool).unwrap();
    }
    (deferred, search)
}

#[test]
fn what_is_found_is_listed_and_active() {
    let (deferred, search) = view();
    assert_eq!(deferred.active().len(), 8, "the built-in ones and the search");
    let directory = Directory::new();
    let result = directory.answer(search.as_ref(), json!({"query": " mail list "}));
    let shortened: String = format!("Sends mail. {}", "Really. ".repeat(100)).chars().take(400).collect();
    let expected = format!("Loaded, and ready to be called:\n- mail_list: Lists mail.\n- mail_send: {shortened}…");
    assert_eq!(text(&result), expected);
    assert_eq!(result.details, Some(json!({"query": "mail list", "activated": ["mail_list", "mail_send"]})));
    assert!(!deferred.is_deferred("mail_list") && !deferred.is_deferred("mail_send"));
    assert!(deferred.is_deferred("other3"));
    let again = directory.answer(search.as_ref(), json!({"query": "mail"}));
    let expected = "No further tool matches \"mail\". Try other words, or use the tools you have.";
    assert_eq!((text(&again), again.is_error), (expected, false));
    assert_eq!(deferred.active().len(), 10);
}

#[test]
fn a_query_is_needed() {
    let (deferred, search) = view();
    let directory = Directory::new();
    assert_eq!(directory.error(search.as_ref(), json!({"query": "  "})), "Query must not be empty");
    assert_eq!(directory.error(search.as_ref(), json!({})), "invalid arguments: missing field `query`");
    assert_eq!(deferred.active().len(), 8);
}

#[test]
fn the_search_is_a_reader_that_runs_beside_others() {
    let (_deferred, search) = view();
    let spec = search.spec();
    assert_eq!(spec.name, "tool_search");
    assert!(spec.metadata.read_only && spec.metadata.concurrency_safe && !spec.metadata.destructive);
    assert_eq!(spec.metadata.permission_class, PermissionClass::Readonly);
    assert_eq!(dryad_safety::audit_name::operation(spec), "invoke");
    assert_eq!(spec.capability.affected_resources, ["tools"]);
    assert_eq!(spec.capability.safety_level(), SafetyLevel::Unprotected);
}

#[test]
fn a_registry_that_holds_its_own_search_can_go() {
    let (deferred, search) = view();
    let registry = Arc::downgrade(deferred.registry());
    drop(deferred);
    assert!(registry.upgrade().is_none());
    let error = Directory::new().error(search.as_ref(), json!({"query": "mail"}));
    assert_eq!(error, "The tools cannot be searched any more");
}

#[test]
fn a_spilled_result_is_read_back_whole() {
    let directory = Directory::new();
    let artifacts = Artifacts::new(directory.path().join("kept"));
    let all: String = (0..9000).map(|line| format!("line {line} of a large result, ünïcode and all\n")).collect();
    let call = CallId::from("call");
    let processed = Spill::new(artifacts.clone()).process(&call, "fetch", ToolResult::text(all.clone()));
    let shown = text(&processed.result);
    let (_, address) = shown.rsplit_once("Full output: ").unwrap();
    let read = ReadTool::new(ReadSettings { artifacts: Some(artifacts), ..ReadSettings::default() });
    let mut back = String::new();
    for offset in (1..=9000).step_by(1500) {
        let result = directory.answer(&read, json!({"path": address, "offset": offset, "limit": 1500}));
        let piece = text(&result);
        let piece = piece.split_once("\n\n[").map_or(piece, |(piece, _)| piece);
        back.push_str(piece.trim_end_matches('\n'));
        back.push('\n');
    }
    assert!(back == all, "{} of {} bytes", back.len(), all.len());
}
