//! From what a measuring program prints to rows of the table: one JSON object of named figures, each with its limit.

use super::build;
use super::table::{Limit, Row};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};
use std::path::Path;

/// A row of the table: what it says, its unit, our figure, the one beside it, and what it may be.
pub(super) type Figure = (&'static str, &'static str, &'static str, Option<&'static str>, Limit);

/// What a program has measured, by name.
pub(super) type Measured = Map<String, Value>;

/// Builds an example as users' programs are built, runs it, and reads what it has measured.
pub(super) fn of_example(
    repository: &Repository,
    package: &str,
    example: &str,
    arguments: &[&Path],
) -> Result<Measured> {
    build(repository, &["--package", package, "--example", example])?;
    let program = repository.target_dir()?.join("dist/examples").join(example);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let text = process::output(process::command(&program, repository.root()).args(arguments))?;
    serde_json::from_str(&text).with_context(|| format!("the {example} example printed {text:?}"))
}

/// The rows of these figures. What was not measured is not kept.
pub(super) fn rows(figures: &[Figure], measured: &Measured) -> Vec<Row> {
    let value = |name: &str| measured.get(name).and_then(Value::as_f64);
    let row = |(what, unit, ours, theirs, limit): &Figure| Row {
        what,
        unit,
        ours: value(ours),
        theirs: theirs.and_then(value),
        limit: *limit,
    };
    figures.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name_and_what_is_missing_or_too_much_is_not_kept() {
        let figures = [
            ("beside", "ms", "a", Some("b"), Limit::Times(2.0)),
            ("alone", "ms", "c", None, Limit::AtMost(5.0)),
            ("too much", "ms", "b", Some("a"), Limit::Times(0.5)),
            ("missing", "ms", "nothing", None, Limit::None),
        ];
        let measured = serde_json::json!({"a": 1.5, "b": 1, "c": 5});
        let rows = rows(&figures, measured.as_object().unwrap());
        let kept: Vec<&str> = rows.iter().filter(|row| row.is_kept()).map(|row| row.what).collect();
        assert_eq!(kept, ["beside", "alone"]);
    }
}
