//! `--mode rpc`: serves a host that sends commands on standard input.
//!
//! ```text
//! settings ─► model ─► session ─► conversation ─► wire ◄─► host
//! ```
//!
//! Standard output belongs to the wire; everything else that is to be said goes to standard error.

mod mention;
mod program;

use super::changes::recover_known;
use super::gc;
use super::kept::Sessions;
use crate::log;
use crate::options::{ModelOptions, RunOptions};
use crate::report::{Exit, Failure};
use crate::settings::{Settings, TodoSettings};
use crate::signals::{self, Stops, Watch};
use crate::wiring::{Hands, HookPrograms, Line, Workshop, conversation};
use dryad_effects::process;
use dryad_rpc::response::Ids;
use dryad_rpc::stdio::{StandardInput, StandardOutput};
use dryad_rpc::wire::{Served, Wire, WireSettings};
use dryad_safety::clock::Clock;
use dryad_safety::workspace::Workspace as Memory;
use program::Around;
use std::sync::Arc;

/// The model that needs no key and no network.
const ALWAYS_THERE: &str = "scripted/demo";

/// Has every answer name its command and carry its id.
const STRICT_IDS: &str = "DRYAD_RPC_STRICT_IDS";

/// Has the host told the title of the window.
const EMIT_TITLE: [&str; 2] = ["PI_RPC_EMIT_TITLE", "DRYAD_RPC_EMIT_TITLE"];

/// Serves a host until it leaves.
///
/// # Errors
///
/// When the conversation cannot be put together.
pub(super) async fn run(options: RunOptions) -> Result<Exit, Failure> {
    let stops = signals::watch(Watch::Here);
    let served = tokio::select! {
        served = serve(options, &stops) => served,
        () = stops.quit.cancelled() => Ok(Exit::Done),
    };
    process::kill_all();
    served
}

async fn serve(options: RunOptions, stops: &Stops) -> Result<Exit, Failure> {
    let no_stream =
        |error: std::io::Error| Failure::failed(format!("standard input or output cannot be used: {error}"));
    let (input, output) = (StandardInput::open().map_err(no_stream)?, StandardOutput::open().map_err(no_stream)?);
    let workshop = Workshop::open(&options.workdir)?;
    let directory = options.session.directory.as_deref();
    let sessions = Sessions::new(&workshop.home, &workshop.settings, directory, &options.workdir);
    if options.session.at.is_some() {
        return Err(Failure::usage("--at is for a prompt")
            .hint("A host sends `navigate_tree` to go on from another entry of the session."));
    }
    let session = sessions.for_run(&options.session, stops, None).await?;
    let line = line(&workshop, &options).await?;
    log::cover(&line.mask);
    let memory = Arc::new(Memory::around(workshop.home.root(), &options.workdir));
    recover_known(&memory, &workshop.home, &options.workdir);
    let wire = Wire::new(line.mask.clone(), wire_settings());
    let program = Around::new(&workshop.settings, &options.workdir, &line.mask, &sessions);
    let hooks = HookPrograms::new(&workshop.home, &options.workdir, Some(wire.extension_errors()))?;
    let hands = Hands {
        hooks: Arc::new(hooks),
        home: workshop.home.clone(),
        settings: Settings { todo: TodoSettings::default(), ..workshop.settings.clone() },
        line,
        memory,
        sink: wire.sink(),
        dialogs: Some(wire.dialogs()),
        places: sessions.places.clone(),
        options: Arc::new(options),
    };
    let served = Served {
        conversation: conversation(hands, session)?,
        program: Arc::new(program),
        clock: Clock::System,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let ended = wire.serve(served, input, output, &stops.cancel).await;
    tracing::info!(?ended, "the host is gone");
    gc::collect_daily(&workshop);
    Ok(Exit::Done)
}

/// The model that was asked for; without a wish and without a key, the one that is always there.
async fn line(workshop: &Workshop, options: &RunOptions) -> Result<Line, Failure> {
    let failure = match workshop.line(&options.model).await {
        Ok(line) => return Ok(line),
        Err(failure) => failure,
    };
    let ModelOptions { name: None, provider: None, script: None, .. } = &options.model else { return Err(failure) };
    if workshop.settings.default_model.is_some() {
        return Err(failure);
    }
    let fallback = ModelOptions { name: Some(ALWAYS_THERE.to_owned()), ..options.model.clone() };
    workshop.line(&fallback).await.map_err(|_| failure)
}

fn wire_settings() -> WireSettings {
    let is_on = |name: &str| {
        let value = std::env::var(name).unwrap_or_default().to_lowercase();
        matches!(value.as_str(), "1" | "true" | "yes" | "on")
    };
    let ids = if is_on(STRICT_IDS) { Ids::Strict } else { Ids::Founding };
    WireSettings { ids, emits_titles: EMIT_TITLE.into_iter().any(is_on) }
}
