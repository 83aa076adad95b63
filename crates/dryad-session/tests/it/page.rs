//! The exported page in a real browser: it shows what was said, and what was said cannot do anything.
//!
//! Needs Chromium (Debian's package `chromium`); `CHROMIUM` names another program.

use crate::stage::*;
use dryad_protocol::entry::{BranchSummary, Compaction, EntryBody, TitleSource};
use dryad_session::export::{self, ActionNote, ActionState, Extras};
use dryad_session::session::Session;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything a page can show.
fn story(home: &Home) -> (Session, Extras) {
    let mut session = home.create();
    session.set_name("Make the parser faster", TitleSource::User, NOW).unwrap();
    let first = session
        .append(user("The parser is **slow** on large files.\n\n- find out why\n- fix it\n\nSee `src/parse.rs`."), NOW);
    session.append(
        answer(
            json!([
                {"type": "thinking", "thinking": "Profile first, *then* change."},
                {"type": "text", "text": "I will look at the profile first."},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "cargo bench --bench parse"}},
                {"type": "toolCall", "id": "c2", "name": "edit", "arguments": {"path": "src/parse.rs"}},
            ]),
            "toolUse",
        ),
        NOW,
    );
    let output: String = (0..400).map(|line| format!("line {line}: 12.3 ms\n")).collect();
    session.append(result("c1", "bash", &output), NOW);
    let diff = "@@ -1,3 +1,3 @@\n fn parse() {\n-    text.clone()\n+    text\n }";
    session.append(
        message(json!({"role": "toolResult", "toolCallId": "c2", "toolName": "edit", "isError": false, "timestamp": 3,
            "content": [{"type": "text", "text": "Edited src/parse.rs: 1 replacement"}], "details": {"diff": diff}})),
        NOW,
    );
    let code = "It **copied** the text for each token. Now:\n\n```rust\n/// Parses.\nfn parse(text: &str) -> Tree {\n    let n = 42; // no copy\n    Tree::of(text, \"x\", n)\n}\n```\n\n| input | before | after |\n|---|--:|--:|\n| 1 MB | 80 ms | 9 ms |\n| 10 MB | 900 ms | 93 ms |\n";
    let told = session.append(assistant(code), NOW);
    session.set_label(&told, Some("fast"), NOW).unwrap();
    let compacted = Compaction {
        summary: "## Goal\n\nA faster parser.".to_owned(),
        first_kept_entry_id: Some(told.clone()),
        tokens_before: 123_456,
        ..Compaction::default()
    };
    session.append(EntryBody::Compaction(compacted), NOW);
    session.append(user("Good. And the lexer?"), NOW);
    session.append(answer(json!([{"type": "text", "text": "half an ans"}]), "aborted"), NOW);
    let left = session.leaf().cloned().unwrap();
    session.move_leaf(Some(&told)).unwrap();
    let summary = BranchSummary { summary: "The lexer was looked at and left.".to_owned(), ..BranchSummary::default() };
    session.branch_with_summary(Some(&told), summary, NOW).unwrap();
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    session.append(message(json!({"role": "user", "timestamp": 1, "content": [{"type": "text", "text": "Here is a picture."}, {"type": "image", "data": pixel, "mimeType": "image/png"}]})), NOW);
    session.append(
        message(
            json!({"role": "bashExecution", "command": "git status", "output": "clean", "exitCode": 0, "timestamp": 1}),
        ),
        NOW,
    );
    session.append(answer(json!([{"type": "toolCall", "id": "c3", "name": "write", "arguments": {"path": "notes.md", "content": "# Notes\nfast"}}]), "toolUse"), NOW);
    session.append(result("c3", "write", "Wrote notes.md"), NOW);
    let calls = json!([
        {"type": "toolCall", "id": "c4", "name": "bash", "arguments": {"command": "rm -r target"}},
        {"type": "toolCall", "id": "c5", "name": "edit", "arguments": {"path": "src/lex.rs", "oldText": "a < b", "newText": "a <= b"}},
        {"type": "toolCall", "id": "c6", "name": "bash", "arguments": {"command": "make release"}},
    ]);
    session.append(answer(calls, "toolUse"), NOW);
    session.append(result("c4", "bash", "Would remove 3 files"), NOW);
    session.append(result("c5", "edit", "Would change src/lex.rs"), NOW);
    session.append(
        message(json!({"role": "toolResult", "toolCallId": "c6", "toolName": "bash", "isError": true, "timestamp": 3,
        "content": [{"type": "text", "text": "make: no rule"}]})),
        NOW,
    );
    session.append(assistant("Done."), NOW);
    session.set_label(&first, Some("start"), NOW).unwrap();
    session.set_label(&left, Some("lexer"), NOW).unwrap();
    let note = |call: &str, label: &str, state: ActionState| ActionNote {
        call_id: call.into(),
        prompt: None,
        at: NOW,
        label: label.to_owned(),
        state,
        diff: None,
    };
    let extras = Extras {
        system_prompt: Some("You are a careful colleague.".to_owned()),
        tools: vec![("read".to_owned(), "Reads a file.".to_owned())],
        actions: vec![
            note("c2", "edit src/parse.rs", ActionState::Applied),
            note("c3", "write notes.md", ActionState::Undone),
            note("c4", "rm -r target", ActionState::Discarded),
            note("c5", "edit src/lex.rs", ActionState::Pending),
            note("c6", "make release", ActionState::Failed),
        ],
    };
    (session, extras)
}

