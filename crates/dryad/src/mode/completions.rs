//! Completion scripts for shells.

use crate::args::full_command;
use crate::output;
use crate::report::{Exit, Failure};
use clap_complete::Shell;

/// Prints the script for `shell`.
///
/// # Errors
///
/// When it cannot be written.
pub(super) fn run(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut full_command(), "dryad", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
