//! Tools that act on their own, and the gates before them.

use crate::support::{call, pipeline, text};
use dryad_protocol::action::Preview;
use dryad_protocol::call::ToolResult;
use dryad_protocol::operation::{CallEnd, OperationEffect, UndoRecord};
use dryad_safety::foreign::{Foreign, ForeignResult, ForeignTool, SimpleTool};
use dryad_safety::gate::checkpoint::{Checkpoint, CheckpointAnswer, CheckpointHandler, CheckpointRequest};
use dryad_safety::gate::reverse_thinking::{Challenge, ChallengeVerdict, Challenger, Deliverable, ReverseThinking};
use dryad_safety::observer::Observer;
use dryad_safety::orchestrator::{BatchContext, BatchObserver, execute_batch};
use dryad_safety::pipeline::{AutoPreview, CallContext, Pipeline, Staging, ToolCallResult};
use dryad_safety::spec::{Capability, Metadata, Stricter, ToolSpec};
use dryad_safety::tightened::Tightened;
use dryad_safety::tool::{PlanContext, Tool, ToolError, model_description};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Keeps letters, and can say how a sent one is called back.
pub(crate) struct Mail {
    spec: ToolSpec,
    pub(crate) sent: Arc<Mutex<Vec<String>>>,
}

impl Mail {
    pub(crate) fn new(change: impl FnOnce(&mut ToolSpec)) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"to": {"type": "string"}, "copies": {"type": "array", "items": {"type": "integer"}}},
            "required": ["to"],
            "additionalProperties": false,
        });
        let mut spec = ToolSpec::new("send_mail", "Sends a letter.", &schema).unwrap();
        change(&mut spec);
        Self { spec, sent: Arc::default() }
    }
}

impl ForeignTool for Mail {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a PlanContext,
    ) -> BoxFuture<'a, Result<ForeignResult, ToolError>> {
        Box::pin(async move {
            let to = arguments["to"].as_str().unwrap_or_default().to_owned();
            match to.as_str() {
                "nobody" => {
                    return Ok(ForeignResult {
                        result: ToolResult::error("no such person"),
                        ..ForeignResult::default()
                    });
                }
                "panic" => panic!("out of stamps"),
                "never" => std::future::pending().await,
                "where" => {
                    let result = ToolResult::text(context.workdir.display().to_string());
                    return Ok(ForeignResult { result, ..ForeignResult::default() });
                }
                _ => {}
            }
            self.sent.lock().unwrap().push(to.clone());
            let data: dryad_safety::foreign::Data = self.sent.clone();
            Ok(ForeignResult { result: ToolResult::text(format!("sent to {to}")), data: Some(data), undo: None })
        })
    }

    fn dry_run<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        _: &'a PlanContext,
    ) -> Option<BoxFuture<'a, Result<Preview, ToolError>>> {
        let to = arguments["to"].as_str().unwrap_or_default().to_owned();
        let preview =
            Preview { would_affect: format!("the mailbox of {to}"), text: "Dear …".to_owned(), ..Preview::default() };
        Some(Box::pin(async move { Ok(preview) }))
    }

    fn generate_undo<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        _: &'a ToolResult,
    ) -> Option<BoxFuture<'a, Result<UndoRecord, ToolError>>> {
        let undo = UndoRecord {
            tool_name: "recall_mail".to_owned(),
            input: arguments.clone(),
            description: "call the letter back".to_owned(),
            ..UndoRecord::default()
        };
        Some(Box::pin(async move { Ok(undo) }))
    }
}

fn foreign(mail: Mail) -> Arc<dyn Tool> {
    Arc::new(Foreign::new(mail))
}

async fn send(pipeline: &Pipeline, arguments: Value) -> ToolCallResult {
    pipeline.run(&call("m", "send_mail", arguments), &CallContext::default()).await
}

