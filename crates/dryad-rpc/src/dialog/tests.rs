//! Questions, with the test in the host's place.

use super::*;
use crate::outbox::Task;
use dryad_safety::gate::permission::{PermissionAnswer, PermissionHandler, PermissionRequest};
use dryad_safety::mask::Mask;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

struct Stage {
    outbox: Outbox,
    dialogs: Dialogs,
}

impl Stage {
    fn new() -> Self {
        let outbox = Outbox::new(Mask::default());
        Self { dialogs: Dialogs::new(outbox.clone(), false), outbox }
    }

    fn sent(&self) -> Vec<Value> {
        let mut sent = Vec::new();
        while let Task::Write(bytes) = self.outbox.next(Instant::now()) {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            sent.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        }
        sent
    }

    /// Waits for the next request.
    async fn request(&self) -> Value {
        loop {
            if let Some(request) = self.sent().into_iter().next() {
                return request;
            }
            tokio::task::yield_now().await;
        }
    }

    fn respond(&self, id: &Value, fields: Value) {
        let mut response: UiResponse = serde_json::from_value(fields).unwrap();
        response.id = id.as_str().unwrap().to_owned();
        self.dialogs.answer(response);
    }
}

const FOR_EVER: Option<Duration> = None;

#[tokio::test]
async fn each_kind_of_question_is_answered_by_its_field() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    let limits = Limits { cancel: &cancel, timeout: FOR_EVER };
    let options = ["red".to_owned(), "green".to_owned()];
    let (value, ()) = tokio::join!(stage.dialogs.select("Pick one", &options, limits), async {
        let request = stage.request().await;
        let expected = json!({
            "type": "extension_ui_request", "id": request["id"], "method": "select",
            "title": "Pick one", "options": ["red", "green"],
        });
        assert_eq!(request, expected);
        stage.respond(&json!("nobody"), json!({"value": "red"}));
        stage.respond(&request["id"], json!({"value": "green"}));
    });
    assert_eq!(value.as_deref(), Some("green"));
    let (sure, ()) = tokio::join!(stage.dialogs.confirm("Sure", "Really?", limits), async {
        let request = stage.request().await;
        stage.respond(&request["id"], json!({"confirmed": true}));
    });
    assert!(sure);
    let (name, ()) = tokio::join!(stage.dialogs.input("Name", Some("x"), limits), async {
        let request = stage.request().await;
        stage.respond(&request["id"], json!({"cancelled": true}));
    });
    assert_eq!(name, None);
    let (body, ()) = tokio::join!(stage.dialogs.editor("Edit", Some("a\nb"), limits), async {
        let request = stage.request().await;
        assert_eq!(request["prefill"], "a\nb");
        stage.respond(&request["id"], json!({"value": "edited"}));
    });
    assert_eq!(body.as_deref(), Some("edited"));
}

#[tokio::test]
async fn when_the_time_is_up_it_is_a_no_and_a_late_answer_is_ignored() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    let limits = Limits { cancel: &cancel, timeout: Some(Duration::from_millis(40)) };
    assert!(!stage.dialogs.confirm("Times out", "No answer comes", limits).await);
    let sent = stage.sent();
    assert_eq!(sent.len(), 1, "nothing is withdrawn: {sent:?}");
    assert_eq!(sent[0]["timeout"], 40);
    stage.respond(&sent[0]["id"], json!({"confirmed": true}));
}

#[tokio::test]
async fn a_question_is_withdrawn_when_it_is_cancelled_or_dropped() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    let limits = Limits { cancel: &cancel, timeout: FOR_EVER };
    let (sure, asked) = tokio::join!(stage.dialogs.confirm("A", "B", limits), async {
        let request = stage.request().await;
        cancel.cancel();
        request
    });
    assert!(!sure);
    let withdrawn = stage.request().await;
    assert_eq!(withdrawn["method"], "cancel");
    assert_eq!(withdrawn["targetId"], asked["id"]);
    let cancel = CancellationToken::new();
    let limits = Limits { cancel: &cancel, timeout: FOR_EVER };
    tokio::select! {
        biased;
        _ = stage.dialogs.confirm("A", "B", limits) => panic!("nobody answered"),
        () = std::future::ready(()) => {}
    }
    let methods: Vec<Value> = stage.sent().iter().map(|frame| frame["method"].clone()).collect();
    assert_eq!(methods, ["confirm", "cancel"]);
}

#[tokio::test]
async fn a_host_that_is_gone_answers_nothing() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    let limits = Limits { cancel: &cancel, timeout: FOR_EVER };
    let (sure, ()) = tokio::join!(stage.dialogs.confirm("A", "B", limits), async {
        stage.request().await;
        stage.dialogs.close();
    });
    assert!(!sure);
    assert!(!stage.dialogs.confirm("A", "B", limits).await);
    assert!(stage.sent().is_empty());
}

#[tokio::test]
async fn titles_are_told_only_on_request() {
    let stage = Stage::new();
    stage.dialogs.tell(&UiRequest::SetTitle { title: "x" });
    assert!(stage.sent().is_empty());
    let outbox = Outbox::new(Mask::default());
    let stage = Stage { dialogs: Dialogs::new(outbox.clone(), true), outbox };
    stage.dialogs.tell(&UiRequest::SetTitle { title: "x" });
    assert_eq!(stage.sent()[0]["method"], "setTitle");
}

