//! `dryad grep-ast`: code that has the shape of a pattern.
//!
//! ```text
//! search ─► each file, on any thread: its lines or its JSON ─► in the order of the files: printed at once
//! ```
//!
//! Nothing is kept but counts: the first match is seen while the last one is still looked for, and once
//! nobody reads the search ends.

mod render;

use crate::args::GrepAstArguments;
use crate::options;
use crate::output::{self, JsonList, Stream};
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_ast::ast_grep::{AstGrepArguments, AstGrepQuery, search_each};
use dryad_ast::{AstSettings, Details, Totals};
use dryad_safety::tool::{PlanContext, ToolError};
use render::{Form, Rendered};
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// Searches, and prints what is found. The exit code says whether something was.
///
/// # Errors
///
/// When the pattern, the language or the path makes no sense.
pub(super) fn run(arguments: GrepAstArguments) -> Result<Exit, Failure> {
    let workdir = options::workdir(arguments.place.cwd.as_deref())?;
    let form = if arguments.json { Form::Json } else { Form::Lines(Style::of(&io::stdout())) };
    let query = query(arguments)?;
    let mut printer = Printer::new(form);
    let totals = search_each(
        &query,
        &AstSettings { max_files: None },
        &PlanContext::new(&workdir),
        |file| form.render(file),
        |rendered, page| printer.add(&rendered, page.end),
    );
    let totals = match totals {
        Ok(totals) => totals,
        Err(error) => return printer.give_up().and(Err(refused(&error))),
    };
    printer.finish(&totals)?;
    Ok(if totals.count > 0 { Exit::Done } else { Exit::Failed })
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
    let strictness = scope.strictness.into();
    let checked = AstGrepQuery::try_from(AstGrepArguments {
        pat: vec![pattern],
        lang: scope.lang,
        path: scope.path,
        glob: scope.glob,
        sel: scope.selector,
        ..AstGrepArguments::default()
    });
    let mut query = checked.map_err(|error| Failure::usage(error.to_string()))?;
    (query.limit, query.context) = (limit.unwrap_or(NonZeroUsize::MAX), context);
    query.target.strictness = strictness;
    Ok(query)
}

/// Prints files as they come.
enum Printer {
    Lines(Stream),
    Json(JsonList),
}

impl Printer {
    fn new(form: Form) -> Self {
        match form {
            Form::Lines(_) => Self::Lines(Stream::new()),
            Form::Json => Self::Json(JsonList::new("matches", Stream::new())),
        }
    }

    /// Prints the first matches of a file.
    fn add(&mut self, rendered: &Rendered, matches: usize) -> ControlFlow<()> {
        match self {
            Self::Lines(stream) => stream.write(rendered.first(matches)),
            Self::Json(list) => list.add(rendered.first(matches)),
        }
    }

    /// Ends where something went wrong.
    fn give_up(self) -> Result<(), Failure> {
        match self {
            Self::Lines(stream) => stream.finish(),
            Self::Json(list) => list.give_up(),
        }
    }

    /// Whether nobody reads any more.
    fn is_over(&self) -> bool {
        match self {
            Self::Lines(stream) => stream.is_over(),
            Self::Json(list) => list.is_over(),
        }
    }

    fn finish(self, totals: &Totals) -> Result<(), Failure> {
        // The totals of a search that was left say nothing.
        if self.is_over() {
            return self.give_up();
        }
        match self {
            Self::Json(list) => list.finish(&Details::of_search(totals)),
            Self::Lines(stream) => {
                stream.finish()?;
                totals.issues().iter().for_each(|issue| output::note(&harmless(issue)));
                if let Some(limit) = totals.limit_reached {
                    output::note(&format!("stopped at {limit} of {} matches", totals.count));
                }
                Ok(())
            }
        }
    }
}