#[tokio::test]
async fn a_tool_of_a_name_a_description_a_schema_and_a_function_works() {
    let root = tempfile::tempdir().unwrap();
    let spec = ToolSpec::new("greet", "Greets.", &json!({"type": "object"})).unwrap();
    let greet =
        SimpleTool::new(
            spec,
            |arguments, _| async move { Ok(ToolResult::text(format!("hello {}", arguments["who"]))) },
        );
    let (pipeline, log) = pipeline(root.path(), vec![Arc::new(Foreign::new(greet))]);
    let result = pipeline.run(&call("1", "greet", json!({"who": "you"})), &CallContext::default()).await;
    assert_eq!((text(&result.result).as_str(), result.undo_info.is_none()), ("hello \"you\"", true));
    let operation = log.operations().remove(0);
    assert!(matches!(operation.effect, OperationEffect::Foreign { undo: None, .. }));
    assert_eq!(operation.head.audit.unwrap().operation, "invoke");
}

#[tokio::test]
async fn arguments_are_checked_against_the_schema_and_errors_name_the_place() {
    let root = tempfile::tempdir().unwrap();
    let mail = Mail::new(|_| {});
    let sent = mail.sent.clone();
    let (pipeline, _) = pipeline(root.path(), vec![foreign(mail)]);
    let wrong = send(&pipeline, json!({"to": "me", "copies": [1, "two"]})).await.result;
    assert!(wrong.is_error && text(&wrong).contains("/copies/1: "), "{}", text(&wrong));
    let missing = send(&pipeline, json!({})).await.result;
    assert!(text(&missing).contains("\"to\" is a required property"), "{}", text(&missing));
    assert!(sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn data_goes_by_reference_and_undo_is_asked_for_only_after_success() {
    let root = tempfile::tempdir().unwrap();
    let mail = Mail::new(|spec| spec.capability.reversible = true);
    let sent = mail.sent.clone();
    let (pipeline, log) = pipeline(root.path(), vec![foreign(mail)]);
    let result = send(&pipeline, json!({"to": "you"})).await;
    let data = result.data.unwrap().downcast::<Mutex<Vec<String>>>().unwrap();
    assert!(Arc::ptr_eq(&data, &sent), "the very same value");
    assert_eq!(result.undo_info.unwrap().tool_name, "recall_mail");
    let failed = send(&pipeline, json!({"to": "nobody"})).await;
    assert!(failed.result.is_error && failed.undo_info.is_none());
    let outcomes: Vec<_> = log.operations().iter().map(|one| one.head.audit.as_ref().unwrap().outcome).collect();
    assert_eq!(outcomes, [CallEnd::Success, CallEnd::Error]);
}

#[tokio::test]
async fn a_panic_and_a_call_that_is_no_longer_wanted_are_results() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _) = pipeline(root.path(), vec![foreign(Mail::new(|_| {}))]);
    assert_eq!(text(&send(&pipeline, json!({"to": "panic"})).await.result), "send_mail crashed: out of stamps");
    let context = CallContext { cancel: CancellationToken::new(), ..CallContext::default() };
    let stop = context.cancel.clone();
    let never = call("n", "send_mail", json!({"to": "never"}));
    let (ended, ()) = tokio::join!(pipeline.run(&never, &context), async move { stop.cancel() });
    assert_eq!(text(&ended.result), "Operation aborted");
}

#[tokio::test]
async fn the_directory_of_a_call_may_be_another_and_an_empty_one_changes_nothing() {
    struct Silent;
    impl BatchObserver for Silent {
        fn started(&self, _: &dryad_protocol::call::Call) {}
        fn updated(&self, _: &dryad_protocol::call::Call, _: &ToolResult) {}
        fn finished(&self, _: &dryad_protocol::call::Call, _: &ToolCallResult) {}
        fn interrupted(&self) -> bool {
            false
        }
    }
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _) = pipeline(root.path(), vec![foreign(Mail::new(|_| {}))]);
    let where_am_i = [call("w", "send_mail", json!({"to": "where"}))];
    for (set, expected) in [("", root.path()), ("/elsewhere", Path::new("/elsewhere"))] {
        let context = BatchContext { workdir: set.into(), ..BatchContext::default() };
        let results = execute_batch(&pipeline, &where_am_i, &context, &Silent).await;
        assert_eq!(text(&results[0].result), expected.display().to_string());
    }
}

