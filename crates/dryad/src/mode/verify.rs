//! `dryad verify`: reads every record of the workspace and every kept content, and names the first damage.

use super::changes::{Memory, from_log, from_workspace};
use crate::args::PlaceArguments;
use crate::output;
use crate::report::{Exit, Failure};
use dryad_effects::lock::Lock;
use dryad_effects::vault::Vault;
use dryad_safety::oplog::FileLog;
use std::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

/// Checks the logs and the vault.
///
/// # Errors
///
/// When there is damage, or something cannot be read.
pub(super) fn run(arguments: &PlaceArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(arguments)?;
    let walked = logs(&memory);
    memory.print_notices();
    let (operations, calls) = walked?;
    let contents = vault(&memory.home.root().join("vault"))?;
    output::print(&format!(
        "verified: {operations} operations, {calls} other calls, {contents} kept contents, no damage\n"
    ))?;
    Ok(Exit::Done)
}

/// Walks the chains of both logs; how many operations and how many other calls they hold.
fn logs(memory: &Memory) -> Result<(u64, u64), Failure> {
    let (Some(workspace), Some(state)) = (memory.known(), memory.state()) else { return Ok((0, 0)) };
    workspace.recover().map_err(|error| from_workspace(&error))?;
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    let calls = workspace.calls().map_err(|error| from_workspace(&error))?;
    Ok((walk(log, "operations", &state.join("lock"))?, walk(calls, "calls", &state.join("calls.lock"))?))
}

/// Walks the chain of one log while nobody appends to it; how many entries it holds.
fn walk(log: &FileLog, what: &str, lock: &Path) -> Result<u64, Failure> {
    let _lock = Lock::acquire(lock).map_err(|error| Failure::failed(format!("{}: {error}", lock.display())))?;
    let progress = Progress::new("log");
    let walked = log.verify(|done, total| progress.show(done, total)).map_err(|error| from_log(&error));
    progress.end();
    let walked = walked?;
    match walked.first_damage {
        None => Ok(walked.entries),
        Some(damage) => Err(Failure::failed(format!(
            "{}: line {}, byte {}: {}",
            log.path().display(),
            damage.line,
            damage.offset,
            damage.what
        ))
        .hint(format!("The {} {what} before it are as they were written.", walked.entries))),
    }
}

/// Reads every kept content; how many there are.
fn vault(directory: &Path) -> Result<usize, Failure> {
    let unusable = |error: io::Error| Failure::failed(format!("cannot use {}: {error}", directory.display()));
    let vault = Vault::open(directory).map_err(unusable)?;
    let progress = Progress::new("vault");
    let problems = vault.verify(&|done, total| progress.show(done as u64, total as u64));
    progress.end();
    let Some(first) = problems.first() else {
        return vault.usage().map(|usage| usage.blobs).map_err(|error| Failure::failed(error.to_string()));
    };
    let hint = "A damaged content is never used: an undo that needs it says so. The log is sound.";
    let more = match problems.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(Failure::failed(format!("{first}{more}")).hint(hint))
}

/// A line on standard error that tells how far it is, if a person may be looking.
struct Progress {
    what: &'static str,
    shown: bool,
    percent: Cell<Option<u64>>,
}

impl Progress {
    fn new(what: &'static str) -> Self {
        Self { what, shown: io::stderr().is_terminal(), percent: Cell::new(None) }
    }

    fn show(&self, done: u64, total: u64) {
        let percent = (done * 100).checked_div(total).unwrap_or(100);
        if self.shown && self.percent.replace(Some(percent)) != Some(percent) {
            write!(io::stderr().lock(), "\r{}: {percent} %", self.what).ok();
        }
    }

    fn end(&self) {
        if self.percent.get().is_some() && self.shown {
            write!(io::stderr().lock(), "\r\u{1b}[K").ok();
        }
    }
}
