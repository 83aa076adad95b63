//! `dryad audit`: every finished call of a tool, whether it changed something or not.
//!
//! What changed something is in the operation log, what did not in the log of calls beside it; here both are
//! one list, the newest first. All that fit are counted, also those that are too many to be listed.

mod merged;

use super::changes::{Memory, from_log, from_workspace, local_time};
use crate::args::AuditArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_protocol::id::{CallId, OperationId, SessionId};
use dryad_protocol::operation::{Audit, CallEnd, OperationHead};
use dryad_safety::oplog::LogError;
use dryad_safety::workspace::Workspace;
use merged::{Item, Merged};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

/// Characters of a session's id that are shown: as many as tell its millisecond.
const SESSION: usize = 13;

/// One finished call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(flatten)]
    head: OperationHead,
    /// As the head has it, with what became of it later.
    audit: Audit,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<OperationId>,
}

/// What is asked of the calls as a whole.
#[derive(Debug, Default, Eq, PartialEq, Serialize)]
struct Counts {
    calls: usize,
    destructive: usize,
    denied: usize,
    errors: usize,
}

/// The calls to list, and all of them counted.
#[derive(Debug, Default, Serialize)]
struct Report {
    calls: Vec<Row>,
    counts: Counts,
}

/// Lists the calls.
///
/// # Errors
///
/// When a log cannot be read.
pub(super) fn run(arguments: &AuditArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(&arguments.place)?;
    let report = match memory.known() {
        Some(workspace) => {
            workspace.recover().map_err(|error| from_workspace(&error))?;
            memory.print_notices();
            report(workspace, arguments)?
        }
        None => {
            output::note(&format!("nothing is recorded for {}", memory.workdir.display()));
            Report::default()
        }
    };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&render(&report, Style::of(&io::stdout())))?;
    }
    Ok(Exit::Done)
}

fn report(workspace: &Workspace, arguments: &AuditArguments) -> Result<Report, Failure> {
    let operations = workspace.log().map_err(|error| from_workspace(&error))?;
    let calls = workspace.calls().map_err(|error| from_workspace(&error))?;
    let merged = Merged::new(operations.with_states(), calls.newest_first());
    collect(merged, arguments.session.as_deref(), arguments.count).map_err(|error| from_log(&error))
}

/// Takes what is wanted, and counts each call once: one that was staged and applied later is in both logs.
fn collect(
    items: impl Iterator<Item = Result<Item, LogError>>,
    session: Option<&str>,
    most: usize,
) -> Result<Report, LogError> {
    let mut report = Report::default();
    let mut seen: HashSet<(Option<SessionId>, Option<String>, CallId)> = HashSet::new();
    for item in items {
        let Item { mut head, undone_by } = item?;
        let Some(audit) = head.audit.take() else { continue };
        let is_of_session = |wanted| head.session_id.as_ref().is_some_and(|id| id.as_str().starts_with(wanted));
        if !session.is_none_or(is_of_session) {
            continue;
        }
        let key = head.call_id.clone().map(|call| (head.session_id.clone(), head.message_id.clone(), call));
        report.counts.add(&audit, key.is_none_or(|key| seen.insert(key)));
        if report.calls.len() < most {
            let mut audit = *audit;
            if undone_by.is_some() && audit.outcome == CallEnd::Success {
                audit.outcome = CallEnd::RolledBack;
            }
            report.calls.push(Row { head, audit, undone_by });
        }
    }
    Ok(report)
}

impl Counts {
    fn add(&mut self, audit: &Audit, is_new: bool) {
        self.calls += usize::from(is_new);
        self.destructive += usize::from(is_new && audit.destructive);
        match audit.outcome {
            CallEnd::Denied => self.denied += 1,
            CallEnd::Error => self.errors += 1,
            CallEnd::Success | CallEnd::Staged | CallEnd::RolledBack => {}
        }
    }
}

fn render(report: &Report, style: Style) -> String {
    let width = |of: &dyn Fn(&Row) -> usize| report.calls.iter().map(of).max().unwrap_or(0);
    let tool_width = width(&|row| row.head.tool_name.chars().count());
    let operation_width = width(&|row| row.audit.operation.chars().count());
    let mut text = String::new();
    for row in &report.calls {
        let time = local_time(row.head.timestamp);
        let session: String =
            row.head.session_id.as_ref().map_or("-", |id| id.as_str()).chars().take(SESSION).collect();
        let tool = format!("{:<tool_width$}", harmless(&row.head.tool_name));
        let operation = format!("{:<operation_width$}", harmless(&row.audit.operation));
        let mark = if row.audit.destructive { style.red("⚠") } else { " ".into() };
        let (time, level) = (style.dim(&time), row.audit.level);
        let outcome = painted(row.audit.outcome, style);
        let line = format!("{time}  {session:<SESSION$}  {mark} {tool}  {operation}  level {level}  {outcome}");
        writeln!(text, "{}", line.trim_end()).ok();
    }
    writeln!(text, "{}", told(&report.counts)).ok();
    text
}

fn told(counts: &Counts) -> String {
    let Counts { calls, destructive, denied, errors } = counts;
    let plural = |count: &usize, one: &'static str, many: &'static str| if *count == 1 { one } else { many };
    let (call, error) = (plural(calls, "call", "calls"), plural(errors, "error", "errors"));
    format!("{calls} {call}, {destructive} destructive, {denied} denied, {errors} {error}")
}

fn painted(end: CallEnd, style: Style) -> String {
    match end {
        CallEnd::Success => "success".to_owned(),
        CallEnd::Error => style.red("error").into_owned(),
        CallEnd::Denied => style.red("denied").into_owned(),
        CallEnd::Staged => style.cyan("staged").into_owned(),
        CallEnd::RolledBack => style.dim("rolled_back").into_owned(),
    }
}
