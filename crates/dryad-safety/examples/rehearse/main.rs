//! Measures what a rehearsal costs beside the plain command, and prints the figures as one JSON object.
//!
//! `rehearse DIR TREE [PART]` works in DIR, and TREE is one of many files; PART is one of `nothing`, `reading`,
//! `building`, `many`. Rounds alternate between the two ways, so that both see the same machine. Where nothing can be
//! rehearsed the figures are missing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark lays out its own files, and says so loudly when it cannot"
)]

mod many;
mod pairs;
mod place;

use dryad_effects::rehearse::helper_main;
use place::Place;
use serde_json::{Map, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    if let Some(code) = helper_main() {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(directory), Some(tree)) = (arguments.next(), arguments.next()) else {
        return ExitCode::FAILURE;
    };
    let part = arguments.next();
    let is_wanted = |name: &str| part.as_ref().is_none_or(|part| part.as_os_str() == name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut figures = Map::new();
    let place = Place::new(&directory.join("rehearse"));
    let started = Instant::now();
    let ladder = place.settings.probe_ladder();
    figures.insert("probe".to_owned(), json!(place::milliseconds(started)));
    place.settings.ladder();
    let started = Instant::now();
    place.settings.ladder();
    figures.insert("probe_cached".to_owned(), json!(place::milliseconds(started)));
    if ladder.best().is_dry_run() {
        runtime.block_on(async {
            if is_wanted("nothing") {
                pairs::nothing(&place, &mut figures).await;
            }
            if is_wanted("reading") {
                pairs::reading(&place, &tree, &mut figures).await;
            }
            if is_wanted("building") {
                pairs::building(&place, &mut figures).await;
            }
            if is_wanted("many") {
                many::measure(&place, &mut figures).await;
            }
        });
    }
    println!("{}", serde_json::Value::Object(figures));
    ExitCode::SUCCESS
}
