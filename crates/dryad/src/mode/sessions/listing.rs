//! `dryad sessions list`: the newest first, from the first bytes of each file.

use crate::args::ListArguments;
use crate::mode::changes::{ShortIds, local_time};
use crate::mode::kept::Sessions;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_protocol::id::OperationId;
use dryad_session::list::{self, Summary};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;

/// So many are shown to people who do not say how many.
const USUAL: usize = 20;

/// More sessions than this are searched with a word about it.
const LONG_SEARCH: usize = 200;

/// Lists sessions.
///
/// # Errors
///
/// When their directory cannot be read.
pub(super) fn run(arguments: &ListArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let found = if arguments.all {
        list::quick_all(&sessions.places)
    } else {
        list::quick_of(&sessions.places, &sessions.workdir)
    };
    let mut found = found
        .map_err(|error| Failure::failed(format!("cannot read {}: {error}", sessions.places.sessions().display())))?;
    if let Some(words) = &arguments.search {
        found = search(found, words, &sessions);
    }
    let most = arguments.count.unwrap_or(if arguments.look.json { usize::MAX } else { USUAL });
    let shown: Vec<&Summary> = found.iter().take(most).collect();
    if arguments.look.json {
        output::print_json(&shown.into_iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        let place = if arguments.all { "anywhere".to_owned() } else { format!("for {}", sessions.workdir.display()) };
        output::note(&format!("no session is kept {place}"));
        return Ok(Exit::Done);
    }
    output::print(&render(&shown, &found, arguments.all, Style::of(&io::stdout())))?;
    if let rest @ 1.. = found.len() - shown.len() {
        output::note(&format!("{rest} more; -n tells how many are listed"));
    }
    output::note_on_terminal("`dryad sessions show ID` shows one, `dryad -p --session ID \"…\"` goes on with it");
    Ok(Exit::Done)
}

fn search(found: Vec<Summary>, words: &str, sessions: &Sessions) -> Vec<Summary> {
    if found.len() > LONG_SEARCH {
        output::note_on_terminal(&format!("searching {} sessions", found.len()));
    }
    let matching = |summary: Summary| {
        let full = list::full(summary, &sessions.places).ok()??;
        full.matches(words).then_some(full.summary)
    };
    found.into_iter().filter_map(matching).collect()
}

/// A session as programs read it.
pub(super) fn as_json(summary: &Summary) -> Value {
    json!({
        "id": summary.id,
        "file": summary.path,
        "cwd": summary.cwd,
        "name": summary.title,
        "parentSession": summary.parent,
        "firstPrompt": summary.first_prompt,
        "created": summary.created.to_iso(),
        "modified": summary.modified.to_iso(),
        "bytes": summary.size,
    })
}

fn render(shown: &[&Summary], all: &[Summary], with_directory: bool, style: Style) -> String {
    let mut ids = ShortIds::default();
    for session in all {
        ids.add(&OperationId::from(session.id.as_str()));
    }
    let short = |session: &Summary| ids.short(&OperationId::from(session.id.as_str()));
    let width = shown.iter().map(|session| short(session).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for session in shown {
        let id: String = session.id.as_str().chars().take(width).collect();
        let id = format!("{id:<width$}");
        let (id, time) = (style.cyan(&id).into_owned(), local_time(session.modified));
        let line = harmless(&session.line()).into_owned();
        let cwd = session.cwd.as_deref().filter(|_| with_directory).map(|cwd| cwd.display().to_string());
        let cwd = cwd.map(|cwd| format!("  {}", style.dim(&harmless(&cwd)))).unwrap_or_default();
        writeln!(text, "{id}  {}  {line}{cwd}", style.dim(&time)).ok();
    }
    text
}
