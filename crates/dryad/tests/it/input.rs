//! What a prompt is made of.

use crate::apis::Api;
use crate::scene::{Outcome, Scene};
use dryad_testkit::loopback::Loopback;
use serde_json::{Value, json};

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xfc\xcf\xc0P\x0f\0\x04\x85\x01\x80\x84\xa9\x8c!\0\0\0\0IEND\xaeB`\x82";

/// Runs with a server behind it and returns the user's message as the request carried it.
fn sent(prepare: impl FnOnce(&Scene), run: impl FnOnce(&Scene) -> Outcome) -> Value {
    let server = Loopback::start([Api::Chat.text("ok")]).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    prepare(&scene);
    assert_eq!(run(&scene).done(), "ok\n");
    let body = server.requests()[0].json().unwrap();
    body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

const ASK: [&str; 5] = ["-p", "--provider", "mock", "--model", "mock-1"];

#[test]
fn the_prompt_may_be_piped_in() {
    let content = sent(|_| {}, |scene| scene.run_with_input(&ASK, "from the pipe, grün\n".as_bytes()));
    assert_eq!(content, "from the pipe, grün");
}

#[test]
fn the_pipe_comes_before_the_words() {
    let run = |scene: &Scene| scene.run_with_input(&[&ASK[..], &["what", "is this?"]].concat(), b"fn main() {}\n");
    assert_eq!(sent(|_| {}, run), "fn main() {}\n\nwhat is this?");
}

#[test]
fn a_pipe_makes_the_print_flag_unnecessary() {
    assert_eq!(sent(|_| {}, |scene| scene.run_with_input(&ASK[1..], b"hello")), "hello");
}

#[test]
fn a_text_file_is_put_into_the_prompt() {
    let mut place = String::new();
    let prepare = |scene: &Scene| {
        scene.write("notes/a.txt", "one\ntwo");
        place = scene.work().join("notes/a.txt").display().to_string();
    };
    let content = sent(prepare, |scene| scene.ask(&["@notes/a.txt", "explain"]));
    assert_eq!(content, format!("<file name=\"{place}\">\none\ntwo\n</file>\nexplain"));
}

#[test]
fn a_picture_is_sent_as_one() {
    let content = sent(|scene| scene.write("a.png", PIXEL), |scene| scene.ask(&["@a.png", "what is it?"]));
    let parts = content.as_array().unwrap();
    assert!(parts[0]["text"].as_str().unwrap().ends_with("a.png\"></file>\nwhat is it?"), "{content}");
    assert!(parts[1]["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,iVBORw0K"), "{content}");
}

#[test]
fn what_cannot_be_attached_is_refused_before_anybody_is_asked() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    scene.write("a.bin", b"\0\x01");
    scene.write("bad.png", b"\x89PNG\r\n\x1a\nnot a picture");
    scene.write("huge.txt", vec![b'a'; 10_000]);
    std::fs::File::options().write(true).open(scene.work().join("huge.txt")).unwrap().set_len(2 << 30).unwrap();
    let refuse = |name: &str| scene.ask(&[name, "x"]).failed(2);
    assert!(refuse("@none.txt").starts_with("error: no such file: none.txt\n"));
    assert!(refuse("@.").starts_with("error: . is a directory\n"));
    assert!(refuse("@a.bin").starts_with("error: a.bin is neither text nor a picture"));
    assert!(refuse("@bad.png").starts_with("error: cannot use the picture bad.png"), "{}", refuse("@bad.png"));
    assert!(refuse("@huge.txt").starts_with("error: huge.txt is too large to attach: 2147483648 bytes"));
}

#[test]
fn a_blocked_picture_and_a_blind_model_say_so() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    scene.write("a.png", PIXEL);
    scene.write_home("settings.json", r#"{"images": {"blockImages": true}}"#);
    assert!(scene.ask(&["@a.png", "x"]).failed(2).contains("pictures are blocked"));
    let provider = json!({"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "auth": "none",
        "models": [{"id": "blind", "input": ["text"]}]});
    let scene = Scene::new();
    scene.write("a.png", PIXEL);
    scene.write_home("models.json", &json!({"providers": {"own": provider}}).to_string());
    assert!(scene.run(&["-p", "@a.png", "x"]).failed(2).contains("own/blind does not read pictures"));
}

#[test]
fn no_prompt_at_all_says_how_to_give_one() {
    let scene = Scene::new();
    for arguments in [&["-p"][..], &[], &["--mode", "json"]] {
        let complaint = scene.run(arguments).failed(2);
        assert!(complaint.contains("there is no prompt") && complaint.contains("dryad -p \""), "{complaint}");
    }
}

#[test]
fn input_that_is_no_text_is_refused() {
    let complaint = Scene::new().run_with_input(&["-p"], b"\xff\xfe").failed(2);
    assert!(complaint.contains("standard input is not UTF-8 text"), "{complaint}");
}

#[test]
fn a_name_that_is_not_utf8_can_be_attached() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let name = OsStr::from_bytes(b"odd-\xff.txt");
    let run = |scene: &Scene| {
        std::fs::write(scene.work().join(name), "odd").unwrap();
        let mut command = scene.command(&ASK);
        crate::scene::finish(command.arg(OsStr::from_bytes(b"@odd-\xff.txt")).arg("x").spawn().unwrap())
    };
    let content = sent(|_| {}, run);
    assert!(content.as_str().unwrap().ends_with("\nodd\n</file>\nx"), "{content}");
}
