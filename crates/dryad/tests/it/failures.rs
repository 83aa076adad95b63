//! Servers that misbehave and names that mean nothing: a clear message each, and never the key.

use crate::apis::Api;
use crate::scene::{KEY, Outcome, Scene};
use dryad_testkit::loopback::{Loopback, Reply};
use serde_json::json;

/// Asks a server that answers with `reply`, as text and as events, and returns both complaints.
fn complaints(api: Api, reply: &Reply) -> String {
    let server = Loopback::start([reply.clone(), reply.clone()]).unwrap();
    let scene = Scene::with_model(api.name(), &format!("{}/v1", server.url()));
    scene.write_home("settings.json", &json!({"retry": {"enabled": false}}).to_string());
    let complaint = scene.ask(&["x"]).failed(1);
    let events = scene.ask(&["--mode", "json", "x"]);
    assert_eq!(events.code, Some(1), "{events:?}");
    assert_eq!(events.events().last().unwrap()["type"], "agent_settled");
    shows_no_key(&events);
    assert!(!complaint.contains(KEY), "{complaint}");
    complaint
}

fn shows_no_key(outcome: &Outcome) {
    assert!(!outcome.stdout.contains(KEY) && !outcome.stderr.contains(KEY), "{outcome:?}");
}

#[test]
fn a_key_that_is_refused_is_not_repeated() {
    for api in Api::ALL {
        let body = json!({"type": "error", "error": {"type": "authentication_error", "code": 401,
            "status": "UNAUTHENTICATED", "message": format!("the key {KEY} is not valid")}});
        let complaint = complaints(api, &Reply::json(401, body.to_string()));
        assert!(complaint.starts_with("error: authentication failed for mock:"), "{api:?}: {complaint}");
        assert!(complaint.contains("hint: Check the key of mock"), "{api:?}: {complaint}");
    }
}

#[test]
fn a_web_page_instead_of_a_stream_is_told() {
    for api in Api::ALL {
        let complaint = complaints(api, &Reply::html(200, "<html><body>Please log in</body></html>"));
        assert!(complaint.starts_with("error: "), "{api:?}: {complaint}");
        assert!(complaint.contains("answered with a web page"), "{api:?}: {complaint}");
    }
}

#[test]
fn a_stream_that_stops_is_told() {
    for api in Api::ALL {
        let complaint = complaints(api, &api.half("only half of this answer arrives"));
        assert!(complaint.starts_with("error: stream broken:"), "{api:?}: {complaint}");
    }
}

#[test]
fn garbage_in_a_stream_is_told() {
    for api in Api::ALL {
        let complaint = complaints(api, &Reply::sse("event: message_start\ndata: {\"type\": oops\n\n"));
        assert!(complaint.starts_with("error: stream broken:"), "{api:?}: {complaint}");
    }
}

