//! Measures what judging a command costs and prints the figures as one JSON object: microseconds for reading and
//! for reading and judging a command of about 200 characters.
#![expect(clippy::print_stdout, reason = "the figures are this program's output")]

use dryad_safety::permission::{Engine, Policy, Question, Rule, shell};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const COMMAND: &str = "cd crates/core && cargo test --workspace -- --nocapture 2>&1 | tail -n 50 | grep -E 'FAILED|panicked' \
     && git log --oneline -n 20 -- src/lib.rs | head -5; echo \"finished: $(date +%F) with $COUNT\" > /dev/null";

/// Rounds of one measurement: few, so that some measurements are not interrupted. The fastest one counts.
const ROUNDS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let rules = ["bash(prefix:cargo test)", "bash(prefix:npm test)", "bash(prefix:make)"];
    let allow = rules.iter().map(|rule| Rule::parse(rule)).collect::<Result<_, _>>()?;
    let deny = vec![Rule::parse("bash(prefix:git push)")?];
    let engine = Engine::new(Policy { allow, deny, home: Some("/home/user".into()), ..Policy::default() });
    let tool = bash()?;
    let Value::Object(arguments) = json!({ "command": COMMAND }) else { return Err("no object".into()) };
    let question = Question { tool: &tool, arguments: &arguments, effect: None, workdir: Path::new("/srv") };
    let read = fastest(|| drop(black_box(shell::parse(black_box(COMMAND)))));
    let judge = fastest(|| drop(black_box(engine.judge(black_box(&question)))));
    let verdict = format!("{:?}", engine.judge(&question));
    println!("{}", json!({ "characters": COMMAND.len(), "read_us": read, "judge_us": judge, "verdict": verdict }));
    Ok(())
}

fn fastest(mut work: impl FnMut()) -> f64 {
    let round = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
    };
    (0..2_000).map(|_| round(&mut work)).fold(f64::INFINITY, f64::min)
}

fn bash() -> Result<ToolSpec, Box<dyn Error>> {
    Ok(ToolSpec {
        name: "bash".to_owned(),
        label: "bash".to_owned(),
        description: String::new(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: RawValue::from_string("{}".to_owned())?.into(),
        hidden: false,
        metadata: Metadata { permission_class: PermissionClass::Bash, ..Metadata::default() },
        capability: Capability::default(),
    })
}