/// What must not happen when it is read.
fn hostile(home: &Home) -> Session {
    let mut session = home.create();
    let acts = [
        "</script><script>document.documentElement.dataset.pwned=1</script>",
        "<img src=x onerror=\"document.documentElement.dataset.pwned=1\">",
        "[link](javascript:document.documentElement.dataset.pwned=1)",
        "<svg/onload=document.documentElement.dataset.pwned=1>",
        "<!--<script>",
        "```html\n</code></pre><script>document.documentElement.dataset.pwned=1</script>\n```",
        "<a href=\"http://127.0.0.1:9/\" style=\"position:fixed\">x</a>",
        "\u{0}\u{2028}\u{202e}\u{feff}\u{10ffff}",
    ];
    for act in acts {
        session.set_name(act, TitleSource::Auto, NOW).ok();
        session.append(user(act), NOW);
        session.append(
            answer(
                json!([{"type": "thinking", "thinking": act}, {"type": "text", "text": act},
            {"type": "toolCall", "id": act, "name": act, "arguments": {"command": act, "path": act}}]),
                "toolUse",
            ),
            NOW,
        );
        session.append(result(act, act, act), NOW);
        session.append(message(json!({"role": "user", "timestamp": 1, "content": [{"type": "image", "data": format!("x\"{act}"), "mimeType": format!("image/png\" {act}")}]})), NOW);
        let label = session.leaf().cloned().unwrap();
        session.set_label(&label, Some(act), NOW).unwrap();
    }
    session.append(user("big"), NOW);
    session.append(assistant(&"<b>long</b> ".repeat(40_000)), NOW);
    session
}

fn chromium() -> Command {
    let program = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    let mut command = Command::new(program);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]);
    // Nothing has a name, so nothing can be fetched.
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=4000"]);
    command
}

struct Shown {
    dom: String,
    log: String,
}

fn show(home: &Home, page: &Path, more: &[&str]) -> Shown {
    let profile = home.root.path().join("profile");
    let output = chromium()
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium is needed: install Debian's package `chromium`, or name one by CHROMIUM");
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<_> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    Shown { dom: String::from_utf8_lossy(&output.stdout).into_owned(), log: console.join("\n") }
}

fn picture(home: &Home, page: &Path, name: &str, size: &str, scheme: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::remove_file(&file).ok();
    let profile = home.root.path().join("profile");
    let status = chromium()
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={size}"))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--screenshot={}", file.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(status.status.success());
    file
}

#[test]
fn the_page_shows_the_whole_branch() {
    let home = Home::new();
    let (session, extras) = story(&home);
    let page = export::to_file(&session, &home.root.path().join(export::default_name(&session)), &extras).unwrap();
    let shown = show(&home, &page, &[]);
    assert_eq!(shown.log, "");
    let nodes = session.tree().nodes().len();
    for part in [
        &format!("data-ready=\"{nodes}\"") as &str,
        "<h1 id=\"title\">Make the parser faster</h1>",
        "The parser is <strong>slow</strong> on large files.",
        "<span class=\"hk\">fn</span>",
        "<details class=\"think\"><summary>Thinking</summary>",
        "<span class=\"state applied\">applied</span>",
        "<span class=\"state undone\">undone</span>",
        "<span class=\"state discarded\">discarded</span>",
        "<span class=\"state pending\">pending</span>",
        "<span class=\"state failed\">failed</span>",
        "The lexer was looked at and left.",
        "data:image/png;base64,",
        "$ git status",
        "You are a careful colleague.",
        "<span class=\"label\">start</span>",
    ] {
        assert!(shown.dom.contains(part), "{part} is not in the page");
    }
    assert!(
        !shown.dom.contains("id=\"e-none\"") && !shown.dom.contains(">half an ans<"),
        "the other branch is not shown"
    );
}

