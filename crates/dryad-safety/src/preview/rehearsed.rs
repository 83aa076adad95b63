//! What a rehearsed command did, or would do: everything that is known, in an order that puts the decision first.
//!
//! ```text
//! $ command, where, how it ended, on which rung
//! the end of its output
//! paths · what would be lost · what happened outside the roots · what a change set cannot say · connections · limits
//! difference
//! ```
//!
//! Everything is bounded, so that a model can read it.

mod listing;
mod size;

pub use size::size;

use super::difference;
use crate::plan::Contents;
use crate::rehearsal::{Network, NetworkAttempt, OutsideKind, Rehearsed, one_line};
use dryad_protocol::action::Preview;
use dryad_protocol::change_set::Change;
use dryad_protocol::command::{CommandEnd, CommandSpec};
use dryad_protocol::path::FilePath;
use listing::Listing;
use serde_json::{Map, Value, json};
use std::fmt::{Display, Write as _};
use std::path::Path;

/// Stands above the differences.
const DIFFERENCE: &str = "\ndifference\n";

/// Lines of output that are shown.
const OUTPUT_LINES: usize = 20;

/// Characters of such a line.
const OUTPUT_WIDTH: usize = 400;

/// Items of a list that are shown.
const SHOWN: usize = 12;

/// Lines of all differences together.
const DIFFERENCE_LINES: usize = 400;

/// Larger files are not compared.
const LARGEST_TEXT: u64 = 1024 * 1024;

/// So many bytes are compared.
const TEXTS: u64 = 8 * 1024 * 1024;

/// A rehearsal to be told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// What ran.
    pub command: &'a CommandSpec,
    /// What came of it.
    pub rehearsed: &'a Rehearsed,
    /// Whether it had the network.
    pub network: Network,
    /// Paths below it are told from there.
    pub workdir: &'a Path,
}