#[tokio::test]
async fn confidence_is_demanded_stripped_and_ignored_where_it_is_not_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _) = pipeline(root.path(), vec![foreign(Mail::new(|spec| spec.capability.min_confidence = 80))]);
    let missing = send(&pipeline, json!({"to": "a"})).await.result;
    assert_eq!(
        (text(&missing).as_str(), missing.is_error),
        ("requires _flyto_confidence (0-100) in input, min=80", true)
    );
    let low = send(&pipeline, json!({"to": "a", "_flyto_confidence": 79})).await.result;
    assert_eq!(text(&low), "confidence 79 below required 80");
    let enough = send(&pipeline, json!({"to": "a", "_flyto_confidence": 80})).await.result;
    assert_eq!(text(&enough), "sent to a", "the strict schema never sees the key");
    let (ungated, _) = crate::support::pipeline(root.path(), vec![foreign(Mail::new(|_| {}))]);
    assert_eq!(text(&send(&ungated, json!({"to": "a", "_flyto_confidence": 1})).await.result), "sent to a");
}

#[test]
fn the_model_reads_what_a_tool_demands() {
    let tool = foreign(Mail::new(|spec| spec.capability.min_confidence = 70));
    let expected = "Sends a letter.\n[Safety] requires _flyto_confidence in input, min=70";
    assert_eq!(model_description(tool.as_ref(), Path::new("/"), false), expected);
    let settings = Stricter { min_confidence: 60, requires_checkpoint: true, ..Stricter::default() };
    let stricter = Tightened::new(tool, &settings);
    assert_eq!(stricter.spec().capability.min_confidence, 70, "the stricter one counts");
    assert!(stricter.spec().metadata.requires_checkpoint);
}

struct Answers(CheckpointAnswer, AtomicUsize);

impl CheckpointHandler for Answers {
    fn release(&self, request: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer> {
        self.1.fetch_add(1, Ordering::Relaxed);
        assert_eq!(request.preview.map(|preview| preview.text).as_deref(), Some("Dear …"));
        let again = request.arguments.get("to") == Some(&json!("edited"));
        let answer = if again { CheckpointAnswer::Allow } else { self.0.clone() };
        Box::pin(std::future::ready(answer))
    }
}

fn with_checkpoint(
    root: &Path,
    handler: Option<Arc<dyn CheckpointHandler>>,
) -> (Pipeline, crate::support::Log, Arc<Mutex<Vec<String>>>) {
    let mail = Mail::new(|spec| spec.metadata.requires_checkpoint = true);
    let sent = mail.sent.clone();
    let (mut pipeline, log) = pipeline(root, vec![foreign(mail)]);
    let gate = Checkpoint::new(handler, Observer::default()).with_patience(Duration::from_millis(50));
    pipeline.gates.push(Box::new(gate));
    (pipeline, log, sent)
}

#[tokio::test]
async fn a_checkpoint_without_a_handler_denies() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, log, sent) = with_checkpoint(root.path(), None);
    let expected = "Checkpoint required for tool \"send_mail\" but no checkpoint handler is registered.";
    assert_eq!(text(&send(&pipeline, json!({"to": "a"})).await.result), expected);
    assert!(sent.lock().unwrap().is_empty() && log.operations().is_empty());
    let calls: Vec<_> = pipeline.workspace.calls().unwrap().newest_first().map(Result::unwrap).collect();
    assert_eq!(calls[0].head.audit.as_ref().unwrap().outcome, CallEnd::Denied);
}

