//! What a long session costs: opening it beside one pass of `serde_json` over its file and beside Pi's own loader,
//! its memory, appending, exporting; and a list of many.
//!
//! The example of `dryad-session` does the work on a session that it makes; Pi's loader is then run on the same file,
//! in a process of its own that has loaded its code before the clock starts.

use super::figures::{Figure, of_example, rows};
use super::table::{Limit, Row};
use crate::packages;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use std::path::Path;

/// Opening takes several threads. What they take together is held against the limit: on a machine with nothing else to
/// do it is more than the clock says, and on a busy one it still says something.
const FIGURES: [Figure; 8] = [
    ("100 MB session opened, beside one pass, CPU", "ms", "open_busy_ms", Some("pass_busy_ms"), Limit::Times(1.5)),
    ("the same by the clock", "ms", "open_ms", Some("pass_ms"), Limit::None),
    ("100 MB session opened, beside Pi, CPU", "ms", "open_busy_ms", Some("pi_busy_ms"), Limit::Times(0.2)),
    ("the same by the clock", "ms", "open_ms", Some("pi_ms"), Limit::None),
    ("its memory, beside the active path", "bytes", "held_bytes", Some("path_bytes"), Limit::Times(2.0)),
    ("append to it, beside a short one", "µs", "append_long_us", Some("append_short_us"), Limit::Times(1.5)),
    ("it exported as a page", "ms", "export_ms", None, Limit::AtMost(2000.0)),
    ("1,000 sessions listed", "ms", "list_ms", None, Limit::AtMost(60.0)),
];

/// Opens a session as Pi does and builds its context; prints the best times in milliseconds, by the clock and on
/// processors.
const PI_LOADER: &str = "const [manager, file] = process.argv.slice(1);
const { SessionManager } = await import(manager);
let [clock, busy] = [Infinity, Infinity];
for (let round = 0; round < 5; round++) {
  const [started, used] = [performance.now(), process.cpuUsage()];
  const { messages } = SessionManager.open(file).buildSessionContext();
  const { user, system } = process.cpuUsage(used);
  clock = Math.min(clock, performance.now() - started);
  busy = Math.min(busy, (user + system) / 1000);
  if (messages.length !== 50000) throw new Error(`${messages.length} messages`);
}
console.log(clock, busy);";

/// Runs the example, then Pi, and gives the figures their limits.
pub(crate) fn measure(repository: &Repository) -> Result<Vec<Row>> {
    let target = repository.target_dir()?;
    let peers = target.join("peers/pi");
    packages::pi(&peers)?;
    let pi = peers.join("node_modules/@earendil-works/pi-coding-agent");
    let place = target.join("bench");
    let mut measured = of_example(repository, "dryad-session", "session_speed", &[&place])?;
    let [clock, busy] = pi_milliseconds(&pi, &place.join("session-speed/large.jsonl"))?;
    measured.extend([("pi_ms".to_owned(), clock.into()), ("pi_busy_ms".to_owned(), busy.into())]);
    Ok(rows(&FIGURES, &measured))
}

fn pi_milliseconds(pi: &Path, file: &Path) -> Result<[f64; 2]> {
    let mut node = process::command("node", pi);
    node.args(["--input-type=module", "--eval", PI_LOADER]);
    let text = process::output(node.arg(pi.join("dist/core/session-manager.js")).arg(file))?;
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    figures.ok().and_then(|figures| figures.try_into().ok()).with_context(|| format!("Pi's loader printed {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_held_against_what_stands_beside_it() {
        let figures = serde_json::json!({"open_busy_ms": 300, "pass_busy_ms": 250, "pi_busy_ms": 1400, "list_ms": 61});
        let rows = rows(&FIGURES, figures.as_object().unwrap());
        let kept: Vec<&str> = rows.iter().filter(|row| row.is_kept()).map(|row| row.what).collect();
        assert_eq!(kept, ["100 MB session opened, beside one pass, CPU"], "Pi is to take five times as long");
    }
}
