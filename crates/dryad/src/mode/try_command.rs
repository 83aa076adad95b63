//! `dryad try`: rehearses a command, shows what it would change, and applies, discards or keeps that.
//!
//! ```text
//! command ─► rehearsal (its own terminal, live) ─► changes ─► apply ─► one operation, undone by `dryad undo`
//!                                                        ├─► discard: every byte as before
//!                                                        └─► keep ─► pending action for `dryad apply`
//! ```
//!
//! The command runs once at most. Its exit code is the program's, whatever becomes of the changes.

mod ask;
mod keep;
mod report;
mod trial;
mod words;

use crate::args::TryArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::signals::{self, Watch};
use crate::terminal::{Style, harmless};
use dryad_protocol::command::CommandEnd;
use report::Fate;
use std::io::{self, IsTerminal as _};
use trial::Trial;

/// What shall become of the changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wish {
    Apply,
    Discard,
    Keep,
    Ask,
}

/// Rehearses the command and resolves what came of it.
///
/// # Errors
///
/// When it cannot be rehearsed here, or what it changed cannot be applied or kept.
pub(super) async fn run(arguments: &TryArguments) -> Result<Exit, Failure> {
    let wish = wish(arguments);
    let mut trial = Trial::prepare(arguments, wish).await?;
    trial.perform().await?;
    let exit = match trial.rehearsed()?.outcome.end {
        CommandEnd::Exited { code: 0 } => Exit::Done,
        CommandEnd::Exited { code } => u8::try_from(code).map_or(Exit::Failed, Exit::Command),
        CommandEnd::Cancelled | CommandEnd::TimedOut => return end_cancelled(&mut trial).await,
    };
    let fate = resolve(&mut trial, wish).await?;
    let told = if arguments.json { output::print_json(&trial.json(&fate)) } else { tell(&fate) };
    told.or_else(|failure| unheard(&fate, failure))?;
    Ok(exit)
}

/// The last word could not be printed. What has happened has happened all the same, so that the exit code is the
/// command's; the way back is told where it may be heard.
fn unheard(fate: &Fate, failure: Failure) -> Result<(), Failure> {
    let Failure { message, .. } = &failure;
    match fate {
        Fate::Applied { id, paths } => {
            output::note(&format!("applied: {paths}; `dryad undo {id}` takes it back; {message}"));
            Ok(())
        }
        Fate::Recorded { id, paths } => {
            output::note(&format!("changed: {paths}; `dryad undo {id}` takes it back; {message}"));
            Ok(())
        }
        Fate::Kept { id, .. } => Err(failure.hint(format!("It is kept as pending action {id}."))),
        Fate::Discarded | Fate::Nothing => Err(failure),
    }
}

fn wish(arguments: &TryArguments) -> Wish {
    let is_watched = io::stdin().is_terminal() && io::stdout().is_terminal();
    match arguments {
        TryArguments { apply: true, .. } => Wish::Apply,
        TryArguments { discard: true, .. } => Wish::Discard,
        TryArguments { keep: true, .. } => Wish::Keep,
        TryArguments { json: false, .. } if is_watched => Wish::Ask,
        TryArguments { .. } => Wish::Keep,
    }
}

/// What becomes of a command that nobody wants any more. What it has really changed is recorded before anything is
/// said: the terminal may be gone.
async fn end_cancelled(trial: &mut Trial) -> Result<Exit, Failure> {
    let is_dry_run = trial.rehearsed()?.rung.is_dry_run();
    let fate = if is_dry_run { Fate::Nothing } else { trial.record().await? };
    if let Fate::Recorded { id, paths } = &fate {
        output::note(&format!("cancelled; it had changed {paths}: `dryad undo {id}` takes that back"));
    } else {
        output::note("cancelled; nothing was changed");
    }
    if trial.is_json() && !is_dry_run {
        output::print_json(&trial.json(&fate))?;
    }
    Err(Failure::cancelled())
}

async fn resolve(trial: &mut Trial, wish: Wish) -> Result<Fate, Failure> {
    if !trial.rehearsed()?.rung.is_dry_run() {
        let shown = trial.shown()?;
        let fate = trial.record().await?;
        // It has happened, whether that can be printed or not.
        shown.print().unwrap_or_else(|failure| output::note(&failure.message));
        return Ok(fate);
    }
    trial.shown()?.print()?;
    if trial.rehearsed()?.changes.is_empty() && wish != Wish::Ask {
        return Ok(Fate::Nothing);
    }
    match wish {
        Wish::Apply => trial.apply().await,
        Wish::Keep => trial.keep().await,
        Wish::Discard => Ok(Fate::Discarded),
        Wish::Ask if trial.rehearsed()?.changes.is_empty() => Ok(Fate::Nothing),
        Wish::Ask => ask::ask(trial, &signals::watch(Watch::Aside)).await,
    }
}

/// The last word. It goes to standard output where a person, or a script that keeps the id, looks for it.
fn tell(fate: &Fate) -> Result<(), Failure> {
    let style = Style::of(&io::stdout());
    match fate {
        Fate::Applied { id, paths } => {
            let line = format!("applied: {paths}, every path verified on disk");
            output::print(&format!("{}\noperation {id}: `dryad undo {id}` takes it back\n", style.green(&line)))
        }
        Fate::Recorded { id, paths } => {
            output::print(&format!("changed: {paths}\noperation {id}: `dryad undo {id}` takes it back\n"))
        }
        Fate::Kept { id, label } => output::print(&format!(
            "pending action {id}: {}\n`dryad apply {id}` does it without running the command again, `dryad discard {id}` drops it\n",
            harmless(label)
        )),
        Fate::Discarded => {
            output::note("discarded; nothing was changed");
            Ok(())
        }
        Fate::Nothing => Ok(()),
    }
}
