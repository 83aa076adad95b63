//! Ctrl-C and its kin: the first one cancels the run, the second one ends the program.
//!
//! A run that writes while it goes on may be stuck in a write to a reader that does not read; a
//! signal must get through all the same, so there it is watched for on a thread of its own.

use crate::report::Exit;
use dryad_effects::process;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A program that is told to end by TERM has so long to do it by itself.
const GRACE: Duration = Duration::from_millis(500);

/// And so long to tidy up when it has not.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// What the user's signals bring about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    /// The run is no longer wanted.
    pub(crate) cancel: CancellationToken,
    /// The program shall end at once.
    pub(crate) quit: CancellationToken,
}

/// Where signals are watched for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Watch {
    /// Beside the run, on its thread: cheap, for runs that never block it.
    Here,
    /// On a thread of its own.
    Aside,
}

/// Watches for signals from now on.
pub(crate) fn watch(place: Watch) -> Stops {
    let stops = Stops::default();
    let watched = stops.clone();
    match place {
        Watch::Here => drop(tokio::spawn(async move { obey(&watched).await })),
        Watch::Aside => {
            let started = std::thread::Builder::new().name("signals".to_owned()).spawn(move || run_aside(&watched));
            if let Err(error) = started {
                tracing::warn!("signals are not watched: {error}");
            }
        }
    }
    stops
}

fn run_aside(stops: &Stops) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(obey(stops)),
        Err(error) => tracing::warn!("signals are not watched: {error}"),
    }
}

async fn obey(stops: &Stops) {
    let Ok(mut signals) = Signals::new() else { return };
    let first = signals.next().await;
    stops.cancel.cancel();
    match first {
        Kind::Interrupt => {
            crate::output::note_on_terminal("cancelling; press Ctrl-C again to end at once");
            signals.next().await;
        }
        Kind::Terminate => {
            tokio::time::timeout(GRACE, signals.next()).await.ok();
        }
    }
    process::kill_all();
    stops.quit.cancel();
    tokio::time::sleep(LAST_MOMENT).await;
    std::process::exit(i32::from(Exit::Cancelled.code()));
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

enum Kind {
    Interrupt,
    Terminate,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Kind {
        tokio::select! {
            _ = self.interrupt.recv() => Kind::Interrupt,
            _ = self.terminate.recv() => Kind::Terminate,
            _ = self.hangup.recv() => Kind::Terminate,
        }
    }
}
