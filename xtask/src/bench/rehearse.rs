//! What a rehearsal costs beside the plain command.
//!
//! The example of `dryad-safety` does the work and alternates its rounds; here its figures get their limits.

use super::table::{Limit, Row};
use super::{build, tree};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// A row of the table: what it says, its unit, our figure, the one beside it, and what it may be.
type Figure = (&'static str, &'static str, &'static str, Option<&'static str>, Limit);

const FIGURES: [Figure; 13] = [
    ("`true` rehearsed, beside run (p10)", "ms", "true_rehearsed", Some("true_plain"), Limit::None),
    ("`true` rehearsed, more than run (p10)", "ms", "true_more", None, Limit::AtMost(6.0)),
    ("grep -r, 50,000 files, beside run", "ms", "grep_rehearsed", Some("grep_plain"), Limit::Times(1.8)),
    ("the same in a warm rehearsal", "ms", "grep_warm", Some("grep_plain"), Limit::Times(1.3)),
    ("git status, 50,000 files, beside run", "ms", "status_rehearsed", Some("status_plain"), Limit::Times(3.0)),
    ("the same in a warm rehearsal", "ms", "status_warm", Some("status_plain"), Limit::Times(1.3)),
    ("cargo build, incremental, beside run", "ms", "build_rehearsed", Some("build_plain"), Limit::Times(1.1)),
    ("change set of 10,000 modified files", "ms", "capture", None, Limit::AtMost(400.0)),
    ("memory for it", "MB", "capture_megabytes", None, Limit::AtMost(40.0)),
    ("20 rehearsed files applied, with barrier", "ms", "apply_few", None, Limit::AtMost(8.0)),
    ("the same, beside by hand with syncs", "ms", "apply_few", Some("apply_few_by_hand"), Limit::Times(1.0)),
    ("the ladder tried out", "ms", "probe", None, Limit::AtMost(15.0)),
    ("the ladder remembered", "ms", "probe_cached", None, Limit::AtMost(1.0)),
];

/// Runs the example and gives its figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    build(repository, &["--package", "dryad-safety", "--example", "rehearse"])?;
    let target = repository.target_dir()?;
    let program = target.join("dist/examples").join(format!("rehearse{}", std::env::consts::EXE_SUFFIX));
    let bench = target.join("bench");
    let tree = tree::ready(&bench)?;
    let text = process::output(process::command(&program, repository.root()).arg(bench).arg(tree))?;
    rows(&text).with_context(|| format!("the rehearse example printed {text:?}"))
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
        let rows = rows(r#"{"true_more":5.5,"grep_rehearsed":3,"grep_plain":2,"probe":16}"#).unwrap();
        let kept: Vec<&str> = rows.iter().filter(|row| row.is_kept()).map(|row| row.what).collect();
        assert_eq!(kept, ["`true` rehearsed, more than run (p10)", "grep -r, 50,000 files, beside run"]);
        assert!(super::rows("not figures").is_err());
    }
}
