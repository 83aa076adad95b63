//! Pending actions: staged, listed, resolved once, stale, lost, and after a restart.

use crate::support::{call, pipeline, text, tool, write_tool};
use dryad_protocol::action::{PendingAction, Resolution, ResolutionAction, Resolver};
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::event::SafetyEvent;
use dryad_protocol::id::ActionId;
use dryad_safety::choice_queue::Choice;
use dryad_safety::clock::Clock;
use dryad_safety::observer::Observer;
use dryad_safety::pending::{Callback, ForceResolve, Pending, REMINDER, RequestEnd, ResolveError, ResolveHandler};
use dryad_safety::pending::{HandlerFuture, push_pending_action};
use dryad_safety::pipeline::{AutoPreview, CallContext, Pipeline, Staging, ToolCallResult, Who};
use dryad_safety::plan::{Effect, Plan};
use dryad_safety::spec::{Capability, Metadata};
use dryad_safety::tool::{Tool, ToolError};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// `resolve` as the model calls it.
fn resolve_tool() -> Arc<dyn Tool> {
    tool("resolve", Metadata::default(), |arguments, _| {
        let resolution: Resolution = serde_json::from_value(Value::Object(arguments)).unwrap();
        Ok(Plan::Act(Effect::Resolve(resolution)))
    })
}

/// A workspace in which every write is staged.
struct Stage {
    root: tempfile::TempDir,
    pipeline: Pipeline,
    log: crate::support::Log,
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (mut pipeline, log) = pipeline(root.path(), vec![previewing(write_tool()), resolve_tool()]);
        pipeline.staging = Staging { auto_preview: AutoPreview::All, ..Staging::default() };
        Self { root, pipeline, log }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    async fn run(&self, call: &Call) -> ToolCallResult {
        self.pipeline.run(call, &CallContext::default()).await
    }

    async fn write(&self, name: &str, text: &str) -> ToolCallResult {
        self.run(&call("w", "write", json!({"path": name, "text": text}))).await
    }

    async fn resolve(&self, action: &str) -> ToolResult {
        self.run(&call("r", "resolve", json!({"action": action, "reason": "looks right"}))).await.result
    }

    fn staged(&self) -> Vec<PendingAction> {
        self.pipeline.pending.list().unwrap()
    }
}

/// The same tool, saying that it can be previewed.
fn previewing(tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
    struct Previewing(Arc<dyn Tool>, dryad_safety::spec::ToolSpec);
    impl Tool for Previewing {
        fn spec(&self) -> &dryad_safety::spec::ToolSpec {
            &self.1
        }

        fn plan(
            &self,
            arguments: serde_json::Map<String, Value>,
            context: &dryad_safety::tool::PlanContext,
        ) -> Result<Plan, ToolError> {
            self.0.plan(arguments, context)
        }
    }
    let mut spec = tool.spec().clone();
    spec.capability = Capability::planned_files();
    Arc::new(Previewing(tool, spec))
}

#[test]
fn the_reminder_is_exactly_the_founding_one() {
    let expected = "<system-reminder>\nThis is a preview. Call the `resolve` tool to apply or discard these \
                    changes.\n</system-reminder>";
    assert_eq!(REMINDER, expected);
}

#[tokio::test]
async fn a_staged_write_happens_when_it_is_applied_and_is_then_an_operation_of_its_tool() {
    let stage = Stage::new();
    let shown = stage.write("f", "hello\n").await.result;
    assert!(!shown.is_error && text(&shown).contains("this will touch f") && text(&shown).contains("+1 hello"));
    assert!(!stage.path("f").exists() && stage.log.operations().is_empty());
    assert!(stage.pipeline.pending.take_reminder());
    assert_eq!(stage.pipeline.pending.next_choice(), Some(Choice::Tool("resolve".to_owned())));
    let applied = stage.resolve("apply").await;
    assert_eq!(text(&applied), "written");
    let details = applied.details.unwrap();
    assert_eq!((details["action"].as_str(), details["label"].as_str()), (Some("apply"), Some("write: f")));
    assert_eq!((details["sourceToolName"].as_str(), details.get("extra")), (Some("write"), None));
    assert_eq!(details.get("sourceResultDetails"), None, "the tool had no details");
    assert_eq!(fs::read_to_string(stage.path("f")).unwrap(), "hello\n");
    let operations = stage.log.operations();
    assert_eq!((operations.len(), operations[0].head.tool_name.as_str()), (1, "write"));
    assert!(stage.staged().is_empty());
    assert!(!stage.pipeline.pending.after_request(RequestEnd::Answered));
    assert_eq!(stage.pipeline.pending.next_choice(), None);
}

