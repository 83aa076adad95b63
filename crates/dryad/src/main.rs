//! `dryad`: a coding agent whose every change can be seen first and taken back.
//!
//! This crate is the edge: it reads arguments and settings, puts the parts together, and turns what
//! comes back into text, JSON lines and exit codes. Everything else is done by the other crates.

mod args;
mod ask;
mod home;
mod log;
mod mode;
mod options;
mod output;
mod prompt_input;
mod report;
mod screen;
mod settings;
mod signals;
mod terminal;
mod wiring;

use args::Arguments;
use report::{Exit, Failure};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A rehearsal starts this program again, as its helper: that comes before any thread does.
    if let Some(code) = dryad_effects::rehearse::helper_main() {
        return code;
    }
    let given: Vec<OsString> = std::env::args_os().collect();
    let result = match args::parse(&given) {
        Ok(arguments) => run(arguments),
        Err(error) => {
            // Help that nobody reads to its end is no failure.
            error.print().ok();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()));
        }
    };
    let exit = result.unwrap_or_else(|failure| {
        output::report(&failure);
        failure.exit
    });
    exit.into()
}

fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let verbose = match &arguments {
        Arguments::Run(arguments) => arguments.verbose,
        Arguments::Command(_) => 0,
    };
    log::start(verbose).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .on_thread_park(dryad_rpc::stdio::before_sleep)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    // As a task of its own it takes turns with the connection's without a look at the kernel between.
    let work = runtime.spawn(mode::run(arguments));
    let result = runtime.block_on(work).unwrap_or_else(|error| Err(Failure::failed(format!("dryad broke: {error}"))));
    // A thread that still waits for input, or for a tool that does not look up, must not hold the end.
    runtime.shutdown_background();
    result
}
