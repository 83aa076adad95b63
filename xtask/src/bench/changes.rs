//! What a change costs: applying, proving, recording and undoing it, beside the same done by hand.
//!
//! The example of `dryad-safety` does the work and interleaves its rounds; here its figures get their limits.

use super::figures::{Figure, of_example, rows};
use super::table::{Limit, Row};
use crate::repository::Repository;
use anyhow::Result;

const FIGURES: [Figure; 17] = [
    ("edit, 4 KiB, beside by hand", "ms", "edit_small", Some("edit_small_by_hand"), Limit::Times(2.0)),
    ("edit, 200 KiB, beside by hand", "ms", "edit_large", Some("edit_large_by_hand"), Limit::Times(2.0)),
    ("edit, 4 KiB, new vault, beside by hand", "ms", "first_small", Some("first_small_by_hand"), Limit::Times(2.0)),
    ("edit, 200 KiB, new vault, beside by hand", "ms", "first_large", Some("first_large_by_hand"), Limit::Times(2.0)),
    ("edit, 50,000 files, beside 50", "ms", "edit_small_in_50000", Some("edit_small"), Limit::Times(1.25)),
    ("edit, 200 KiB, 50,000 files, beside 50", "ms", "edit_large_in_50000", Some("edit_large"), Limit::Times(1.25)),
    ("10,000 files applied, beside by hand", "ms", "many_applied", Some("many_by_hand"), Limit::Times(2.0)),
    (
        "10,000 files undone, beside planned and applied",
        "ms",
        "many_undone",
        Some("many_planned_and_applied"),
        Limit::None,
    ),
    ("10,000 files undone, beside applied alone", "ms", "many_undone", Some("many_applied"), Limit::Times(0.5)),
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
    let place = repository.target_dir()?.join("bench");
    Ok(rows(&FIGURES, &of_example(repository, "dryad-safety", "changes", &[&place])?))
}
