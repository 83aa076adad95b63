//! `dryad grep-ast`: code that has the shape of a pattern.

use crate::args::GrepAstArguments;
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_ast::AstSettings;
use dryad_ast::ast_grep::{AstGrepArguments, AstGrepQuery, Capture, FileMatches, Found, Match, search};
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io;
use std::num::NonZeroUsize;

/// Searches, and prints what is found. The exit code says whether something was.
///
/// # Errors
///
/// When the pattern, the language or the path makes no sense.
pub(super) fn run(arguments: GrepAstArguments) -> Result<Exit, Failure> {
    let workdir = options::workdir(arguments.place.cwd.as_deref())?;
    let json = arguments.json;
    let query = query(arguments)?;
    let found = search(&query, &AstSettings { max_files: None }, &PlanContext::new(&workdir));
    let found = found.map_err(|error| refused(&error))?;
    if json {
        output::print_json(&as_json(&found))?;
    } else {
        let style = Style::of(&io::stdout());
        for file in &found.files {
            output::print(&render(file, style))?;
        }
        for issue in found.issues() {
            output::note(&harmless(issue));
        }
        if let Some(limit) = found.limit_reached {
            output::note(&format!("stopped at {limit} of {} matches", found.match_count));
        }
    }
    Ok(if found.match_count > 0 { Exit::Done } else { Exit::Failed })
}

/// A refusal of the tool as a failure: its first line is what happened, the rest what to do.
pub(super) fn refused(error: &ToolError) -> Failure {
    let text = error.to_string();
    match text.split_once('\n') {
        Some((message, hint)) => Failure::usage(message).hint(hint),
        None => Failure::usage(text),
    }
}

fn query(arguments: GrepAstArguments) -> Result<AstGrepQuery, Failure> {
    let GrepAstArguments { pattern, scope, context, limit, .. } = arguments;
    let checked = AstGrepQuery::try_from(AstGrepArguments {
        pat: vec![pattern],
        lang: scope.lang,
        path: scope.path,
        glob: scope.glob,
        sel: scope.selector,
        ..AstGrepArguments::default()
    });
    let checked = checked.map_err(|error| Failure::usage(error.to_string()))?;
    let limit = limit.unwrap_or(NonZeroUsize::MAX);
    Ok(AstGrepQuery { limit, context, strictness: scope.strictness.into(), ..checked })
}

/// The matches of a file as `grep` shows lines.
fn render(file: &FileMatches, style: Style) -> String {
    let name = harmless(&file.shown).into_owned();
    let name = style.cyan(&name);
    let mut text = String::new();
    for (index, found) in file.matches.iter().enumerate() {
        if found.lines.len() > 1 && index > 0 {
            text.push_str("--\n");
        }
        for line in &found.lines {
            let mark = if line.is_first { ':' } else { '-' };
            let number = line.number.to_string();
            let number = if line.is_first { style.green(&number) } else { style.dim(&number) };
            writeln!(text, "{name}{mark}{number}{mark}{}", harmless(&line.text)).ok();
        }
    }
    text
}

fn as_json(found: &Found) -> Value {
    let matches = found.files.iter().flat_map(|file| file.matches.iter().map(|it| match_json(file, it)));
    let matches: Vec<Value> = matches.collect();
    let mut value = found.details();
    value["matches"] = json!(matches);
    value
}

fn match_json(file: &FileMatches, found: &Match) -> Value {
    let position = |(line, column): (usize, usize)| json!({"line": line, "column": column});
    json!({
        "path": file.shown,
        "language": found.language.name(),
        "start": position(found.start),
        "end": position(found.end),
        "byteRange": [found.range.start, found.range.end],
        "text": found.text,
        "captures": found.captures.iter().map(capture_json).collect::<Map<_, _>>(),
    })
}

fn capture_json(capture: &Capture) -> (String, Value) {
    let value = match &capture.nodes {
        Some(nodes) => json!({"text": capture.text, "nodes": nodes}),
        None => json!({"text": capture.text}),
    };
    (capture.name.clone(), value)
}
