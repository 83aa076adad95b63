//! What a change costs: applying, proving, recording and undoing it, beside the same done by hand.
//!
//! The example of `dryad-safety` does the work and interleaves its rounds; here its figures get their limits.

use super::build;
use super::table::{Limit, Row};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// A row of the table: what it says, its unit, our figure, the one beside it, and what it may be.
type Figure = (&'static str, &'static str, &'static str, Option<&'static str>, Limit);

const FIGURES: [Figure; 14] = [
    ("edit, 4 KiB, beside by hand", "ms", "edit_small", Some("edit_small_by_hand"), Limit::Times(2.0)),
    ("edit, 200 KiB, beside by hand", "ms", "edit_large", Some("edit_large_by_hand"), Limit::Times(2.0)),
    ("edit, 50,000 files, beside 50", "ms", "edit_small_in_50000", Some("edit_small"), Limit::Times(1.25)),
    ("edit, 200 KiB, 50,000 files, beside 50", "ms", "edit_large_in_50000", Some("edit_large"), Limit::Times(1.25)),
    ("10,000 files applied, beside by hand", "ms", "many_applied", Some("many_by_hand"), Limit::Times(2.0)),
    ("10,000 files undone, beside applied", "ms", "many_undone", Some("many_applied"), Limit::Times(0.5)),
    ("vault growth, beside changed", "bytes", "many_vault_bytes", Some("many_changed_bytes"), Limit::Times(1.01)),
    ("all memory of it, beside changed", "bytes", "many_remembered_bytes", Some("many_changed_bytes"), Limit::None),
    ("tree of 10,000 files created", "ms", "tree_created", None, Limit::None),
    ("tree of 10,000 files deleted", "ms", "tree_deleted", None, Limit::None),
    ("its deletion undone", "ms", "tree_restored", Some("tree_deleted"), Limit::None),
    ("looks that saw half a tree", "", "tree_half_seen", None, Limit::AtMost(0.0)),
    ("log, newest 20 of 100,000, beside reading", "ms", "log_newest", Some("log_read_once"), Limit::Times(0.5)),
    ("log, all of 100,000, beside reading", "ms", "log_all", Some("log_read_once"), Limit::None),
];

/// Runs the example and gives its figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    build(repository, &["--package", "dryad-safety", "--example", "changes"])?;
    let target = repository.target_dir()?;
    let program = target.join("dist/examples").join(format!("changes{}", std::env::consts::EXE_SUFFIX));
    let text = process::output(process::command(&program, repository.root()).arg(target.join("bench")))?;
    rows(&text).with_context(|| format!("the changes example printed {text:?}"))
}

fn rows(text: &str) -> Result<Vec<Row>> {
    let figures: Map<String, Value> = serde_json::from_str(text)?;
    let value = |name: &str| figures.get(name).and_then(Value::as_f64);
    let row = |(what, unit, ours, theirs, limit): Figure| Row {
        what,
        unit,
        ours: value(ours),
        theirs: theirs.and_then(value),
        limit,
    };
    Ok(FIGURES.map(row).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name_and_what_is_missing_is_not_kept() {
        let rows = rows(r#"{"edit_small":1.5,"edit_small_by_hand":1,"tree_half_seen":1}"#).unwrap();
        let kept: Vec<&str> = rows.iter().filter(|row| row.is_kept()).map(|row| row.what).collect();
        assert_eq!(kept, ["edit, 4 KiB, beside by hand"]);
        assert!(super::rows("not figures").is_err());
    }
}