#[tokio::test]
async fn a_handler_denies_allows_edits_or_never_answers() {
    struct Never;
    impl CheckpointHandler for Never {
        fn release(&self, _: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer> {
            Box::pin(std::future::pending())
        }
    }
    let root = tempfile::tempdir().unwrap();
    let edited = json!({"to": "edited"}).as_object().cloned().unwrap();
    let invalid = json!({"to": 5}).as_object().cloned().unwrap();
    for (answer, expected, count) in [
        (CheckpointAnswer::Allow, "sent to a", 1),
        (CheckpointAnswer::Deny("not today".to_owned()), "Checkpoint denied for tool \"send_mail\": not today", 1),
        (CheckpointAnswer::AllowWith(edited), "sent to edited", 2),
        (CheckpointAnswer::AllowWith(invalid), "invalid arguments: /to: 5 is not of type \"string\"", 1),
    ] {
        let handler = Arc::new(Answers(answer, AtomicUsize::new(0)));
        let (pipeline, ..) = with_checkpoint(root.path(), Some(handler.clone()));
        assert_eq!(text(&send(&pipeline, json!({"to": "a"})).await.result), expected);
        assert_eq!(handler.1.load(Ordering::Relaxed), count, "asked again about what was edited");
    }
    let (pipeline, _, sent) = with_checkpoint(root.path(), Some(Arc::new(Never)));
    let late = text(&send(&pipeline, json!({"to": "a"})).await.result);
    assert_eq!(late, "Checkpoint denied for tool \"send_mail\": no answer within 0 seconds");
    assert!(sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_question_that_is_given_up_is_told_as_a_no() {
    struct GivesUp(CancellationToken);
    impl CheckpointHandler for GivesUp {
        fn release(&self, _: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer> {
            self.0.cancel();
            Box::pin(std::future::pending())
        }
    }
    let root = tempfile::tempdir().unwrap();
    let (mut pipeline, _, sent) = with_checkpoint(root.path(), None);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let observer = Observer::new({
        let told = told.clone();
        move |event| told.lock().unwrap().push(serde_json::to_string(event).unwrap())
    });
    let context = CallContext::default();
    let handler = Arc::new(GivesUp(context.cancel.clone()));
    pipeline.gates.pop();
    pipeline.gates.push(Box::new(Checkpoint::new(Some(handler), observer)));
    let ended = pipeline.run(&call("m", "send_mail", json!({"to": "a"})), &context).await;
    assert_eq!(text(&ended.result), "Operation aborted");
    let expected = [
        r#"{"type":"checkpoint_request","toolCallId":"m","toolName":"send_mail"}"#,
        r#"{"type":"checkpoint_resolved","toolCallId":"m","toolName":"send_mail","allowed":false}"#,
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    assert!(sent.lock().unwrap().is_empty());
}

struct Thinks(Result<ChallengeVerdict, &'static str>);

impl Challenger for Thinks {
    fn challenge(&self, challenge: Challenge) -> BoxFuture<'_, Result<Deliverable, String>> {
        assert_eq!(challenge.tool_name, "send_mail");
        let deliverable = |verdict| Deliverable {
            hidden_assumptions: vec!["they want mail".to_owned()],
            verdict,
            verdict_reason: "ask first".to_owned(),
            ..Deliverable::default()
        };
        Box::pin(std::future::ready(self.0.map(deliverable).map_err(str::to_owned)))
    }
}

#[tokio::test]
async fn a_challenge_that_wins_refuses_and_its_deliverable_is_recorded() {
    let root = tempfile::tempdir().unwrap();
    type Thinker = Option<Arc<dyn Challenger>>;
    let cases: [(Thinker, &str, bool); 5] = [
        (Some(Arc::new(Thinks(Ok(ChallengeVerdict::OtherWins)))), "ask first", true),
        (Some(Arc::new(Thinks(Ok(ChallengeVerdict::Holds)))), "sent to a", true),
        (Some(Arc::new(Thinks(Ok(ChallengeVerdict::Depends)))), "sent to a", true),
        (Some(Arc::new(Thinks(Err("no model")))), "sent to a", false),
        (None, "sent to a", false),
    ];
    for (challenger, expected, recorded) in cases {
        let mail = Mail::new(|spec| spec.metadata.requires_reverse_thinking = true);
        let (mut pipeline, _) = pipeline(root.path(), vec![foreign(mail)]);
        pipeline.gates.push(Box::new(ReverseThinking::new(challenger)));
        assert_eq!(text(&send(&pipeline, json!({"to": "a"})).await.result), expected);
        let workspace = &pipeline.workspace;
        let entries = workspace.log().unwrap().newest_first().chain(workspace.calls().unwrap().newest_first());
        let audit = entries.map(Result::unwrap).next().unwrap().head.audit.unwrap();
        let kept = audit.metadata.get("flyto.counterfactual.deliverable");
        assert_eq!(kept.map(|kept| kept["verdict_reason"].clone()), recorded.then(|| json!("ask first")));
    }
}

#[tokio::test]
async fn a_foreign_tool_that_previews_is_staged_and_acts_when_applied() {
    let root = tempfile::tempdir().unwrap();
    let mail = Mail::new(|spec| spec.capability = Capability { dry_run: true, ..Capability::default() });
    let sent = mail.sent.clone();
    let (mut pipeline, log) = pipeline(root.path(), vec![foreign(mail)]);
    pipeline.staging = Staging { auto_preview: AutoPreview::All, ..Staging::default() };
    let shown = send(&pipeline, json!({"to": "you"})).await.result;
    assert!(text(&shown).contains("this will touch the mailbox of you\n\nDear …"), "{}", text(&shown));
    assert!(sent.lock().unwrap().is_empty() && log.operations().is_empty());
    let action = pipeline.pending.list().unwrap().remove(0);
    assert_eq!(action.label, "send_mail: the mailbox of you");
    let resolution = dryad_protocol::action::Resolution {
        action: dryad_protocol::action::ResolutionAction::Apply,
        reason: String::new(),
        extra: None,
    };
    let who = dryad_safety::pipeline::Who::User;
    pipeline.resolve_action(&action.id, &resolution, who, &CallContext::default()).await.unwrap();
    assert_eq!(*sent.lock().unwrap(), ["you"]);
    assert_eq!(log.operations()[0].head.id, action.operation_id);
}

#[tokio::test]
async fn every_finished_call_is_in_the_audit_and_reads_are_not_among_the_operations() {
    let root = tempfile::tempdir().unwrap();
    let looks = Mail::new(|spec| {
        spec.name = "get_mail".to_owned();
        spec.metadata = Metadata::reader("mail");
        spec.metadata.audit_operation = String::new();
    });
    let (pipeline, log) = pipeline(root.path(), vec![foreign(looks)]);
    pipeline
        .run(&call("1", "get_mail", json!({"to": "x"})), &CallContext { turn: Some(3), ..CallContext::default() })
        .await;
    pipeline.run(&call("2", "get_mail", json!({})), &CallContext::default()).await;
    pipeline.run(&call("3", "drop_table", json!({})), &CallContext::default()).await;
    assert!(log.operations().is_empty());
    let calls = pipeline.workspace.calls().unwrap().newest_first().map(Result::unwrap);
    let rows: Vec<_> = calls.map(|one| (one.head.tool_name, *one.head.audit.unwrap())).collect();
    let outcomes: Vec<_> =
        rows.iter().map(|(tool, row)| (tool.as_str(), row.operation.as_str(), row.outcome)).collect();
    let expected = [
        ("drop_table", "delete", CallEnd::Error),
        ("get_mail", "read", CallEnd::Denied),
        ("get_mail", "read", CallEnd::Success),
    ];
    assert_eq!((outcomes.as_slice(), rows[2].1.turn), (expected.as_slice(), Some(3)));
}
