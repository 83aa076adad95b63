//! Tries the ladder of rehearsal out, and tells what it came to.

use super::examine::roots;
use super::{RungFinding, RungState, Sandbox};
use crate::home::Home;
use crate::report::Failure;
use crate::settings::Settings;
use crate::wiring::rehearsal;
use dryad_safety::rehearsal::{Footing, Hold};
use std::path::Path;

/// Looks at how commands in `workdir` would be run. Where the user has no files yet, none are made.
pub(super) fn examine(settings: &Settings, home: &Home, workdir: &Path) -> Result<Sandbox, Failure> {
    let mut rehearsal = rehearsal(settings, home, workdir, roots(settings, workdir));
    let scratch = tempfile::Builder::new().prefix("dryad-doctor-").tempdir();
    let scratch = scratch.map_err(|error| Failure::failed(format!("cannot make a temporary directory: {error}")))?;
    if !home.root().is_dir() {
        rehearsal.state = scratch.path().to_owned();
    }
    let ladder = rehearsal.probe_ladder();
    let best = ladder.best();
    Ok(Sandbox {
        in_use: best,
        previews: best.is_dry_run(),
        undoes: best.can_undo(),
        rungs: ladder.rungs.iter().map(finding).collect(),
        unwatched: ladder.unwatched,
        landlock: ladder.landlock,
        no_floor: rehearsal.floor().err().map(|error| error.to_string()),
        deletable: rehearsal.deletable,
    })
}

fn finding(footing: &Footing) -> RungFinding {
    let (state, reason) = match &footing.hold {
        Hold::Works => (RungState::Works, None),
        Hold::Refused(reason) => (RungState::Refused, Some(reason.clone())),
        Hold::Untried => (RungState::Untried, None),
        Hold::Unwanted(reason) => (RungState::Unwanted, Some(reason.clone())),
    };
    RungFinding { rung: footing.rung, state, reason }
}

/// The findings for people.
pub(super) fn lines(sandbox: &Sandbox) -> Vec<String> {
    let Sandbox { in_use, .. } = sandbox;
    let mut lines = vec![match (sandbox.previews, sandbox.undoes) {
        (true, _) => {
            format!("commands are rehearsed: what they change is seen first, and can be undone (rung: {in_use})")
        }
        (false, true) => {
            format!("commands really run; what they change in the directories above can be undone (rung: {in_use})")
        }
        (false, false) => {
            format!("commands run directly, with your rights; what they change cannot be undone (rung: {in_use})")
        }
    }];
    for rung in &sandbox.rungs {
        let reason = rung.reason.as_deref().unwrap_or_default();
        match rung.state {
            RungState::Refused => lines.push(format!("{} does not work here: {reason}", rung.rung)),
            RungState::Unwanted => lines.push(format!("{} is not wanted: {reason}", rung.rung)),
            RungState::Works | RungState::Untried => {}
        }
    }
    if let Some(reason) = &sandbox.unwatched {
        lines.push(format!("connections and renamed directories cannot be watched in a rehearsal: {reason}"));
    }
    lines.push(match (&sandbox.no_floor, sandbox.landlock) {
        (None, Some(version)) => format!(
            "a command that runs directly cannot delete or truncate files outside the directories above (landlock {version})"
        ),
        (None, None) => "the kernel has no landlock".to_owned(),
        (Some(problem), _) => problem.clone(),
    });
    lines.extend(sandbox.deletable.iter().map(|place| format!("except in {}", place.display())));
    lines.push("what goes to the network, other machines or daemons cannot be rehearsed or undone".to_owned());
    lines
}
