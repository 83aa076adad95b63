//! `dryad verify`: reads every record of the workspace, every kept content and every text kept for merges, and names
//! the first damage, or the first content that is needed and not there.

mod lost;
mod merges;

use super::changes::{Memory, from_log, from_workspace};
use crate::args::PlaceArguments;
use crate::output;
use crate::report::{Exit, Failure};
use dryad_effects::aside::has_unfinished;
use dryad_effects::lock::Lock;
use dryad_effects::vault::Vault;
use dryad_safety::clock::Clock;
use dryad_safety::oplog::FileLog;
use dryad_safety::workspace::Workspace;
use std::cell::Cell;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
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

/// Walks the chains of both logs, and looks for what is lost; how many operations and how many other calls they hold.
fn logs(memory: &Memory) -> Result<(u64, u64), Failure> {
    let (Some(workspace), Some(state)) = (memory.known(), memory.state()) else { return Ok((0, 0)) };
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    if let Some(damage) = lost_end(workspace, log, &state.join("lock"))? {
        return Err(damage);
    }
    let operations = {
        let _lock = quiet(&state.join("lock"))?;
        let operations = walk(log, "operations")?;
        nothing_is_missed(log)?;
        nothing_is_lost(log, memory, &state)?;
        merges::check(log, memory, &state, Clock::System.now())?;
        operations
    };
    let calls = workspace.calls().map_err(|error| from_workspace(&error))?;
    let _lock = quiet(&state.join("calls.lock"))?;
    Ok((operations, walk(calls, "calls")?))
}

/// Recovers what a dead process left; what was wrong with the end of the log, if what stood there is lost.
fn lost_end(workspace: &Workspace, log: &FileLog, lock: &Path) -> Result<Option<Failure>, Failure> {
    let torn = log.torn_bytes().map_err(|error| from_log(&error))?;
    let (before, damage) = match torn {
        0 => (0, None),
        _ => {
            let _lock = quiet(lock)?;
            (log.count().0, walk(log, "operations").err())
        }
    };
    workspace.recover().map_err(|error| from_workspace(&error))?;
    // A journal may have the record, and then it is written again.
    Ok(damage.filter(|_| log.count().0 <= before))
}

/// Fails if something that was recorded once is no longer in the log, which shows no gap.
fn nothing_is_missed(log: &FileLog) -> Result<(), Failure> {
    let Some(piece) = log.missed().map_err(|error| from_log(&error))? else { return Ok(()) };
    let message =
        format!("an operation is missing: the log does not have it any more, and {} is damaged", piece.display());
    let hint = "That file is what was left of its record. The operation can no longer be undone; all others are as they were \
                written. Once the file is removed this is not told again.";
    Err(Failure::failed(message).hint(hint))
}

/// Fails if an operation needs a content that is not there any more.
fn nothing_is_lost(log: &FileLog, memory: &Memory, state: &Path) -> Result<(), Failure> {
    // That is told elsewhere, and what such a change found may lie in the tree still.
    if has_unfinished(state) {
        return Ok(());
    }
    let Some(lost) = lost::first(log, memory, Clock::System.now())? else { return Ok(()) };
    let message = format!(
        "operation {}: the former content of {} is lost: {}",
        lost.operation,
        memory.shown(&lost.path),
        lost.blob
    );
    let hint = "It is not in the vault any more, and `dryad gc` has not removed it: so recent an operation keeps what \
                it needs. Undo brings back the rest. The log is sound.";
    Err(Failure::failed(message).hint(hint))
}

/// Keeps others from changing anything meanwhile. Who may not even do that goes without: it is only read.
fn quiet(lock: &Path) -> Result<Option<Lock>, Failure> {
    match Lock::acquire(lock) {
        Ok(held) => Ok(Some(held)),
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => Ok(None),
        Err(error) => Err(Failure::failed(format!("{}: {error}", lock.display()))),
    }
}

/// Walks the chain of one log, to which nobody appends meanwhile; how many entries it holds.
fn walk(log: &FileLog, what: &str) -> Result<u64, Failure> {
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
