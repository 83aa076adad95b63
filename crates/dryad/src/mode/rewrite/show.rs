//! A rewrite as people and programs see it: file by file as it is worked out, and the rest at the end.

use crate::mode::changes::{LineCount, unified, unified_and_count};
use crate::output::{self, JsonList, Stream};
use crate::report::Failure;
use crate::terminal::{Style, harmless};
use dryad_ast::ast_edit::{FileRewrite, nothing, summary};
use dryad_ast::{Details, Totals};
use serde::Serialize;
use std::io::{self, IsTerminal as _, Stdout};
use std::ops::ControlFlow;

/// How a rewrite is shown.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// As a difference.
    Difference(Style),
    /// As JSON.
    Json,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    path: &'a str,
    lines: LineCount,
    diff: &'a str,
}

#[derive(Serialize)]
struct RestJson<'a> {
    #[serde(flatten)]
    details: Details<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
}

impl Form {
    /// What is shown of a file.
    pub(super) fn render(self, file: &FileRewrite, after: &str) -> String {
        match self {
            Self::Difference(style) => {
                let name = harmless(&file.shown);
                let heading = format!("--- a/{name}\n+++ b/{name}");
                format!("{}\n{}", style.bold(&heading), unified(file.before(), after, style))
            }
            Self::Json => {
                let (diff, lines) = unified_and_count(file.before(), after, Style::PLAIN);
                let change = ChangeJson { path: &file.shown, lines, diff: &diff };
                // It cannot fail: there are texts and numbers only.
                let item = serde_json::to_string(&change).unwrap_or_default();
                format!("{}{item}", JsonList::<Stdout>::BEFORE)
            }
        }
    }
}

/// Prints files as they come.
pub(super) enum Printer {
    Stream(Stream),
    /// To a person all at once, through the pager if it is long: nothing is asked afterwards.
    Paged(String),
    Json(JsonList),
    /// All files are printed.
    Done,
}

impl Printer {
    /// A printer; whether the change is made without a question.
    pub(super) fn new(form: Form, apply: bool) -> Self {
        match form {
            Form::Json => Self::Json(JsonList::new("changes", Stream::new())),
            Form::Difference(_) if apply && io::stdout().is_terminal() => Self::Paged(String::new()),
            Form::Difference(_) => Self::Stream(Stream::new()),
        }
    }

    /// Shows one file.
    pub(super) fn add(&mut self, text: &str) -> ControlFlow<()> {
        match self {
            Self::Stream(stream) => stream.write(text)?,
            Self::Paged(all) => all.push_str(text),
            Self::Json(list) => list.add(text)?,
            Self::Done => {}
        }
        ControlFlow::Continue(())
    }

    /// Whether nobody reads any more.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.is_over(),
            Self::Json(list) => list.is_over(),
            Self::Paged(_) | Self::Done => false,
        }
    }

    /// Ends where something went wrong.
    pub(super) fn give_up(self) -> Result<(), Failure> {
        match self {
            Self::Stream(stream) => stream.finish(),
            Self::Json(list) => list.give_up(),
            Self::Paged(_) | Self::Done => Ok(()),
        }
    }

    /// Tells that there is nothing to replace.
    pub(super) fn nothing(self, totals: &Totals) -> Result<(), Failure> {
        match self {
            Self::Json(list) => list.finish(&Details::of_rewrite(totals, false)),
            Self::Stream(_) | Self::Paged(_) | Self::Done => {
                output::note(&harmless(&nothing(totals)));
                Ok(())
            }
        }
    }

    /// Shows what is wrong with single files, once all are shown.
    pub(super) fn end_of_files(&mut self, totals: &Totals) -> Result<(), Failure> {
        match std::mem::replace(self, Self::Done) {
            list @ Self::Json(_) => {
                *self = list;
                return Ok(());
            }
            Self::Stream(stream) => stream.finish()?,
            Self::Paged(text) => output::print_paged(&text)?,
            Self::Done => {}
        }
        totals.issues().iter().for_each(|issue| output::note(&harmless(issue)));
        if let Some(limit) = totals.limit_reached {
            output::note(&format!("stopped at {limit} replacements"));
        }
        Ok(())
    }

    /// Tells what was done, with the operation if it was.
    pub(super) fn finish(self, totals: &Totals, operation: Option<&str>) -> Result<(), Failure> {
        match (self, operation) {
            (Self::Json(list), operation) => {
                list.finish(&RestJson { details: Details::of_rewrite(totals, operation.is_some()), operation })
            }
            (Self::Stream(_) | Self::Paged(_) | Self::Done, Some(_)) => {
                let line = format!("applied: {}, every path verified on disk", summary(totals));
                output::print(&format!("{}\n", Style::of(&io::stdout()).green(&line)))?;
                output::note_on_terminal("`dryad undo` takes it back");
                Ok(())
            }
            (Self::Stream(_) | Self::Paged(_) | Self::Done, None) => {
                output::note(&format!("nothing was written: {}; --apply writes them", summary(totals)));
                Ok(())
            }
        }
    }
}
