//! The table of settings as JSON, from which the documentation is made.

use crate::output;
use crate::report::{Exit, Failure};
use crate::settings::schema::KEYS;

/// Prints the table.
///
/// # Errors
///
/// When it cannot be written.
pub(super) fn run() -> Result<Exit, Failure> {
    output::print_json(&KEYS)?;
    Ok(Exit::Done)
}
