//! What a rehearsal costs beside the plain command.
//!
//! The example of `dryad-safety` does the work and alternates its rounds; here its figures get their limits. That of `true`
//! beside the plain command is what binpash `try` needed; a bare layer is the least that a layer can cost.

use super::figures::{Figure, of_example, rows};
use super::table::{Limit, Row};
use super::tree;
use crate::repository::Repository;
use anyhow::Result;

const FIGURES: [Figure; 22] = [
    ("`true` rehearsed, beside run (p10)", "ms", "true_rehearsed", Some("true_plain"), Limit::Times(147.0)),
    ("`true` rehearsed, more than run (p10)", "ms", "true_more", None, Limit::AtMost(6.0)),
    ("grep -r, 50,000 files, beside run", "ms", "grep_rehearsed", Some("grep_plain"), Limit::Times(1.8)),
    ("the same in a warm rehearsal", "ms", "grep_warm", Some("grep_plain"), Limit::Times(1.3)),
    ("grep -r, and a write, beside run", "ms", "layered_grep_rehearsed", Some("layered_grep_plain"), Limit::Times(1.8)),
    ("the same, beside a bare layer", "ms", "layered_grep_rehearsed", Some("layered_grep_bare"), Limit::Times(1.2)),
    ("the same in a warm rehearsal", "ms", "layered_grep_warm", Some("layered_grep_plain"), Limit::Times(1.3)),
    ("git status, 50,000 files, beside run", "ms", "status_rehearsed", Some("status_plain"), Limit::Times(3.0)),
    ("the same in a warm rehearsal", "ms", "status_warm", Some("status_plain"), Limit::Times(1.3)),
    ("git status, and a write", "ms", "layered_status_rehearsed", Some("layered_status_plain"), Limit::Times(3.0)),
    ("the same, beside a bare layer", "ms", "layered_status_rehearsed", Some("layered_status_bare"), Limit::Times(1.2)),
    ("the same in a warm rehearsal", "ms", "layered_status_warm", Some("layered_status_plain"), Limit::Times(1.3)),
    ("cargo build, incremental, beside run", "ms", "build_rehearsed", Some("build_plain"), Limit::Times(1.1)),
    ("the same, until the command is over", "ms", "build_played", Some("build_plain"), Limit::None),
    ("the same, beside a bare layer", "ms", "build_rehearsed", Some("build_bare"), Limit::Times(1.2)),
    ("the same of a crate of one line", "ms", "tiny_rehearsed", Some("tiny_plain"), Limit::None),
    ("change set of 10,000 modified files", "ms", "capture", None, Limit::AtMost(400.0)),
    ("memory for it", "MB", "capture_megabytes", None, Limit::AtMost(40.0)),
    ("20 rehearsed files applied, with barrier", "ms", "apply_few", None, Limit::AtMost(8.0)),
    ("the same, beside by hand with syncs", "ms", "apply_few", Some("apply_few_by_hand"), Limit::Times(1.0)),
    ("the ladder tried out", "ms", "probe", None, Limit::AtMost(15.0)),
    ("the ladder remembered", "ms", "probe_cached", None, Limit::AtMost(1.0)),
];

/// Runs the example and gives its figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    let place = repository.target_dir()?.join("bench");
    let tree = tree::ready(&place)?;
    Ok(rows(&FIGURES, &of_example(repository, "dryad-safety", "rehearse", &[&place, &tree])?))
}
