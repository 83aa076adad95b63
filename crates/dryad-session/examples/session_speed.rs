//! Measures a session of 100 MB and 50,000 entries: opening, memory, appending, exporting; and a list of
//! 1,000 sessions. Figures are ratios to one pass of `serde_json` over the same file where that makes sense.
//!
//! `cargo run --release -p dryad-session --example session_speed [DIRECTORY]`
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring program")]

use dryad_protocol::entry::EntryBody;
use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::time::Timestamp;
use dryad_session::export::{self, Extras};
use dryad_session::open::Opening;
use dryad_session::places::Places;
use dryad_session::session::Session;
use dryad_session::{context, list};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const ENTRIES: usize = 50_000;
const BYTES: usize = 100_000_000;

fn main() {
    let root = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into).join("dryad-session-speed");
    std::fs::create_dir_all(&root).unwrap();
    let places = Places::below(&root);
    let file = root.join("large.jsonl");
    std::fs::write(&file, large()).unwrap();
    let opening = Opening { places: &places, cwd: None, here: Path::new("/w"), now: Timestamp::default() };
    let before = resident();
    let (index, _) = best(5, || Session::open_for_reading(&file, &opening).unwrap());
    println!("find all entries       {index}");
    let (open, mut session) = best(5, || {
        let session = Session::open_for_reading(&file, &opening).unwrap();
        assert_eq!(context::messages(&session).len(), ENTRIES);
        session
    });
    let held = resident() - before;
    println!("open at the leaf       {open}");
    println!("memory / active path   {:>10.2}", held as f64 / BYTES as f64);
    let (pass, _) = best(3, || {
        let text = std::fs::read_to_string(&file).unwrap();
        text.lines().map(|line| usize::from(serde_json::from_str::<Value>(line).unwrap().is_object())).sum::<usize>()
    });
    println!("one serde_json pass    {pass}");
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("open / pass            {:>10.2} {:.2}", ratio(open.clock, pass.clock), ratio(open.busy, pass.busy));
    let page = root.join("large.html");
    let (exported, _) = best(2, || export::to_file(&session, &page, &Extras::default()).unwrap());
    println!("export as a page       {exported}");
    drop(session);
    session = Session::open(&file, &opening).unwrap();
    let late = appends(&mut session);
    let mut small = Session::create(&places, Path::new("/w"), None, Timestamp::default());
    small.ensure_stored().unwrap();
    let early = appends(&mut small);
    println!("append, short and long {early:>10.1?} {late:>10.1?}");
    listing(&places);
}

fn appends(session: &mut Session) -> Duration {
    let started = Instant::now();
    for _ in 0..200 {
        let message = Message::User(UserMessage::prompt("hello", Vec::new(), Timestamp::default()));
        session.append(EntryBody::Message { message: message.into() }, Timestamp::default());
    }
    let took = started.elapsed() / 200;
    session.flush().unwrap();
    took
}

fn listing(places: &Places) {
    let directory = places.sessions_of(Path::new("/many"));
    std::fs::create_dir_all(&directory).unwrap();
    let start: String = large_lines().take(20).fold(String::new(), |text, line| text + &line + "\n");
    for number in 0..1000 {
        std::fs::write(directory.join(format!("{number}.jsonl")), format!("{start}{}", "\n".repeat(number))).unwrap();
    }
    let (took, sessions) = best(5, || list::quick(&directory).unwrap());
    assert_eq!(sessions.len(), 1000);
    println!("list 1,000 sessions    {took}");
}

/// The time this process was on processors: other programs do not count.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().unwrap();
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// By the clock, and on processors.
#[derive(Clone, Copy)]
struct Time {
    clock: Duration,
    busy: Duration,
}

impl std::fmt::Display for Time {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:>10.1?} by the clock, {:>7.1?} on processors", self.clock, self.busy)
    }
}

/// The best time of some, and what the last one made.
fn best<T>(times: usize, mut work: impl FnMut() -> T) -> (Time, T) {
    let mut run = || {
        let (clock, processors) = (Instant::now(), busy());
        let made = work();
        (Time { clock: clock.elapsed(), busy: busy() - processors }, made)
    };
    let (mut shortest, mut made) = run();
    for _ in 1..times {
        drop(made);
        let (took, next) = run();
        shortest = Time { clock: shortest.clock.min(took.clock), busy: shortest.busy.min(took.busy) };
        made = next;
    }
    (shortest, made)
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn large() -> String {
    large_lines().fold(String::with_capacity(BYTES * 11 / 10), |text, line| text + &line + "\n")
}

/// A header, then turns of a prompt, an answer with a call, its result and an answer.
fn large_lines() -> impl Iterator<Item = String> {
    let header =
        json!({"type": "session", "version": 3, "id": "large", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w"});
    let cost = json!({"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003});
    let usage =
        json!({"input": 1200, "output": 300, "cacheRead": 100, "cacheWrite": 0, "totalTokens": 1600, "cost": cost});
    let said = "The **parser** reads `tokens` one by one; see the list:\n\n- first\n- second\n\n```rust\nfn parse() -> u32 { 42 }\n```\n\n";
    let entries = (0..ENTRIES).map(move |number| {
        let answer = |content: Value| {
            json!({"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
                "model": "claude", "usage": usage, "stopReason": "toolUse", "timestamp": 1_700_000_000_000_u64 + number as u64})
        };
        let message = match number % 4 {
            0 => json!({"role": "user", "content": [{"type": "text", "text": format!("Prompt {number}. {}", said.repeat(3))}], "timestamp": 1}),
            1 => answer(json!([{"type": "thinking", "thinking": "Let me look. ".repeat(20), "thinkingSignature": "sig"},
                {"type": "text", "text": said}, {"type": "toolCall", "id": format!("call_{number}"), "name": "read", "arguments": {"path": "src/parse.rs", "limit": 200}}])),
            2 => json!({"role": "toolResult", "toolCallId": format!("call_{}", number - 1), "toolName": "read", "isError": false,
                "content": [{"type": "text", "text": output(number)}], "details": {"truncation": {"lines": 120}}, "timestamp": 1}),
            _ => answer(json!([{"type": "text", "text": said.repeat(8)}])),
        };
        let parent = number.checked_sub(1).map(|parent| format!("{parent:08x}"));
        json!({"type": "message", "id": format!("{number:08x}"), "parentId": parent, "timestamp": "2025-01-01T00:00:00.000Z", "message": message}).to_string()
    });
    std::iter::once(header.to_string()).chain(entries)
}

fn output(number: usize) -> String {
    let mut text = String::new();
    for line in 0..100 {
        writeln!(text, "{line:>4}  let value_{line} = compute(\"{number}\", {line}); // a line of code").unwrap();
    }
    text.truncate(5200);
    text
}