#[test]
fn a_busy_server_is_told() {
    let complaint = complaints(Api::Chat, &Reply::json(429, r#"{"error": {"message": "slow down"}}"#));
    assert!(complaint.starts_with("error: rate limited (429): "), "{complaint}");
    assert!(complaint.contains("slow down") && complaint.contains("hint: Wait"), "{complaint}");
}

#[test]
fn a_character_split_between_chunks_arrives_whole() {
    for api in Api::ALL {
        let server = Loopback::start([api.text("grüße 🌳 für alle").split_every(1)]).unwrap();
        let scene = Scene::with_model(api.name(), &format!("{}/v1", server.url()));
        assert_eq!(scene.ask(&["x"]).done(), "grüße 🌳 für alle\n", "{api:?}");
    }
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    // A port that was free a moment ago, and that nobody is told of.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let scene = Scene::with_model("openai-completions", &format!("http://127.0.0.1:{port}/v1"));
    let complaint = scene.ask(&["x"]).failed(1);
    assert!(complaint.starts_with("error: network error: "), "{complaint}");
    assert!(complaint.contains(&format!("127.0.0.1:{port}")) && complaint.contains("hint: Check"), "{complaint}");
}

#[test]
fn without_a_key_or_a_server_one_screen_tells_what_to_do() {
    let scene = Scene::new();
    let mut command = scene.command(&["-p", "x"]);
    // The usual ports may be in use on the machine that runs this: the proxy makes them unreachable.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
    let complaint = crate::scene::finish(command.spawn().unwrap());
    if complaint.code == Some(1) && complaint.stderr.contains("no model can be asked") {
        for word in ["ANTHROPIC_API_KEY", "auth.json", "Ollama", "models.json", "dryad demo"] {
            assert!(complaint.stderr.contains(word), "{word}: {complaint:?}");
        }
        assert!(complaint.stderr.lines().count() < 24, "{complaint:?}");
    } else {
        panic!("{complaint:?}");
    }
}

#[test]
fn names_that_mean_nothing_are_told_with_what_comes_near() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    let complaint = scene.run(&["-p", "--provider", "mock", "--model", "mock-2", "x"]).failed(2);
    assert!(complaint.contains("unknown model `mock-2`") && complaint.contains("mock/mock-1"), "{complaint}");
    let complaint = scene.run(&["-p", "--provider", "mok", "--model", "m", "x"]).failed(2);
    assert!(complaint.contains("unknown provider `mok`") && complaint.contains("mock"), "{complaint}");
    let complaint = scene.ask(&["--tools", "read,fly", "x"]).failed(2);
    assert!(complaint.contains("--tools: unknown tool `fly`") && complaint.contains("bash"), "{complaint}");
    let complaint = scene.ask(&["--thinking", "hard", "x"]).failed(2);
    assert!(complaint.contains("unknown thinking level `hard`"), "{complaint}");
}

#[test]
fn directories_that_are_not_there_are_told() {
    let scene = Scene::with_script(&json!([{"text": "x"}]));
    assert_eq!(scene.play(&["--cwd", "none", "x"]).failed(2), "error: --cwd: no such directory: none\n");
    assert_eq!(scene.play(&["--cwd", "story.json", "x"]).failed(2), "error: --cwd: not a directory: story.json\n");
    assert_eq!(scene.play(&["--root", "none", "x"]).failed(2), "error: --root: no such directory: none\n");
}

#[test]
fn a_bad_script_names_line_and_key() {
    let scene = Scene::new();
    scene.write("story.json", "{\"steps\": [\n  {\"text\": \"a\"},\n  {\"txt\": \"b\"}\n]}");
    let complaint = scene.play(&["x"]).failed(2);
    assert!(complaint.contains("story.json:3:") && complaint.contains("steps[1].txt"), "{complaint}");
    let complaint = scene.run(&["-p", "--model", "scripted/none.json", "x"]).failed(2);
    assert!(complaint.contains("cannot read the script none.json"), "{complaint}");
}

#[test]
fn secrets_of_the_environment_do_not_reach_the_model() {
    let server = Loopback::start([
        Api::Chat.call("c1", "bash", &json!({"command": "echo $DEPLOY_TOKEN; cat ~/.dryad/models.json"})),
        Api::Chat.text("ok"),
    ])
    .unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    let mut command = scene.command(&["-p", "--mode", "json", "--provider", "mock", "--model", "mock-1", "x"]);
    let outcome = crate::scene::finish(command.env("DEPLOY_TOKEN", "token-of-the-day").spawn().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    shows_no_key(&outcome);
    assert!(!outcome.stdout.contains("token-of-the-day"), "{outcome:?}");
    let sent = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(sent.contains("[secret]") && !sent.contains(KEY) && !sent.contains("token-of-the-day"), "{sent}");
}

#[test]
fn the_log_shows_no_key() {
    let server = Loopback::start([Api::Anthropic.text("ok")]).unwrap();
    let scene = Scene::with_model("anthropic-messages", &server.url());
    let outcome = scene.ask(&["-vvv", "x"]);
    assert_eq!(outcome.stdout, "ok\n", "{outcome:?}");
    assert!(outcome.stderr.contains("model chosen"), "{outcome:?}");
    shows_no_key(&outcome);
}

#[test]
fn a_file_outside_the_granted_roots_is_not_written() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = outside.path().join("a.txt").display().to_string();
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "write", "arguments": {"path": target, "content": "x"}}]},
        {"whenLastResult": {"isError": true, "contains": "outside the granted roots"}, "text": "refused"},
        {"text": "written"},
    ]));
    assert_eq!(scene.play(&["x"]).done(), "refused\n");
    assert!(!std::path::Path::new(&target).exists());
    let root = outside.path().display().to_string();
    assert_eq!(scene.play(&["--root", &root, "x"]).done(), "written\n");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "x");
}

#[test]
fn a_server_that_is_busy_for_a_moment_is_asked_again() {
    let busy = Reply::json(503, json!({"error": {"message": "too busy"}}).to_string());
    let server = Loopback::start([busy.clone(), busy, Api::Chat.text("here I am")]).unwrap();
    let scene = Scene::with_model(Api::Chat.name(), &format!("{}/v1", server.url()));
    scene.write_home("settings.json", &json!({"retry": {"baseDelayMs": 1}}).to_string());
    assert_eq!(scene.ask(&["x"]).done(), "here I am\n");
    assert_eq!(server.requests().len(), 3);
}
