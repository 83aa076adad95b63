//! What the safety protocol costs beside a tool's own work.
//!
//! The example of `dryad-safety` does the work; here its figures get their limits.

use super::figures::{Figure, of_example, rows};
use super::table::{Limit, Row};
use crate::repository::Repository;
use anyhow::Result;

const FIGURES: [Figure; 4] = [
    ("a call through all gates, beside its tool", "µs", "call", None, Limit::AtMost(50.0)),
    ("a call after thousands, beside the first", "µs", "call_after_many", Some("call"), Limit::Times(1.5)),
    ("a command of 200 characters judged", "µs", "judge", None, Limit::AtMost(100.0)),
    ("a tool looked up and listed among 1,000", "µs", "lookup", None, Limit::AtMost(20.0)),
];

/// Runs the example and gives its figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    Ok(rows(&FIGURES, &of_example(repository, "dryad-safety", "gates", &[])?))
}