#[tokio::test]
async fn permission_is_asked_for_by_a_confirmation() {
    let stage = Stage::new();
    let arguments: Map<String, Value> = json!({"command": "rm -rf build"}).as_object().unwrap().clone();
    let request = PermissionRequest {
        call_id: "c".to_owned(),
        tool_name: "bash".to_owned(),
        arguments,
        reason: "it deletes".to_owned(),
        dangerous: true,
    };
    for (response, expected) in [
        (json!({"confirmed": true}), PermissionAnswer::Once),
        (json!({"confirmed": false}), PermissionAnswer::Deny(String::new())),
        (json!({"cancelled": true}), PermissionAnswer::Deny("nobody answered".to_owned())),
    ] {
        let (answer, ()) = tokio::join!(PermissionHandler::ask(&stage.dialogs, request.clone()), async {
            let asked = stage.request().await;
            assert_eq!(asked["timeout"], 120_000);
            assert!(asked["message"].as_str().unwrap().contains("rm -rf build"), "{asked}");
            stage.respond(&asked["id"], response);
        });
        assert_eq!(answer, expected);
    }
}

/// What the founding implementation's demonstration of dialogs says and hears, frame by frame. Extensions are
/// none here, so the test stands in the demonstration's place; all else is as recorded, the ids aside.
#[tokio::test]
async fn the_recorded_demonstration_of_an_extension_goes_the_same_way() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    let patient = Limits { cancel: &cancel, timeout: FOR_EVER };
    let hasty = Limits { cancel: &cancel, timeout: Some(Duration::from_millis(400)) };
    let demonstration = async {
        let options = ["red".to_owned(), "green".to_owned()];
        let picked = stage.dialogs.select("Pick one", &options, patient).await;
        let sure = stage.dialogs.confirm("Confirm", "Continue?", patient).await;
        let name = stage.dialogs.input("Branch name", Some("feature/..."), patient).await;
        let body = stage.dialogs.editor("Edit text", Some("line 1\nline 2"), patient).await;
        let late = stage.dialogs.confirm("Times out", "No answer comes", hasty).await;
        let gone = stage.dialogs.input("Dismissed", Some("cancel me"), patient).await;
        json!({"picked": picked, "sure": sure, "name": name, "body": body, "late": late, "gone": gone})
    };
    let heard = [
        (
            json!({"method": "select", "title": "Pick one", "options": ["red", "green"]}),
            Some(json!({"value": "green"})),
        ),
        (json!({"method": "confirm", "title": "Confirm", "message": "Continue?"}), Some(json!({"confirmed": true}))),
        (
            json!({"method": "input", "title": "Branch name", "placeholder": "feature/..."}),
            Some(json!({"value": "feature/rpc"})),
        ),
        (
            json!({"method": "editor", "title": "Edit text", "prefill": "line 1\nline 2"}),
            Some(json!({"value": "edited"})),
        ),
        (json!({"method": "confirm", "title": "Times out", "message": "No answer comes", "timeout": 400}), None),
        (
            json!({"method": "input", "title": "Dismissed", "placeholder": "cancel me"}),
            Some(json!({"cancelled": true})),
        ),
    ];
    let host = async {
        for (expected, answer) in heard {
            let request = stage.request().await;
            let mut whole = json!({"type": "extension_ui_request", "id": request["id"]});
            whole.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
            assert_eq!(request, whole);
            // Where no answer comes, the next request does after a while.
            if let Some(mut answer) = answer {
                answer["id"] = request["id"].clone();
                stage.respond(&request["id"], answer);
            }
        }
    };
    let (told, ()) = tokio::join!(demonstration, host);
    let expected = json!({
        "picked": "green", "sure": true, "name": "feature/rpc", "body": "edited", "late": false, "gone": null,
    });
    assert_eq!(told, expected);
    let lines = ["one".to_owned(), "two".to_owned()];
    for request in [
        UiRequest::Notify { message: "done", notify_type: Some(NotifyType::Info) },
        UiRequest::SetStatus { status_key: "demo", status_text: Some("busy") },
        UiRequest::SetStatus { status_key: "demo", status_text: None },
        UiRequest::SetWidget { widget_key: "demo", widget_lines: Some(&lines), widget_placement: None },
        UiRequest::SetWidget { widget_key: "demo", widget_lines: None, widget_placement: None },
        UiRequest::SetEditorText { text: "typed for you" },
    ] {
        stage.dialogs.tell(&request);
    }
    let error = crate::event::WireEvent::ExtensionError {
        extension_path: "command:uifail".to_owned(),
        event: "command".to_owned(),
        error: "demo failure".to_owned(),
    };
    stage.outbox.send(&error);
    let mut told = stage.sent();
    for frame in &mut told {
        frame.as_object_mut().unwrap().shift_remove("id");
    }
    let ui = |fields: Value| {
        let mut frame = json!({"type": "extension_ui_request"});
        frame.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        frame
    };
    let expected = [
        ui(json!({"method": "notify", "message": "done", "notifyType": "info"})),
        ui(json!({"method": "setStatus", "statusKey": "demo", "statusText": "busy"})),
        ui(json!({"method": "setStatus", "statusKey": "demo"})),
        ui(json!({"method": "setWidget", "widgetKey": "demo", "widgetLines": ["one", "two"]})),
        ui(json!({"method": "setWidget", "widgetKey": "demo"})),
        ui(json!({"method": "set_editor_text", "text": "typed for you"})),
        json!({
            "type": "extension_error", "extensionPath": "command:uifail", "event": "command", "error": "demo failure",
        }),
    ];
    assert_eq!(told, expected);
}