impl Told<'_> {
    /// All of it.
    pub fn preview(&self) -> Preview {
        let listing = self.listing();
        let mut text = self.head();
        text.push_str(&self.output());
        text.push_str(&self.effects());
        let differences = self.differences(&self.rehearsed.texts(LARGEST_TEXT, TEXTS));
        if !differences.is_empty() {
            text.push_str(DIFFERENCE);
            text.push_str(&differences);
        }
        Preview { would_affect: listing.in_a_few_words(), text, estimated_impact: self.impact(&listing) }
    }

    /// How it ended, and what that is worth.
    pub fn head(&self) -> String {
        let Self { command, rehearsed, .. } = self;
        let mut text = format!("$ {}\n(in {})\n", command.command, command.cwd);
        let end = match rehearsed.outcome.end {
            CommandEnd::Exited { code } => format!("exit code {code}"),
            CommandEnd::TimedOut => format!("timed out after {} seconds", command.timeout_seconds),
            CommandEnd::Cancelled => "cancelled".to_owned(),
        };
        let rung = rehearsed.rung;
        let worth = match (rung.is_dry_run(), rung.can_undo()) {
            (true, _) => "rehearsed: nothing is changed until it is applied",
            (false, true) => "it really ran; what it changed can be undone",
            (false, false) => "it really ran; what it changed is not known and cannot be undone",
        };
        let network = match rehearsed.network(self.network) {
            Network::Allow => "network on",
            Network::None => "network off",
        };
        writeln!(text, "{end} after {} ms; {worth} (rung: {rung}, {network})", rehearsed.outcome.duration_ms).ok();
        text
    }

    /// The end of what it printed.
    pub fn output(&self) -> String {
        let printed = self.rehearsed.outcome.output.text.trim_end();
        if printed.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = printed.lines().collect();
        let hidden = lines.len().saturating_sub(OUTPUT_LINES);
        let mut text = "\noutput\n".to_owned();
        if hidden > 0 {
            writeln!(text, "  … {hidden} lines before").ok();
        }
        for line in lines.iter().skip(hidden) {
            writeln!(text, "  {}", line.chars().take(OUTPUT_WIDTH).collect::<String>()).ok();
        }
        text
    }

    /// What it changes and what else it did, without the differences.
    pub fn effects(&self) -> String {
        let rehearsed = self.rehearsed;
        let mut text = self.listing().render();
        let outside: Vec<String> =
            rehearsed.outside_writes.iter().map(|write| self.outside(&write.path, write.kind)).collect();
        let heading = if rehearsed.rung.is_dry_run() {
            "written outside the granted roots, and never applied"
        } else {
            "written outside the granted roots, and not undone by an undo"
        };
        section(&mut text, heading, &outside);
        let heading = match rehearsed.rung.is_dry_run() {
            true => "done, but not carried over",
            false => "done, and not undone by an undo",
        };
        section(&mut text, heading, &rehearsed.not_carried);
        let stale: Vec<String> = rehearsed.changed_meanwhile.iter().map(|path| self.name(path)).collect();
        section(&mut text, "changed by somebody else meanwhile, so that nothing can be applied", &stale);
        let attempts: Vec<String> = rehearsed.network_attempts.iter().map(attempted).collect();
        section(&mut text, "connections it tried", &attempts);
        section(&mut text, "left running, and ended", &rehearsed.left_running);
        section(&mut text, "limits of this rehearsal", &rehearsed.limits);
        text
    }

    fn listing(&self) -> Listing<'_> {
        Listing::new(&self.rehearsed.changes, self.workdir).with_bearings(&self.rehearsed.borne)
    }

    fn differences(&self, contents: &Contents) -> String {
        let mut text = String::new();
        let mut left = DIFFERENCE_LINES;
        let mut passed_over = 0;
        for change in self.rehearsed.changes.iter() {
            let lines = difference(change, contents);
            if lines.is_empty() {
                continue;
            }
            let count = lines.lines().count();
            if count > left {
                passed_over += 1;
                continue;
            }
            left -= count;
            write!(text, "{}\n{lines}", self.name(&change.path)).ok();
        }
        if passed_over > 0 {
            writeln!(text, "… and the differences of {passed_over} more files").ok();
        }
        text
    }

    fn impact(&self, listing: &Listing<'_>) -> Map<String, Value> {
        let rehearsed = self.rehearsed;
        let mut impact = Map::new();
        let mut add = |name: &str, value: Value| impact.insert(name.to_owned(), value);
        add("paths", json!(rehearsed.changes.len()));
        add("lostFiles", json!(listing.lost_files()));
        add("lostBytes", json!(listing.lost_bytes()));
        add("outsideWrites", json!(rehearsed.outside_writes.len()));
        add("rung", json!(rehearsed.rung));
        if let CommandEnd::Exited { code } = rehearsed.outcome.end {
            add("exitCode", json!(code));
        }
        impact
    }

    fn outside(&self, path: &FilePath, kind: OutsideKind) -> String {
        let what = match kind {
            OutsideKind::Created => "new",
            OutsideKind::Changed => "changed",
            OutsideKind::Deleted => "deleted",
        };
        format!("{} ({what})", self.name(path))
    }

    fn name(&self, path: &FilePath) -> String {
        name(path, self.workdir)
    }
}

/// The text of a rehearsal's preview without the differences, which are cut short there.
pub fn without_difference(text: &str) -> &str {
    text.split_once(DIFFERENCE).map_or(text, |(before, _)| before)
}

fn attempted(attempt: &NetworkAttempt) -> String {
    match attempt.count {
        0 | 1 => attempt.to.clone(),
        count => format!("{} ({count} times)", attempt.to),
    }
}

fn name(path: &FilePath, workdir: &Path) -> String {
    let path = path.as_path();
    let below = path.strip_prefix(workdir).ok().filter(|below| !below.as_os_str().is_empty());
    one_line(&below.unwrap_or(path).to_string_lossy()).into_owned()
}

fn section<T: Display>(text: &mut String, heading: &str, items: &[T]) {
    if items.is_empty() {
        return;
    }
    writeln!(text, "\n{heading}").ok();
    for item in items.iter().take(SHOWN) {
        writeln!(text, "  {}", one_line(&item.to_string())).ok();
    }
    let more = items.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(text, "  … and {more} more").ok();
    }
}

/// Whether a change takes a file away.
fn takes_file(change: &Change) -> Option<u64> {
    use dryad_protocol::image::Image;
    match (&change.before, &change.after) {
        (Image::File(file), Image::Absent | Image::Symlink { .. } | Image::Directory { .. }) => Some(file.size),
        (Image::File(_), Image::File(_)) | (Image::Absent | Image::Symlink { .. } | Image::Directory { .. }, _) => None,
    }
}
