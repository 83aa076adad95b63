//! A whole task, read → edit → command → answer, against each of the four APIs.

use crate::apis::Api;
use crate::scene::{KEY, Scene, finish};
use dryad_testkit::loopback::{Loopback, Reply};
use serde_json::json;

fn does_the_task(api: Api) {
    let server = Loopback::start([
        api.call("call_1", "read", &json!({"path": "greeting.txt"})),
        api.call("call_2", "edit", &json!({"path": "greeting.txt", "old_string": "Hallo", "new_string": "Hello"})),
        api.call("call_3", "bash", &json!({"command": "printf 'ran:%s' \"$(cat greeting.txt)\""})),
        api.text("The greeting is English now."),
    ])
    .unwrap();
    let scene = Scene::with_model(api.name(), &format!("{}/v1", server.url()));
    scene.write("greeting.txt", "Hallo, world\n");

    let printed = scene.ask(&["Make the greeting English."]).done();

    assert_eq!(printed, "The greeting is English now.\n");
    assert_eq!(scene.read("greeting.txt"), "Hello, world\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(server.connections(), 1, "one connection serves all turns");
    let (header, prefix) = api.key_header();
    for request in &requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", api.path()));
        assert_eq!(request.header(header), Some(format!("{prefix}{KEY}").as_str()));
    }
    let body = |index: usize| requests[index].json().unwrap().to_string();
    assert!(body(0).contains("Make the greeting English."), "{}", body(0));
    assert!(body(0).contains("You are dryad"), "{}", body(0));
    for name in ["read", "bash", "edit", "write", "grep", "find", "ls", "ast_grep", "ast_edit"] {
        assert!(body(0).contains(&format!("\"name\":\"{name}\"")), "{name} is offered: {}", body(0));
    }
    assert!(body(1).contains("Hallo, world"), "the read result goes back: {}", body(1));
    assert!(body(3).contains("ran:Hello, world"), "the command saw the edited file: {}", body(3));
}

#[test]
fn anthropic_messages() {
    does_the_task(Api::Anthropic);
}

#[test]
fn openai_chat_completions() {
    does_the_task(Api::Chat);
}

#[test]
fn openai_responses() {
    does_the_task(Api::Responses);
}

#[test]
fn google_gemini() {
    does_the_task(Api::Google);
}

#[test]
fn a_model_that_needs_no_key_is_asked_without_one() {
    let server = Loopback::start([Api::Chat.text("hi")]).unwrap();
    let scene = Scene::new();
    let provider = json!({"baseUrl": format!("{}/v1", server.url()), "api": "openai-completions", "auth": "none",
        "models": [{"id": "m"}]});
    scene.write_home("models.json", &json!({"providers": {"own": provider}}).to_string());
    assert_eq!(scene.run(&["-p", "hello"]).done(), "hi\n", "the only model there is, is asked");
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[test]
fn a_key_may_come_from_a_command_and_is_asked_for_once() {
    let replies = [Api::Chat.call("c1", "ls", &json!({})), Api::Chat.text("done")];
    let server = Loopback::start(replies).unwrap();
    let scene = Scene::new();
    let provider = json!({"baseUrl": format!("{}/v1", server.url()), "api": "openai-completions",
        "apiKey": "!echo noise >&2; echo x >> count; echo key-from-command", "models": [{"id": "m"}]});
    scene.write_home("models.json", &json!({"providers": {"own": provider}}).to_string());
    assert_eq!(scene.run(&["-p", "hello"]).done(), "done\n");
    assert_eq!(server.requests()[1].header("authorization"), Some("Bearer key-from-command"));
    assert_eq!(std::fs::read_to_string(scene.home().join("count")).unwrap(), "x\n");
}

#[test]
fn a_local_server_is_asked_for_its_models_when_one_of_them_is_named() {
    let tags = json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]});
    let server = Loopback::start([Reply::json(200, tags.to_string()), Api::Chat.text("from this machine")]).unwrap();
    let scene = Scene::new();
    let mut command = scene.command(&["-p", "--model", "ollama/qwen3:8b", "x"]);
    let outcome = finish(command.env("OLLAMA_HOST", server.url()).spawn().unwrap());
    assert_eq!(outcome.done(), "from this machine\n");
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api/tags", "/v1/chat/completions"]);
    assert_eq!(server.requests()[1].json().unwrap()["model"], "qwen3:8b");
}

