//! `dryad pending`: what waits for a decision, and what one of it would do.

use super::changes::local_time;
use super::staged::{Drawing, Found, Staged, listed, plain_label, who};
use crate::args::PendingArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_protocol::id::ActionId;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;

/// Lists what waits, or shows one of it.
///
/// # Errors
///
/// When there is no such plan, or it cannot be read.
pub(super) fn run(arguments: &PendingArguments) -> Result<Exit, Failure> {
    let staged = Staged::open(&arguments.place)?;
    match arguments.action.as_deref() {
        Some(prefix) => show(&staged, prefix, arguments.json)?,
        None => list(&staged, arguments.json)?,
    }
    Ok(Exit::Done)
}

fn show(staged: &Staged, prefix: &str, json: bool) -> Result<(), Failure> {
    let action = staged.read(&staged.find(Some(prefix))?)?;
    let drawing = Drawing::new(staged, &action, Style::of(&io::stdout()));
    if json { output::print_json(&drawing.json()) } else { output::print_paged(&(drawing.head() + &drawing.effect())) }
}

fn list(staged: &Staged, json: bool) -> Result<(), Failure> {
    let all = staged.all()?;
    if json {
        return output::print_json(&all.iter().map(row_json).collect::<Vec<_>>());
    }
    if all.is_empty() {
        return output::print(&format!("nothing waits for a decision in {}\n", staged.memory.workdir.display()));
    }
    output::print(&render(staged, &all, Style::of(&io::stdout())))?;
    output::note_on_terminal("`dryad pending ID` shows one, `dryad apply ID` does it, `dryad discard ID` drops it");
    Ok(())
}

fn row_json(found: &Found) -> Value {
    match found {
        Found::Whole(action) => listed(action),
        Found::Damaged { id, problem } => json!({"id": id, "damaged": problem}),
    }
}

fn render(staged: &Staged, all: &[Found], style: Style) -> String {
    let width = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let id_width = width(&mut all.iter().map(|found| staged.short(id_of(found))));
    let tool_width = width(&mut all.iter().map(tool_of));
    let mut text = String::new();
    for found in all {
        let id: String = id_of(found).as_str().chars().take(id_width).collect();
        match found {
            Found::Whole(action) => {
                let time = local_time(action.timestamp);
                let tool = format!("{:<tool_width$}", harmless(&action.source_tool_name));
                let (id, time, label) = (style.cyan(&id), style.dim(&time), plain_label(action));
                write!(text, "◇ {id}  {time}  {tool}  {label}  {}", who(action.resolver)).ok();
                let reason = action.reason.as_deref().map(|reason| format!(": {}", harmless(reason)));
                writeln!(text, "{}", reason.unwrap_or_default().replace('\n', " ")).ok();
            }
            Found::Damaged { problem, .. } => {
                let problem = harmless(problem).into_owned();
                writeln!(text, "{} {}  cannot be read: {problem}", style.red("✗"), style.cyan(&id)).ok();
            }
        }
    }
    text
}

fn id_of(found: &Found) -> &ActionId {
    match found {
        Found::Whole(action) => &action.id,
        Found::Damaged { id, .. } => id,
    }
}

fn tool_of(found: &Found) -> String {
    match found {
        Found::Whole(action) => action.source_tool_name.clone(),
        Found::Damaged { .. } => String::new(),
    }
}