#[tokio::test]
async fn discarding_leaves_every_byte_as_it_was() {
    let stage = Stage::new();
    fs::write(stage.path("f"), "mine").unwrap();
    stage.write("f", "other").await;
    assert_eq!(text(&stage.resolve("discard").await), "Discarded: write: f. Reason: looks right");
    assert_eq!(fs::read_to_string(stage.path("f")).unwrap(), "mine");
    assert!(stage.staged().is_empty() && stage.log.operations().is_empty());
    let nothing = stage.resolve("discard").await;
    assert_eq!(text(&nothing), "No pending action to resolve. Nothing to apply or discard.");
    assert!(nothing.is_error);
}

#[tokio::test]
async fn what_a_person_discards_is_in_the_audit_once() {
    let stage = Stage::new();
    stage.write("f", "other").await;
    let id = stage.staged().pop().unwrap().id;
    let resolution = Resolution { action: ResolutionAction::Discard, reason: "no".to_owned(), extra: None };
    stage.pipeline.resolve_action(&id, &resolution, Who::User, &CallContext::default()).await.unwrap();
    let calls = stage.pipeline.workspace.calls().unwrap();
    let heads: Vec<_> = calls.newest_first().map(|entry| entry.unwrap().head).collect();
    let told = |head: &dryad_protocol::operation::OperationHead| {
        (head.tool_name.clone(), head.label.clone(), head.permission.clone())
    };
    assert_eq!(told(&heads[0]), ("resolve".to_owned(), "discarded write: f".to_owned(), "user".to_owned()));
    assert_eq!((heads.len(), heads[1].tool_name.as_str()), (2, "write"));
}

#[tokio::test]
async fn two_previews_are_resolved_the_newest_first() {
    let stage = Stage::new();
    stage.write("first", "1").await;
    stage.write("second", "2").await;
    assert!(stage.pipeline.pending.take_reminder() && !stage.pipeline.pending.take_reminder(), "one for both");
    stage.resolve("apply").await;
    assert_eq!((stage.path("first").exists(), stage.path("second").exists()), (false, true));
    assert!(stage.pipeline.pending.take_reminder(), "the top has changed");
    stage.resolve("apply").await;
    assert!(stage.path("first").exists());
}

#[tokio::test]
async fn a_stale_preview_changes_nothing_names_the_path_and_stays() {
    let stage = Stage::new();
    fs::write(stage.path("f"), "one").unwrap();
    stage.write("f", "two").await;
    fs::write(stage.path("f"), "the user's").unwrap();
    stage.pipeline.pending.take_reminder();
    stage.pipeline.pending.next_choice();
    let failed = stage.resolve("apply").await;
    assert!(failed.is_error && text(&failed).contains("/f"), "{}", text(&failed));
    assert_eq!(fs::read_to_string(stage.path("f")).unwrap(), "the user's");
    assert_eq!(stage.staged().len(), 1);
    assert!(stage.pipeline.pending.take_reminder(), "the model is told again");
    stage.pipeline.pending.after_request(RequestEnd::Answered);
    assert_eq!(stage.pipeline.pending.next_choice(), Some(Choice::Tool("resolve".to_owned())), "and made to again");
    stage.resolve("discard").await;
    assert!(stage.staged().is_empty());
}

#[tokio::test]
async fn a_model_that_refuses_is_asked_again_and_an_abort_keeps_the_preview() {
    let stage = Stage::new();
    stage.write("f", "1").await;
    let pending = &stage.pipeline.pending;
    for end in [RequestEnd::Answered, RequestEnd::Aborted, RequestEnd::Failed] {
        assert!(pending.next_choice().is_some(), "forced");
        assert!(!pending.after_request(end), "no loop of its own");
    }
    let cancelled = CallContext { cancel: CancellationToken::new(), ..CallContext::default() };
    cancelled.cancel.cancel();
    let resolve = call("r", "resolve", json!({"action": "apply", "reason": ""}));
    assert!(stage.pipeline.run(&resolve, &cancelled).await.result.is_error);
    assert_eq!(stage.staged().len(), 1);
    assert!(!stage.path("f").exists());
}

#[tokio::test]
async fn soft_forcing_reminds_first_and_forces_after_one_refusal() {
    let mut stage = Stage::new();
    let workspace = stage.pipeline.workspace.clone();
    let pending = Pending::new(workspace, None, Clock::System).with_force(ForceResolve::Soft);
    stage.pipeline.pending = Arc::new(pending);
    stage.write("f", "1").await;
    let pending = &stage.pipeline.pending;
    assert!(pending.take_reminder());
    assert_eq!(pending.next_choice(), None, "reminded only");
    assert!(pending.after_request(RequestEnd::Answered), "it did not resolve: one more turn");
    assert_eq!(pending.next_choice(), Some(Choice::Tool("resolve".to_owned())));
    assert!(!pending.after_request(RequestEnd::Answered), "but not for ever");
}

