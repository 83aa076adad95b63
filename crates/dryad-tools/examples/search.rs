//! Runs `grep` or `find` once, without a model, and prints how many it found and how long it took.
//!
//! `search grep|find PATTERN DIR` prints `<results> <milliseconds>`: the time of the tool's plan
//! alone, from its arguments to its answer. `cargo xtask bench` sets it beside `rg` and `fd`.
#![expect(clippy::print_stdout, reason = "the figures are this program's output")]

use dryad_safety::plan::Plan;
use dryad_safety::tool::PlanContext;
use dryad_tools::{ToolSettings, builtin};
use serde_json::{Map, Value};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, pattern, directory] = words.as_slice() else {
        return Err("usage: search grep|find PATTERN DIR".into());
    };
    let count_key = match name.as_str() {
        "grep" => "matchCount",
        "find" => "fileCount",
        other => return Err(format!("no search is called {other}; grep and find are").into()),
    };
    let tools = builtin(&ToolSettings::default());
    let tool = tools.iter().find(|tool| tool.spec().name == *name).ok_or("the tool is not built in")?;
    let arguments: Map<String, Value> = [("pattern", pattern), ("path", directory)]
        .map(|(key, value)| (key.to_owned(), Value::from(value.as_str())))
        .into_iter()
        .collect();
    let context = PlanContext::new(directory);
    let started = Instant::now();
    let plan = tool.plan(arguments, &context)?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let Plan::Answer(result) = plan else {
        return Err("a search has nothing to apply".into());
    };
    let details = result.details.ok_or("the answer has no details")?;
    let found = details[count_key].as_u64().ok_or_else(|| format!("the details hold no {count_key}: {details}"))?;
    println!("{found} {milliseconds:.3}");
    Ok(())
}