#[test]
fn a_link_to_an_entry_opens_its_branch_and_its_output() {
    let home = Home::new();
    let (session, extras) = story(&home);
    let page = export::to_file(&session, &home.root.path().join("page.html"), &extras).unwrap();
    let nodes = session.tree().nodes();
    let edited = nodes.iter().filter(|node| node.kind.is_result()).nth(1).unwrap();
    let at = |id: &dryad_protocol::id::EntryId| PathBuf::from(format!("{}#e-{id}", page.display()));
    let shown = show(&home, &at(&edited.id), &[]);
    assert!(shown.dom.contains("<span class=\"da\">+    text</span>"), "the difference is shown");
    assert!(shown.dom.contains("line 0: 12.3 ms") && !shown.dom.contains("line 399:"), "a long output is shortened");
    let left = session.tree().labels().find(|(_, label)| *label == "lexer").unwrap().0.clone();
    let shown = show(&home, &at(&left), &[]);
    assert!(shown.dom.contains("half an ans</p>") && shown.dom.contains("The run was cancelled"));
    assert!(shown.dom.contains("Compacted from 123456 tokens") && !shown.dom.contains("<p>Here is a picture.</p>"));
    picture(&home, &at(&edited.id), "page-open.png", "1280,1500", "1");
}

/// Presses keys as a person would, and notes what the page does.
const DRIVER: &str = r#"
const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const all = (what, test) => [...document.querySelectorAll(what)].every(test);
const later = () => new Promise(done => setTimeout(done, 300));
(async () => {
  const seen = [];
  const note = (name, value) => seen.push(name + "=" + value);
  note("closed", all("details.think, details.call", box => !box.open));
  press("t"); note("thinking", all("details.think", box => box.open));
  press("o"); await later(); note("outputs", all("details.call", box => box.open && box.querySelector(".body")));
  note("more", document.querySelector(".more") !== null);
  document.querySelector(".more").click();
  note("whole", [...document.querySelectorAll("pre.tall")].some(pre => pre.textContent.includes("line 399:")));
  const before = document.documentElement.dataset.theme;
  press("d"); note("theme", document.documentElement.dataset.theme !== before);
  press("g"); press("j"); note("step", document.querySelector(".entry.cur b").textContent);
  press("s"); note("side", getComputedStyle(document.getElementById("side")).display);
  press("s"); press("/"); note("focus", document.activeElement.id);
  const search = document.getElementById("search");
  search.value = "LEXER looked"; search.dispatchEvent(new Event("input")); await later();
  note("found", document.getElementById("found").textContent);
  const find = async words => {
    search.value = words; search.dispatchEvent(new Event("input")); await later();
    return document.getElementById("found").textContent.split(" ")[0];
  };
  note("marked", CSS.highlights.get("hit").size > 0);
  note("markup", await find("strong span"));
  note("signs", await find("a <= b"));
  search.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  note("went", document.querySelector(".entry.cur .name").textContent);
  search.value = ""; search.dispatchEvent(new Event("input")); await later();
  for (const filter of ["no-tools", "user", "labelled", "all"]) {
    document.querySelector(`[data-filter=${filter}]`).click();
    note(filter, document.getElementById("found").textContent.split(" ")[0]);
  }
  document.querySelector("img.shot").click(); note("zoom", document.getElementById("zoom").open);
  const answer = document.createElement("output");
  answer.textContent = "<<" + seen.join(" ") + ">>";
  document.body.append(answer);
})();
"#;

#[test]
fn keys_search_and_filters_do_what_they_say() {
    let home = Home::new();
    let (session, extras) = story(&home);
    let page = export::to_file(&session, &home.root.path().join("page.html"), &extras).unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    let driven = text
        .replace("script-src ", "script-src 'nonce-driver' ")
        .replace("</body>", &format!("<script nonce=\"driver\">{DRIVER}</script></body>"));
    std::fs::write(&page, driven).unwrap();
    let shown = show(&home, &page, &[]);
    let (_, rest) = shown.dom.split_once("<output>&lt;&lt;").expect("the driver came to its end");
    let (seen, _) = rest.split_once("&gt;&gt;").unwrap();
    let expected = "closed=true thinking=true outputs=true more=true whole=true theme=true step=Assistant side=none \
        focus=search found=1 of 22 entries marked=true markup=0 signs=1 went=bash no-tools=10 user=3 labelled=3 all=22 zoom=true";
    assert_eq!(seen, expected);
}

#[test]
fn the_page_looks_its_part_in_light_dark_and_on_a_narrow_screen() {
    let home = Home::new();
    let (session, extras) = story(&home);
    let page = export::to_file(&session, &home.root.path().join("page.html"), &extras).unwrap();
    let light = picture(&home, &page, "page-light.png", "1280,1500", "1");
    let dark = picture(&home, &page, "page-dark.png", "1280,1500", "0");
    let narrow = picture(&home, &page, "page-narrow.png", "500,1500", "1");
    let pictures = [light, dark, narrow].map(|path| std::fs::read(path).unwrap());
    // A page that failed to draw is a few kilobytes of one colour.
    assert!(pictures.iter().all(|picture| picture.len() > 30_000));
    assert_ne!(pictures[0], pictures[1]);
}