#[tokio::test]
async fn what_is_staged_survives_its_process() {
    let stage = Stage::new();
    stage.write("f", "hello").await;
    let id = stage.staged()[0].id.clone();
    // Another process: nothing but the records is left.
    let again = Pending::new(stage.pipeline.workspace.clone(), Some("s".into()), Clock::System);
    let mut elsewhere =
        Pipeline::new(stage.pipeline.registry.clone(), stage.pipeline.workspace.clone(), stage.root.path());
    elsewhere.pending = Arc::new(again);
    assert_eq!(elsewhere.pending.find(id.as_str().get(..30)).unwrap(), id);
    let resolution = Resolution { action: ResolutionAction::Apply, reason: "by hand".to_owned(), extra: None };
    elsewhere.resolve_action(&id, &resolution, Who::User, &CallContext::default()).await.unwrap();
    assert_eq!(fs::read_to_string(stage.path("f")).unwrap(), "hello");
    assert_eq!(stage.log.operations()[0].head.permission, "user");
    // The first process finds out by itself, and the model is not held to what is gone.
    assert_eq!(stage.pipeline.pending.next_choice(), None);
    assert!(!stage.pipeline.pending.has_pending());
    assert!(text(&stage.resolve("apply").await).starts_with("No pending action"));
}

#[tokio::test]
async fn a_resumed_conversation_has_its_previews_back() {
    let mut stage = Stage::new();
    let workspace = stage.pipeline.workspace.clone();
    stage.pipeline.session_id = Some("mine".into());
    stage.write("f", "1").await;
    for (session, count) in [("mine", 1), ("another", 0)] {
        let resumed = Pending::new(workspace.clone(), Some(session.into()), Clock::System);
        assert_eq!(resumed.adopt().unwrap(), count);
        assert_eq!((resumed.has_pending(), resumed.take_reminder()), (count == 1, count == 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_resolvers_exactly_one_wins() {
    let stage = Arc::new(Stage::new());
    for round in 0..20 {
        let name = format!("f{round}");
        stage.write(&name, "x").await;
        let id = stage.staged()[0].id.clone();
        let resolver = |stage: Arc<Stage>, id: ActionId, action| async move {
            let resolution = Resolution { action, reason: String::new(), extra: None };
            stage.pipeline.resolve_action(&id, &resolution, Who::User, &CallContext::default()).await.is_ok()
        };
        let one = tokio::spawn(resolver(stage.clone(), id.clone(), ResolutionAction::Apply));
        let two = tokio::spawn(resolver(stage.clone(), id, ResolutionAction::Discard));
        let (applied, discarded) = (one.await.unwrap(), two.await.unwrap());
        assert!(applied ^ discarded, "round {round}: {applied} {discarded}");
        assert_eq!(stage.path(&name).exists(), applied);
    }
}

#[tokio::test]
async fn a_question_for_the_user_is_kept_and_the_model_is_not_held_to_it() {
    let mut stage = Stage::new();
    stage.pipeline.staging = Staging { auto_preview: AutoPreview::Off, keeps_questions: true, ..Staging::default() };
    stage.pipeline.gates.push(Box::new(crate::pipeline::Asks));
    let refused = stage.write("f", "1").await.result;
    assert!(refused.is_error && text(&refused).contains("looks odd"), "{}", text(&refused));
    let staged = stage.staged();
    assert_eq!((staged.len(), staged[0].resolver, staged[0].reason.as_deref()), (1, Resolver::User, Some("looks odd")));
    assert!(!stage.pipeline.pending.has_pending() && stage.pipeline.pending.next_choice().is_none());
    assert!(stage.resolve("apply").await.is_error && !stage.path("f").exists(), "the model cannot approve itself");
    let resolution = Resolution { action: ResolutionAction::Apply, reason: "fine".to_owned(), extra: None };
    stage.pipeline.resolve_action(&staged[0].id, &resolution, Who::User, &CallContext::default()).await.unwrap();
    assert!(stage.path("f").exists());
}

#[tokio::test]
async fn applying_is_judged_again_and_denials_still_count() {
    let mut stage = Stage::new();
    stage.write("f", "1").await;
    let elsewhere = tempfile::tempdir().unwrap();
    stage.pipeline.gates.push(Box::new(dryad_safety::gate::GrantedRoots::new([elsewhere.path().to_owned()])));
    let denied = stage.resolve("apply").await;
    assert!(denied.is_error && text(&denied).contains("outside the granted roots"));
    assert!(!stage.path("f").exists());
    assert_eq!(stage.staged().len(), 1);
}

fn said(said: &'static str) -> HandlerFuture {
    Box::pin(async move { Ok(ToolResult::text(said)) })
}

#[tokio::test]
async fn tools_bring_their_own_apply_and_reject() {
    let stage = Stage::new();
    let pending = &stage.pipeline.pending;
    let applied = Arc::new(Mutex::new(Vec::new()));
    let noted = applied.clone();
    let callback = Callback::new("rename 3 symbols", "renamer", move |resolution| {
        noted.lock().unwrap().push(resolution.reason);
        Box::pin(async { Ok(ToolResult::text("renamed").with_details(json!({"symbols": 3}))) })
    });
    pending.queue_resolve_handler(callback).unwrap();
    let result = stage.resolve("apply").await;
    assert_eq!(
        (text(&result).as_str(), applied.lock().unwrap().as_slice()),
        ("renamed", ["looks right".to_owned()].as_slice())
    );
    let details = result.details.unwrap();
    assert_eq!(
        (&details["sourceResultDetails"]["symbols"], &details["label"]),
        (&json!(3), &json!("rename 3 symbols"))
    );
    let own = Callback::new("x", "custom", |_| said("x"))
        .with_reject(|_| Box::pin(async { Ok(Some(ToolResult::text("cleaned up"))) }));
    pending.queue_resolve_handler(own).unwrap();
    assert_eq!(text(&stage.resolve("discard").await), "cleaned up");
    let silent = Callback::new("y", "custom", |_| said("y")).with_reject(|_| Box::pin(async { Ok(None) }));
    pending.queue_resolve_handler(silent).unwrap();
    assert_eq!(text(&stage.resolve("discard").await), "Discarded: y. Reason: looks right");
}

#[tokio::test]
async fn a_failed_or_panicking_apply_stays_pending_and_can_be_discarded() {
    let stage = Stage::new();
    type Failing = fn() -> HandlerFuture;
    let failures: [(&str, Failing); 3] = [
        ("no such symbol", || Box::pin(async { Err(ResolveError::Tool(ToolError::new("no such symbol"))) })),
        ("Apply failed: disk on fire", || Box::pin(async { Err(ResolveError::Other("disk on fire".to_owned())) })),
        ("Apply failed: out of luck", || Box::pin(async { panic!("out of luck") })),
    ];
    for (expected, failure) in failures {
        stage.pipeline.pending.queue_resolve_handler(Callback::new("it", "custom", move |_| failure())).unwrap();
        stage.pipeline.pending.take_reminder();
        let failed = stage.resolve("apply").await;
        assert_eq!((text(&failed).as_str(), failed.is_error), (expected, true));
        assert_eq!(stage.staged().len(), 1);
        assert!(stage.pipeline.pending.take_reminder());
        stage.resolve("discard").await;
        assert!(stage.staged().is_empty());
    }
}

#[tokio::test]
async fn a_reject_that_fails_is_told_as_it_is_and_the_plan_is_gone() {
    let stage = Stage::new();
    let fails =
        |_| -> dryad_safety::pending::RejectFuture { Box::pin(async { Err(ToolError::new("cannot clean up")) }) };
    stage.pipeline.pending.queue_resolve_handler(Callback::new("z", "c", |_| said("z")).with_reject(fails)).unwrap();
    assert_eq!(text(&stage.resolve("discard").await), "cannot clean up");
    assert!(stage.staged().is_empty());
}

#[tokio::test]
async fn custom_tools_without_a_store_are_told_so() {
    let stage = Stage::new();
    let error = push_pending_action(None, Callback::new("l", "", |_| said("l"))).unwrap_err();
    assert_eq!(error.to_string(), "Pending action store unavailable for custom tools in this runtime.");
    push_pending_action(Some(&stage.pipeline.pending), Callback::new("l", "", |_| said("l"))).unwrap();
    assert_eq!(stage.staged()[0].source_tool_name, "custom_tool");
}

struct Standing;

impl ResolveHandler for Standing {
    fn resolve(&self, resolution: Resolution) -> HandlerFuture {
        Box::pin(async move { Ok(ToolResult::text(format!("plan {:?}", resolution.extra.map(|extra| extra.len())))) })
    }
}

#[tokio::test]
async fn a_standing_handler_answers_only_when_nothing_is_staged() {
    let stage = Stage::new();
    stage.pipeline.pending.set_standing_handler(Some(Arc::new(Standing)));
    assert_eq!(stage.pipeline.pending.next_choice(), None, "it never forces");
    let resolve = json!({"action": "apply", "reason": "r", "extra": {"title": "t"}});
    let result = stage.run(&call("r", "resolve", resolve)).await.result;
    assert_eq!((text(&result).as_str(), &result.details.unwrap()["extra"]["title"]), ("plan Some(1)", &json!("t")));
    stage.write("f", "1").await;
    assert_eq!(text(&stage.resolve("apply").await), "written");
    stage.pipeline.pending.set_standing_handler(None);
    assert!(stage.resolve("apply").await.is_error);
}

#[tokio::test]
async fn a_callback_of_a_dead_process_is_dropped_and_one_of_a_living_one_is_left_alone() {
    let stage = Stage::new();
    stage.pipeline.pending.queue_resolve_handler(Callback::new("theirs", "custom", |_| said("done"))).unwrap();
    let staged = stage.staged().remove(0);
    let elsewhere = Pipeline::new(stage.pipeline.registry.clone(), stage.pipeline.workspace.clone(), stage.root.path());
    let resolution = Resolution { action: ResolutionAction::Apply, reason: String::new(), extra: None };
    let context = CallContext::default();
    let refused = elsewhere.resolve_action(&staged.id, &resolution, Who::User, &context).await.unwrap_err();
    assert!(refused.to_string().contains("can only be applied by process"), "{refused}");
    assert_eq!(stage.staged().len(), 1);
    // A process that is gone: no kernel gives out this number.
    let dead = PendingAction {
        id: "dead".into(),
        body: dryad_protocol::action::ActionBody::Callback { process: u32::MAX },
        ..staged
    };
    elsewhere.pending.stage(&dead, None).unwrap();
    let dropped = elsewhere.resolve_action(&dead.id, &resolution, Who::User, &context).await.unwrap_err();
    assert!(dropped.to_string().contains("is gone"), "{dropped}");
    assert_eq!(elsewhere.pending.list().unwrap().len(), 1, "the record is gone, too");
}

#[tokio::test]
async fn leaving_a_conversation_rejects_what_lives_here_and_demands_nothing() {
    let stage = Stage::new();
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let noted = reasons.clone();
    let callback = Callback::new("c", "custom", |_| said("c")).with_reject(move |resolution| {
        noted.lock().unwrap().push(resolution.reason);
        Box::pin(async { Ok(None) })
    });
    stage.pipeline.pending.queue_resolve_handler(callback).unwrap();
    stage.write("f", "1").await;
    stage.pipeline.pending.leave().await;
    assert_eq!(*reasons.lock().unwrap(), ["Session changed"]);
    assert_eq!((stage.pipeline.pending.next_choice(), stage.pipeline.pending.take_reminder()), (None, false));
    assert_eq!(stage.staged().len(), 1, "what lies on disk can still be resolved by its id");
}

#[tokio::test]
async fn watchers_are_told_what_is_staged_and_what_becomes_of_it() {
    let mut stage = Stage::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = heard.clone();
    let observer = Observer::new(move |event: &SafetyEvent<'_>| {
        let event = serde_json::to_value(event).unwrap();
        noted.lock().unwrap().push(event["type"].as_str().unwrap().to_owned());
    });
    let pending = Pending::new(stage.pipeline.workspace.clone(), None, Clock::System).with_observer(observer.clone());
    stage.pipeline.pending = Arc::new(pending);
    stage.pipeline.observer = observer;
    stage.write("f", "1").await;
    stage.resolve("apply").await;
    let expected = ["pending_action_added", "operation_recorded", "pending_action_resolved"];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_lost_or_damaged_record_never_holds_the_model() {
    let stage = Stage::new();
    stage.write("f", "1").await;
    let id = stage.staged()[0].id.clone();
    let directory = find(stage.log.home(), id.as_str());
    fs::write(directory.join("record"), "{ torn").unwrap();
    let failed = stage.resolve("apply").await;
    assert!(failed.is_error && text(&failed).contains("was dropped"), "{}", text(&failed));
    assert!(!directory.exists());
    stage.write("g", "1").await;
    fs::remove_dir_all(find(stage.log.home(), stage.staged()[0].id.as_str())).unwrap();
    assert_eq!((stage.pipeline.pending.next_choice(), stage.pipeline.pending.has_pending()), (None, false));
}

/// The directory of this name below `root`.
fn find(root: &Path, name: &str) -> std::path::PathBuf {
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
            if entry.file_name() == name {
                return entry.path();
            }
            open.push(entry.path());
        }
    }
    panic!("no {name}")
}
