//! `dryad log`: what was done in this workspace, the newest first.

use super::changes::{Memory, ShortIds, from_log, from_workspace, local_time};
use crate::args::LogArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{OperationEffect, OperationHead, Outcome};
use dryad_protocol::path::FilePath;
use dryad_safety::oplog::{Entry, FileLog, LogError, State, Summary};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;

/// One operation as it is listed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(flatten)]
    head: OperationHead,
    #[serde(flatten)]
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<OperationId>,
}

/// The operations to list, and how much of an id names one.
#[derive(Debug, Default)]
struct Listing {
    rows: Vec<Row>,
    ids: ShortIds,
    /// What stands in the way of listing the older ones.
    damage: Option<LogError>,
}

/// Lists the operations.
///
/// # Errors
///
/// When the log cannot be read.
pub(super) fn run(arguments: &LogArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(&arguments.place)?;
    let Some(workspace) = memory.known() else {
        output::note(&format!("nothing is recorded for {}", memory.workdir.display()));
        return print(&Listing::default(), arguments.json);
    };
    memory.recover()?;
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    let path = arguments.path.as_deref().map(|path| memory.typed(path));
    let listing = list(log, arguments, path.as_ref()).map_err(|error| from_log(&error))?;
    memory.print_notices();
    let exit = print(&listing, arguments.json)?;
    listing.damage.map_or(Ok(exit), |damage| Err(from_log(&damage)))
}

fn print(listing: &Listing, json: bool) -> Result<Exit, Failure> {
    if json {
        output::print_json(&listing.rows)?;
    } else {
        output::print(&render(listing, Style::of(&io::stdout())))?;
    }
    Ok(Exit::Done)
}

/// Collects what is wanted, down to the first damage: what that hides may be an undo of what is older. The ids of the
/// operations between, and the next one, count as neighbours.
fn list(log: &FileLog, arguments: &LogArguments, path: Option<&FilePath>) -> Result<Listing, LogError> {
    let mut listing = Listing::default();
    for item in log.with_states() {
        let (entry, state) = match item {
            Ok(item) => item,
            Err(damage @ LogError::Damaged { .. }) => {
                listing.damage = Some(damage).filter(|_| listing.rows.len() < arguments.count);
                break;
            }
            Err(error) => return Err(error),
        };
        listing.ids.add(&entry.head.id);
        if listing.rows.len() >= arguments.count {
            break;
        }
        if is_wanted(log, &entry, arguments.session.as_deref(), path)? {
            let undone_by = match state {
                State::Effective => None,
                State::UndoneBy(by) => Some(by),
            };
            listing.rows.push(Row { head: entry.head, summary: entry.summary, undone_by });
        }
    }
    Ok(listing)
}

fn is_wanted(log: &FileLog, entry: &Entry, session: Option<&str>, path: Option<&FilePath>) -> Result<bool, LogError> {
    let of_session = |wanted| entry.head.session_id.as_ref().is_some_and(|id| id.as_str().starts_with(wanted));
    if !session.is_none_or(of_session) {
        return Ok(false);
    }
    let Some(path) = path else { return Ok(true) };
    Ok(match log.operation(entry)?.effect {
        OperationEffect::Files { changes } => {
            changes.iter().any(|change| change.path.as_path().starts_with(path.as_path()))
        }
        OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing => false,
    })
}

fn render(listing: &Listing, style: Style) -> String {
    // All as long as the longest: a column is easier to read.
    let id_width = listing.rows.iter().map(|row| listing.ids.short(&row.head.id).chars().count()).max().unwrap_or(0);
    let tool_width = listing.rows.iter().map(|row| row.head.tool_name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &listing.rows {
        // What is undone is dim as a whole.
        let inner = if row.undone_by.is_some() { Style::PLAIN } else { style };
        let id: String = row.head.id.as_str().chars().take(id_width).collect();
        let time = local_time(row.head.timestamp);
        let tool = format!("{:<tool_width$}", row.head.tool_name);
        let (id, time, tool) = (inner.cyan(&id), inner.dim(&time), harmless(&tool));
        let line = format!("{} {id}  {time}  {tool}  {}", mark(row), about(row, &listing.ids));
        writeln!(text, "{}", if row.undone_by.is_some() { style.dim(&line) } else { line.as_str().into() }).ok();
    }
    text
}

/// Whether it counts: `●` does, `○` is undone, `↶` and `↷` take back and do again.
fn mark(row: &Row) -> char {
    match (&row.undone_by, row.head.tool_name.as_str()) {
        (Some(_), _) => '○',
        (None, "undo") => '↶',
        (None, "redo") => '↷',
        (None, _) => '●',
    }
}

fn about(row: &Row, ids: &ShortIds) -> String {
    let OperationHead { label, tool_name, outcome, undoes, .. } = &row.head;
    let plain = label.strip_prefix(tool_name.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(label);
    let mut text = harmless(&plain.replace('\n', " ")).into_owned();
    match row.summary {
        Summary::Files { paths: 1, .. } => text.push_str("  1 path"),
        Summary::Files { paths, .. } => {
            write!(text, "  {paths} paths").ok();
        }
        Summary::Command => text.push_str("  command"),
        Summary::Foreign => text.push_str("  acted on its own"),
        Summary::Nothing => {}
    }
    if *outcome == Outcome::Unproven {
        text.push_str("  unproven");
    }
    for undone in undoes {
        write!(text, "  undoes {}", ids.short(undone)).ok();
    }
    if let Some(by) = &row.undone_by {
        write!(text, "  undone by {}", ids.short(by)).ok();
    }
    text
}