#[test]
fn nothing_that_was_said_acts() {
    let home = Home::new();
    let session = hostile(&home);
    let page = export::to_file(&session, &home.root.path().join("page.html"), &Extras::default()).unwrap();
    let shown = show(&home, &page, &[]);
    assert!(shown.dom.contains("data-ready="), "the page works");
    assert!(!shown.dom.contains("data-pwned"));
    assert_eq!(shown.log, "", "the policy had nothing to refuse");
    assert!(shown.dom.contains("&lt;img src=x onerror="), "it is there as text");
}

#[test]
fn an_output_of_ten_megabytes_and_broken_letters_are_shown() {
    let home = Home::new();
    let line = |id: &str, parent: Option<&str>, message: serde_json::Value| {
        let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2025-01-31T09:05:00.000Z", "message": message});
        entry.to_string().into_bytes()
    };
    let call = json!([{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "yes"}}]);
    let answer = json!({"role": "assistant", "content": call, "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1});
    let output = "<script>document.documentElement.dataset.pwned=1</script>\n".repeat(175_000);
    let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{"type": "text", "text": output}], "isError": false, "timestamp": 1});
    let broken =
        String::from_utf8(line("b", Some("a"), json!({"role": "user", "content": "BROKEN", "timestamp": 1}))).unwrap();
    let mut file =
        br#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-31T09:05:00.000Z","cwd":"/w"}"#.to_vec();
    for entry in [
        line("a", None, json!({"role": "user", "content": "go", "timestamp": 1})),
        broken.into_bytes().split(|&byte| byte == b'K').collect::<Vec<_>>().join(&b"\xff\xfe"[..]),
        line("c", Some("b"), answer),
        line("d", Some("c"), result),
    ] {
        file.push(b'\n');
        file.extend(entry);
    }
    let path = home.file(&file);
    let session = Session::open_for_reading(&path, &home.opening()).unwrap();
    assert_eq!((session.tree().nodes().len(), texts(&session).len()), (4, 3));
    let page = export::to_file(&session, &home.root.path().join("page.html"), &Extras::default()).unwrap();
    let at_result = PathBuf::from(format!("{}#e-d", page.display()));
    let shown = show(&home, &at_result, &[]);
    assert!(shown.dom.contains("data-ready=\"4\"") && !shown.dom.contains("data-pwned"));
    assert!(shown.dom.contains("&lt;script&gt;document") && shown.dom.contains("Show all 10,150,000 characters"));
    assert!(
        shown.dom.contains("entry `b` cannot be understood: invalid utf-8 sequence"),
        "what cannot be shown says so"
    );
    assert_eq!(shown.log, "");
}

#[test]
fn calls_that_have_the_same_id_are_told_apart() {
    let home = Home::new();
    let mut session = home.create();
    let at = |second: i64| dryad_protocol::time::Timestamp::from_millis(NOW.as_millis() + second * 1000);
    let write = |path: &str| calling("call_0", "write", &json!({"path": path}));
    let mut prompts = Vec::new();
    for (second, paths) in [(0, &["one.txt", "two.txt"][..]), (10, &["three.txt"]), (20, &["four.txt"])] {
        prompts.push(session.append(user("Go on."), at(second)));
        for (number, path) in (1..).zip(paths) {
            session.append(write(path), at(second + number));
            session.append(result("call_0", "write", "done"), at(second + number));
        }
    }
    session.append(assistant("Done."), at(30));
    let note = |prompt: usize, second: i64, state: ActionState| ActionNote {
        call_id: "call_0".into(),
        prompt: Some(prompts[prompt].clone()),
        at: at(second),
        label: String::new(),
        state,
        diff: None,
    };
    let actions =
        vec![note(2, 21, ActionState::Discarded), note(0, 2, ActionState::Undone), note(0, 1, ActionState::Applied)];
    let extras = Extras { actions, ..Extras::default() };
    let page = export::to_file(&session, &home.root.path().join("page.html"), &extras).unwrap();
    let dom = show(&home, &page, &[]).dom;
    let states = ["one.txt", "two.txt", "three.txt", "four.txt"].map(|path| {
        let (_, rest) = dom.split_once(&format!("<span class=\"hint\">{path}</span>")).unwrap();
        let (line, _) = rest.split_once("</summary>").unwrap();
        ["applied", "undone", "discarded"].into_iter().find(|state| line.contains(*state))
    });
    assert_eq!(states, [Some("applied"), Some("undone"), None, Some("discarded")]);
}
