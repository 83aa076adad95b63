//! The binary beside the floor program, by the side-by-side suite.
//!
//! The suite is a program of its own; this runs it, reads its report and holds the medians against
//! the limits.

use super::build;
use super::table::{Limit, Row};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The suite's name of a figure, ours, its unit, its limit.
const FIGURES: [(&str, &str, &str, Limit); 16] = [
    ("first_request_ms", "start to first model request", "ms", Limit::Times(6.0)),
    ("one_turn_cpu_ms", "one-turn run, CPU", "ms", Limit::Times(8.0)),
    ("session_cpu_ms", "50-tool-turn run, CPU", "ms", Limit::Times(3.0)),
    ("shell_turn_ms", "shell turn", "ms", Limit::Times(2.5)),
    ("read_turn_ms", "read turn", "ms", Limit::Times(6.0)),
    ("stream_cpu_ms", "20,000-delta run, CPU", "ms", Limit::Times(8.0)),
    ("peak_rss_mb", "one-turn run, peak memory", "MB", Limit::AtMost(20.0)),
    ("session_rss_mb", "50-tool-turn run, peak memory", "MB", Limit::AtMost(24.0)),
    ("session_connections", "50-tool-turn run, connections", "", Limit::AtMost(1.0)),
    ("install_mb", "installed size", "MB", Limit::AtMost(45.0)),
    ("rpc_first_ms", "RPC, start to first state", "ms", Limit::Times(4.0)),
    ("rpc_per_s", "RPC, round trips", "/s", Limit::TimesAtLeast(0.6)),
    ("rpc_prompt_ms", "RPC, prompt to model request", "ms", Limit::Times(5.0)),
    ("rpc_stream_ms", "RPC, 2,000-delta answer", "ms", Limit::Times(4.0)),
    ("rpc_stream_bytes_per_delta", "RPC, bytes for each delta", "B", Limit::AtMost(320.0)),
    ("rpc_idle_rss_mb", "RPC, idle memory", "MB", Limit::AtMost(16.0)),
];

/// Builds the binary, runs the suite in `directory` and gives back the figures.
pub(crate) fn measure(repository: &Repository, directory: &Path) -> Result<Vec<Row>> {
    build(repository, &["--package", "dryad"])?;
    let target = repository.target_dir()?;
    let binary = target.join("dist").join(format!("dryad{}", std::env::consts::EXE_SUFFIX));
    let (peers, out) = (target.join("bench/peers"), target.join("bench/suite"));
    make_directory(&peers)?;
    let mut command = process::command("python3", repository.root());
    command.arg(directory.join("run.py")).args(["--only", "floor,dryad", "--baseline", "floor"]);
    command.arg("--peer").arg(format!("dryad={}", binary.display()));
    command.arg("--peers-dir").arg(&peers).arg("--out").arg(&out).env("PYTHONDONTWRITEBYTECODE", "1");
    if !process::succeeds(&mut command)? {
        bail!("the suite in {} failed", directory.display());
    }
    let report = out.with_extension("json");
    let text = fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
    println!("bench: every sample is in {}", report.display());
    Ok(figures(&serde_json::from_str(&text)?))
}

/// The figures of a report.
fn figures(report: &Value) -> Vec<Row> {
    let median = |peer: &str, key: &str| report["peers"][peer]["metrics"][key]["median"].as_f64();
    let row = |&(key, what, unit, limit): &(&str, &'static str, &'static str, Limit)| Row {
        what,
        unit,
        ours: median("dryad", key),
        theirs: median("floor", key),
        limit,
    };
    FIGURES.iter().map(row).collect()
}

#[expect(clippy::disallowed_methods, reason = "benchmarks keep their files under target/")]
fn make_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_medians_of_a_report_become_rows() {
        let report = json!({"peers": {
            "floor": {"metrics": {"first_request_ms": {"median": 2.0}, "rpc_per_s": {"median": 1000.0}}},
            "dryad": {"metrics": {
                "first_request_ms": {"median": 8.0}, "peak_rss_mb": {"median": 12.5}, "rpc_per_s": {"median": 500.0},
            }},
        }});
        let rows = figures(&report);
        assert_eq!(rows.len(), FIGURES.len());
        assert_eq!((rows[0].ratio(), rows[0].is_kept()), (Some(4.0), true));
        assert_eq!((rows[6].ours, rows[6].is_kept()), (Some(12.5), true));
        assert!(!rows[1].is_kept(), "a figure that is missing is not kept");
        assert_eq!((rows[11].ratio(), rows[11].is_kept()), (Some(0.5), false));
    }
}
