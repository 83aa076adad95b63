//! Lines of all kinds, sound and broken, thousands at a time: each is answered once and none ends the program.
//!
//! `DRYAD_FUZZ_FRAMES` says how many, `DRYAD_FUZZ_SEED` which ones.

use crate::scene::Scene;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

const FRAMES: usize = 20_000;

/// Commands that neither start runs nor processes, so that nothing but their answers comes.
const COMMANDS: [&str; 24] = [
    r#"{"type":"get_commands"}"#,
    r#"{"type":"get_last_assistant_text"}"#,
    r#"{"type":"get_messages"}"#,
    r#"{"type":"get_branch_messages"}"#,
    r#"{"type":"get_session_stats"}"#,
    r#"{"type":"set_steering_mode","mode":"all"}"#,
    r#"{"type":"set_follow_up_mode","mode":"sideways"}"#,
    r#"{"type":"set_interrupt_mode","mode":"immediate"}"#,
    r#"{"type":"set_thinking_level","level":"high"}"#,
    r#"{"type":"cycle_thinking_level"}"#,
    r#"{"type":"set_model","provider":"no","modelId":"such"}"#,
    r#"{"type":"set_auto_retry","enabled":false}"#,
    r#"{"type":"set_auto_compaction","enabled":"perhaps"}"#,
    r#"{"type":"set_todos","phases":[{"name":"a","tasks":[{"content":"b","status":"pending"}]}]}"#,
    r#"{"type":"set_host_tools","tools":[{"name":"t","description":"d","parameters":{"type":"object"}}]}"#,
    r#"{"type":"set_host_tools","tools":[{"name":"","description":"d","parameters":[]}]}"#,
    r#"{"type":"set_session_name","name":"  "}"#,
    r#"{"type":"branch","entryId":"nowhere"}"#,
    r#"{"type":"resolve","actionId":"none","action":"apply"}"#,
    r#"{"type":"show_operation","operationId":"zz"}"#,
    r#"{"type":"abort"}"#,
    r#"{"type":"abort_retry"}"#,
    r#"{"type":"abort_bash"}"#,
    r#"{"type":"no_such_command","with":["a",{"few":1e9}]}"#,
];

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    /// Any byte but a line feed.
    fn byte(&mut self) -> u8 {
        let byte = u8::try_from(self.below(255)).unwrap();
        if byte == b'\n' { 255 } else { byte }
    }

    /// The line with a few bytes changed, left out, put in, or all after some place gone.
    fn garble(&mut self, line: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let place = self.below(line.len() + 1);
            match self.below(4) {
                0 => line.insert(place, self.byte()),
                1 => line.truncate(place),
                2 if place < line.len() => drop(line.remove(place)),
                _ if place < line.len() => line[place] = self.byte(),
                _ => {}
            }
        }
    }
}

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_line_is_answered_once_whatever_it_is() {
    let scene = Scene::new();
    let mut command = scene.command(&["--mode", "rpc", "--no-session"]);
    let mut program = command.env("DRYAD_RPC_STRICT_IDS", "1").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = program.stdin.take().unwrap();
    let output = BufReader::new(program.stdout.take().unwrap());
    let mut chance = Chance(number("DRYAD_FUZZ_SEED", 0x5eed) as u64 | 1);
    let frames = number("DRYAD_FUZZ_FRAMES", FRAMES);
    let writer = std::thread::spawn(move || {
        let (mut sound, mut broken) = (0, 0);
        for number in 0..frames {
            let mut fields: Value = serde_json::from_str(COMMANDS[chance.below(COMMANDS.len())]).unwrap();
            let is_sound = chance.below(2) == 0;
            fields["id"] = if is_sound { json!(number) } else { json!("broken") };
            let mut line = fields.to_string().into_bytes();
            if !is_sound {
                chance.garble(&mut line);
            }
            sound += usize::from(is_sound);
            broken += usize::from(!is_sound && !line.iter().all(u8::is_ascii_whitespace));
            line.push(b'\n');
            input.write_all(&line).unwrap();
        }
        (sound, broken)
    });
    let mut answered: HashMap<u64, usize> = HashMap::new();
    let mut others = 0;
    for line in output.lines() {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if frame["type"] != "response" {
            continue;
        }
        match frame["id"].as_u64() {
            Some(id) => *answered.entry(id).or_default() += 1,
            None => others += 1,
        }
    }
    let (sound, broken) = writer.join().unwrap();
    assert!(program.wait().unwrap().success());
    assert!(answered.values().all(|times| *times == 1), "an answer came twice");
    assert_eq!((answered.len(), others), (sound, broken));
}