#[test]
fn thinking_can_be_part_of_the_name() {
    let server = Loopback::start([Api::Responses.text("one"), Api::Responses.text("two")]).unwrap();
    let scene = Scene::new();
    let provider = json!({"baseUrl": server.url(), "api": "openai-responses", "apiKey": KEY,
        "models": [{"id": "m", "reasoning": true}]});
    scene.write_home("models.json", &json!({"providers": {"own": provider}}).to_string());
    assert_eq!(scene.run(&["-p", "--model", "own/m:high", "x"]).done(), "one\n");
    assert_eq!(scene.run(&["-p", "--model", "own/m:high", "--thinking", "low", "x"]).done(), "two\n");
    let effort = |index: usize| server.requests()[index].json().unwrap()["reasoning"]["effort"].clone();
    assert_eq!((effort(0), effort(1)), (json!("high"), json!("low")));
}

#[test]
fn the_tools_can_be_chosen() {
    let server = Loopback::start([Api::Chat.text("a"), Api::Chat.text("b"), Api::Chat.text("c")]).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    scene.ask(&["--tools", "read,ls", "x"]).done();
    scene.ask(&["--no-tools", "x"]).done();
    scene.write_home("settings.json", r#"{"tools": {"enabled": ["grep"]}}"#);
    scene.ask(&["x"]).done();
    let offered = |index: usize| -> Vec<String> {
        let body = server.requests()[index].json().unwrap();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(offered(0), ["read", "ls"]);
    assert_eq!(offered(1), Vec::<String>::new());
    assert_eq!(offered(2), ["grep"]);
}

#[test]
fn the_system_prompt_is_made_of_files_and_flags() {
    let server = Loopback::start([Api::Chat.text("a"), Api::Chat.text("b"), Api::Chat.text("c")]).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    scene.write("AGENTS.md", "Always use tabs.");
    scene.write("prompt.md", "You are a parrot.");
    scene.ask(&["x"]).done();
    scene.ask(&["--system-prompt", "prompt.md", "--append-system-prompt", "Speak up.", "x"]).done();
    scene.ask(&["--no-context-files", "x"]).done();
    let system = |index: usize| server.requests()[index].json().unwrap()["messages"][0]["content"].to_string();
    assert!(system(0).contains("You are dryad") && system(0).contains("Always use tabs."), "{}", system(0));
    assert!(system(1).contains("You are a parrot.") && system(1).contains("Speak up."), "{}", system(1));
    assert!(!system(1).contains("You are dryad"), "{}", system(1));
    assert!(!system(2).contains("Always use tabs."), "{}", system(2));
}

#[test]
fn a_long_result_is_kept_aside_from_the_size_that_the_settings_name() {
    let calls = [
        Api::Chat.call("c1", "grep", &json!({"pattern": "needle"})),
        Api::Chat.call("c2", "read", &json!({"path": "artifact://0"})),
    ];
    let server = Loopback::start(calls.into_iter().chain([Api::Chat.text("done")])).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    scene.write_home("settings.json", r#"{"tools": {"resultSpillBytes": 300}}"#);
    let lines: String = (0..60).map(|number| format!("needle {number:03}\n")).collect();
    scene.write("hay.txt", &lines);
    scene.ask(&["x"]).done();
    let result = |index: usize| {
        let body = server.requests()[index].json().unwrap();
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(result(1).ends_with("Full output: artifact://0") && !result(1).contains("needle 030"), "{}", result(1));
    assert!(result(2).contains("needle 030") && result(2).contains("needle 059"), "{}", result(2));
}

/// It is part of every request, and of every answer about the state.
#[test]
fn what_the_model_is_told_of_the_tools_is_short() {
    let server = Loopback::start([Api::Chat.text("done")]).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    scene.ask(&["x"]).done();
    let tools = server.requests()[0].json().unwrap()["tools"].to_string();
    assert!(tools.len() < 12_500, "{} bytes: {tools}", tools.len());
}
