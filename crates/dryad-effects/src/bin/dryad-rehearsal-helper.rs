//! The helper of a rehearsal as a program of its own, for programs that are not dryad: this crate's tests.

use dryad_effects::rehearse::helper_main;
use std::process::ExitCode;

fn main() -> ExitCode {
    helper_main().unwrap_or(ExitCode::FAILURE)
}
