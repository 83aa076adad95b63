//! What the safety protocol costs beside a tool's own work.
//!
//! The example of `dryad-safety` does the work; here its figures get their limits.

use super::build;
use super::table::{Limit, Row};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// What is measured, its name in the example's answer, and how many microseconds it may take.
const FIGURES: [(&str, &str, f64); 3] = [
    ("a call through all gates, beside its tool", "call", 50.0),
    ("a command of 200 characters read and judged", "judge", 100.0),
    ("a tool looked up and listed among 1,000", "lookup", 20.0),
];

/// Runs the example and gives its figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    build(repository, &["--package", "dryad-safety", "--example", "gates"])?;
    let target = repository.target_dir()?;
    let program = target.join("dist/examples").join(format!("gates{}", std::env::consts::EXE_SUFFIX));
    let text = process::output(&mut process::command(&program, repository.root()))?;
    rows(&text).with_context(|| format!("the gates example printed {text:?}"))
}

fn rows(text: &str) -> Result<Vec<Row>> {
    let figures: Map<String, Value> = serde_json::from_str(text)?;
    let value = |name: &str| figures.get(name).and_then(Value::as_f64);
    let mut rows = FIGURES
        .map(|(what, name, most)| Row {
            what, unit: "µs", ours: value(name), theirs: None, limit: Limit::AtMost(most)
        })
        .to_vec();
    rows.push(Row {
        what: "a call after thousands, beside the first ones",
        unit: "µs",
        ours: value("call_after_many"),
        theirs: value("call"),
        limit: Limit::Times(1.5),
    });
    Ok(rows)
}
