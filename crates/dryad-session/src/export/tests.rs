//! The page and what it is made of; how it looks is tested in a browser.

use super::*;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::message::Message;
use dryad_protocol::time::Timestamp;
use serde_json::{Value, json};

fn page(messages: &[Value]) -> String {
    let mut session = Session::in_memory(Path::new("/w"), Timestamp::default());
    for message in messages {
        let message = serde_json::from_value::<Message>(message.clone()).unwrap();
        session.append(EntryBody::Message { message: message.into() }, Timestamp::default());
    }
    let mut out = Vec::new();
    html(&session, &Extras::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_policy_names_the_script_and_the_style_of_the_page() {
    let page = page(&[]);
    let between = |start: &str, end: &str| page.split_once(start).unwrap().1.split_once(end).unwrap().0.to_owned();
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(sha256::hash(text.as_bytes())));
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(page.contains(&format!("script-src {};", hash(script))));
    assert!(page.contains(&format!("style-src {};", hash(&between("<style>", "</style>")))));
    assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
    assert!(!page.contains("http://") && !page.contains("https://"), "the page of an empty session names no address");
}

#[test]
fn nothing_said_can_leave_its_place() {
    let hostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)>";
    let page = page(&[
        json!({"role": "user", "content": hostile}),
        json!({"role": "toolResult", "toolCallId": "c", "toolName": hostile, "content": [{"type": "text", "text": hostile}]}),
    ]);
    let (head, rest) = page.split_once("class=\"rows\">").unwrap();
    assert!(!head.contains("alert"));
    let (data, _) = rest.split_once("</script>").unwrap();
    assert!(!data.contains('<'));
    let rows: Value = serde_json::from_str(data).unwrap();
    assert_eq!(rows[1]["b"][0]["x"], hostile);
    let html = rows[0]["b"][0]["h"].as_str().unwrap();
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
}

#[test]
fn markdown_becomes_html_with_every_text_escaped() {
    let check = |text: &str, expected: &str| assert_eq!(markdown::html(text), expected);
    check("# A *b*", "<h3>A <em>b</em></h3>");
    check("a <b>c</b> & d", "<p>a &lt;b&gt;c&lt;/b&gt; &amp; d</p>");
    check("<div onclick=x>\nhi\n</div>", "<p>&lt;div onclick=x&gt;\nhi\n&lt;/div&gt;</p>");
    check("`<x>`", "<p><code>&lt;x&gt;</code></p>");
    check("[a](javascript:alert(1))", "<p>a</p>");
    check("[a](  JaVaScRiPt:alert(1))", "<p>a</p>");
    check("![a](data:text/html,x)", "<p>a</p>");
    let link = "<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"https://x/?a=&quot;\">a</a>";
    check("[a](<https://x/?a=\">)", &format!("<p>{link}</p>"));
    check(
        "[![a](https://x/?a=%22)](javascript:x)",
        "<p><a rel=\"noopener noreferrer\" target=\"_blank\" href=\"https://x/?a=%22\">a</a></p>",
    );
    check("- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>");
    check(
        "|a|b|\n|-|-:|\n|1|2|",
        "<div class=\"table\"><table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead><tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table></div>",
    );
    check(
        "```rust\nlet x = \"<\"; // y\n```",
        "<pre class=\"code\"><code><span class=\"hk\">let</span> x = <span class=\"hs\">&quot;&lt;&quot;</span>; <span class=\"hc\">// y</span>\n</code></pre>",
    );
}

#[test]
fn marked_code_is_the_same_code() {
    let unmarked = |html: &str| {
        let mut text = String::new();
        for part in html.split('<') {
            text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        }
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    let codes = [
        "fn a() { \"x\\\"\" } // <b>",
        "'unfinished\nnext",
        "/* open <",
        "a_b1 0x1F é 'ü' # c -- d",
        "<!-- x -->",
        "",
        "\\",
    ];
    for language in ["rust", "js", "c", "python", "bash", "toml", "sql", "css", "json", "html", "diff", "nothing"] {
        for code in codes {
            let mut html = String::new();
            highlight::push(language, code, &mut html);
            assert_eq!(unmarked(&html), code, "{language}");
        }
    }
}

#[test]
fn a_session_in_memory_is_not_exported_but_can_be_dumped() {
    let mut session = Session::in_memory(Path::new("/w"), Timestamp::default());
    let message = serde_json::from_value::<Message>(json!({"role": "user", "content": "hi"})).unwrap();
    session.append(EntryBody::Message { message: message.into() }, Timestamp::default());
    let extras = Extras {
        system_prompt: Some("Be kind.".to_owned()),
        tools: vec![("read".to_owned(), "reads".to_owned())],
        actions: Vec::new(),
    };
    assert!(matches!(to_file(&session, Path::new("/nowhere/x.html"), &extras), Err(StoreError::InMemory)));
    let expected = "# System prompt\n\nBe kind.\n\n# Tools\n\n- read: reads\n\n# User\n\nhi\n\n";
    assert_eq!(dump(&session, &extras), expected);
}
