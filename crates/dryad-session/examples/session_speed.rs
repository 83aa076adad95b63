//! Measures a session of 100 MB and 50,000 entries: opening beside one pass of `serde_json` over the same file,
//! memory, appending, exporting; and a list of 1,000 sessions. Prints the figures as JSON and leaves the session as
//! `DIRECTORY/session-speed/large.jsonl`, for whoever wants to measure something beside it.
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
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const ENTRIES: usize = 50_000;
const BYTES: usize = 100_000_000;
const ROUNDS: usize = 5;

fn main() {
    let root = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into).join("session-speed");
    std::fs::create_dir_all(&root).unwrap();
    let places = Places::below(&root);
    let file = root.join("large.jsonl");
    std::fs::write(&file, large()).unwrap();
    let mut figures = Map::new();
    let mut tell = |name: &str, figure: f64| drop(figures.insert(name.to_owned(), json!(figure)));
    let opening = Opening { places: &places, cwd: None, here: Path::new("/w"), now: Timestamp::default() };
    let before = resident();
    let open = || {
        let session = Session::open_for_reading(&file, &opening).unwrap();
        assert_eq!(context::messages(&session).len(), ENTRIES);
        session
    };
    let mut session = open();
    tell("held_bytes", (resident() - before) as f64);
    tell("path_bytes", file.metadata().unwrap().len() as f64);
    // Rounds alternate, so that both see the same machine.
    let (mut opened, mut passed) = (Time::LONGEST, Time::LONGEST);
    for _ in 0..ROUNDS {
        drop(session);
        let (took, next) = timed(open);
        (opened, session) = (opened.min(took), next);
        passed = passed.min(timed(|| one_pass(&file)).0);
    }
    tell("open_ms", opened.clock);
    tell("open_busy_ms", opened.busy);
    tell("pass_ms", passed.clock);
    tell("pass_busy_ms", passed.busy);
    let page = root.join("large.html");
    let export = || export::to_file(&session, &page, &Extras::default()).unwrap();
    tell("export_ms", best(3, export).clock);
    drop(session);
    session = Session::open(&file, &opening).unwrap();
    let mut small = Session::create(&places, Path::new("/w"), None, Timestamp::default());
    small.ensure_stored().unwrap();
    let (mut late, mut early) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        (late, early) = (late.min(appends(&mut session)), early.min(appends(&mut small)));
    }
    tell("append_long_us", late);
    tell("append_short_us", early);
    tell("list_ms", listing(&places));
    // What was appended is taken away again: whoever measures next reads the same file.
    drop(session);
    std::fs::write(&file, large()).unwrap();
    println!("{}", Value::Object(figures));
}

/// Reads every line as JSON, and nothing more.
fn one_pass(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| usize::from(serde_json::from_str::<Value>(line).unwrap().is_object())).sum()
}

/// Microseconds of one append.
fn appends(session: &mut Session) -> f64 {
    let started = Instant::now();
    for _ in 0..200 {
        let message = Message::User(UserMessage::prompt("hello", Vec::new(), Timestamp::default()));
        session.append(EntryBody::Message { message: message.into() }, Timestamp::default());
    }
    let took = started.elapsed().as_secs_f64() * 1e6 / 200.0;
    session.flush().unwrap();
    took
}

/// Milliseconds of one list.
fn listing(places: &Places) -> f64 {
    let directory = places.sessions_of(Path::new("/many"));
    std::fs::create_dir_all(&directory).unwrap();
    let start: String = large_lines().take(20).fold(String::new(), |text, line| text + &line + "\n");
    for number in 0..1000 {
        std::fs::write(directory.join(format!("{number}.jsonl")), format!("{start}{}", "\n".repeat(number))).unwrap();
    }
    assert_eq!(list::quick(&directory).unwrap().len(), 1000);
    best(ROUNDS, || list::quick(&directory).unwrap()).clock
}

/// The milliseconds this process was on processors: other programs do not count.
fn busy() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) * 10.0
}

/// Milliseconds by the clock, and on processors.
#[derive(Clone, Copy)]
struct Time {
    clock: f64,
    busy: f64,
}

impl Time {
    const LONGEST: Self = Self { clock: f64::INFINITY, busy: f64::INFINITY };

    fn min(self, other: Self) -> Self {
        Self { clock: self.clock.min(other.clock), busy: self.busy.min(other.busy) }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Time, T) {
    let (clock, processors) = (Instant::now(), busy());
    let made = work();
    (Time { clock: clock.elapsed().as_secs_f64() * 1000.0, busy: busy() - processors }, made)
}

/// The best time of some.
fn best<T>(times: usize, mut work: impl FnMut() -> T) -> Time {
    (0..times).fold(Time::LONGEST, |best, _| best.min(timed(&mut work).0))
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
