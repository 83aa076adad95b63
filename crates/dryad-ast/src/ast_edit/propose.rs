//! All replacements of a call as one plan, with the text that shows it.

use super::arguments::AstEditQuery;
use super::report;
use super::rewrite::{Edit, Rewriter, Rewritten};
use crate::AstSettings;
use crate::issues::{Issues, count};
use crate::parallel;
use crate::scope::{Request, Scope};
use crate::source::Lines;
use dryad_protocol::call::ToolResult;
use dryad_safety::plan::{self, FilesEffect, Plan};
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::Value;
use std::collections::HashSet;
use std::path::PathBuf;

/// A rewrite that is worked out and not done.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The files that would change, by path.
    pub files: Vec<FileReplacements>,
    /// Files that were looked at.
    pub files_searched: usize,
    /// The limit, when there were more replacements.
    pub limit_reached: Option<usize>,
    /// Files that were not looked at because there were too many.
    pub left_out: usize,
    /// What was looked at, as it is shown.
    pub scope: String,
    /// The change itself; none when there is nothing to replace.
    pub effect: Option<FilesEffect>,
    pub(super) nothing_to_search: Option<String>,
    pub(super) issues: Issues,
}

/// The replacements in one file.
#[derive(Clone, Debug)]
pub struct FileReplacements {
    /// Where it really lies.
    pub path: PathBuf,
    /// The same as it is shown.
    pub shown: String,
    /// Its replacements, by place.
    pub replacements: Vec<Replacement>,
}

/// One replacement, as it is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replacement {
    /// The line it begins in, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The first line of what stood there.
    pub before: String,
    /// The first line of what takes its place.
    pub after: String,
}

/// Works out a rewrite.
///
/// # Errors
///
/// When the arguments lead nowhere, or replacements overlap.
pub fn propose(query: &AstEditQuery, settings: &AstSettings, context: &PlanContext) -> Result<Proposal, ToolError> {
    let request = Request {
        path: query.path.as_deref(),
        glob: query.glob.as_deref(),
        language: query.language,
        most_files: settings.max_files,
    };
    let scope = Scope::list(&request, context)?;
    let rewriter = Rewriter::new(query, &scope, context)?;
    let rewritten: Result<Vec<Rewritten>, ToolError> =
        parallel::map(&scope.files, context, |file| rewriter.file(file).transpose())?.into_iter().collect();
    let mut draft = Draft { left: query.limit.map_or(usize::MAX, usize::from), ..Draft::default() };
    for rewritten in rewritten? {
        draft.add(rewritten)?;
    }
    draft.issues.add_scope(&scope);
    if draft.files.is_empty() {
        rewriter.doubts()?.into_iter().for_each(|doubt| draft.issues.add(doubt));
    }
    let limit = query.limit.map(usize::from).filter(|_| draft.is_cut);
    Ok(draft.finish(&scope, limit))
}

impl Proposal {
    /// How many replacements there are.
    pub fn total(&self) -> usize {
        self.files.iter().map(|file| file.replacements.len()).sum()
    }

    /// What it would do, in a few words.
    pub fn label(&self) -> String {
        format!("AST Edit: {}", self.summary())
    }

    /// `2 replacements in 1 file`.
    pub fn summary(&self) -> String {
        let total = count(self.total(), "replacement", "replacements");
        format!("{total} in {}", count(self.files.len(), "file", "files"))
    }

    /// The text that shows it before it is done.
    pub fn text(&self) -> String {
        report::text(self)
    }

    /// The facts for programs.
    pub fn details(&self, applied: bool) -> Value {
        report::details(self, applied)
    }

    /// What is wrong with single files.
    pub fn issues(&self) -> &[String] {
        self.issues.texts()
    }

    /// The plan: the change, to be looked at first, or the answer that there is none.
    pub fn into_plan(mut self) -> Plan {
        let preview = ToolResult::text(self.text()).with_details(self.details(false));
        match self.effect.take() {
            Some(files) => Plan::Propose(plan::Proposal { files, preview, label: self.label() }),
            None => Plan::Answer(preview),
        }
    }
}

#[derive(Default)]
struct Draft {
    files: Vec<FileReplacements>,
    builder: ChangeBuilder,
    written: HashSet<PathBuf>,
    issues: Issues,
    /// Replacements that may still be made.
    left: usize,
    /// Whether there were more.
    is_cut: bool,
}

impl Draft {
    fn add(&mut self, rewritten: Rewritten) -> Result<(), ToolError> {
        let Rewritten { shown, edits, issue } = rewritten;
        issue.into_iter().for_each(|issue| self.issues.add(issue));
        let Some((seen, mut edits)) = edits else { return Ok(()) };
        // A file that is reached by two names is changed once.
        if !self.written.insert(seen.path.clone()) {
            return Ok(());
        }
        self.is_cut |= edits.len() > self.left;
        edits.truncate(self.left);
        self.left -= edits.len();
        if edits.is_empty() {
            return Ok(());
        }
        // It was parsed, so it is UTF-8.
        let before = std::str::from_utf8(&seen.bytes).unwrap_or_default();
        let lines = Lines::of(before);
        refuse_overlap(&edits, &shown, &lines, before)?;
        let replacements = edits.iter().map(|edit| replacement(edit, &lines, before)).collect();
        self.files.push(FileReplacements { path: seen.path.clone(), shown, replacements });
        self.write(&seen, before, &edits);
        Ok(())
    }

    fn write(&mut self, seen: &Snapshot, before: &str, edits: &[Edit]) {
        let mut after = String::with_capacity(before.len());
        let mut kept = 0;
        for edit in edits {
            after.push_str(before.get(kept..edit.start).unwrap_or_default());
            after.push_str(&edit.after);
            kept = edit.end;
        }
        after.push_str(before.get(kept..).unwrap_or_default());
        self.builder.write(seen, after.into_bytes());
    }

    fn finish(self, scope: &Scope, limit_reached: Option<usize>) -> Proposal {
        let mut proposal = Proposal {
            files: self.files,
            files_searched: scope.files.len(),
            limit_reached,
            left_out: scope.left_out,
            scope: scope.shown.clone(),
            effect: None,
            nothing_to_search: scope.files.is_empty().then(|| scope.nothing_to_search()),
            issues: self.issues,
        };
        if !proposal.files.is_empty() {
            let (changes, contents) = self.builder.finish();
            let result = report::applied(&proposal);
            proposal.effect = Some(FilesEffect { changes, contents, result });
        }
        proposal
    }
}

fn refuse_overlap(edits: &[Edit], shown: &str, lines: &Lines<'_>, text: &str) -> Result<(), ToolError> {
    let place = |edit: &Edit| {
        let at = replacement(edit, lines, text);
        format!("{shown}:{}:{} {}", at.line, at.column, at.before)
    };
    let overlap = edits.windows(2).find_map(|pair| match pair {
        [first, second] if second.start < first.end || first.range() == second.range() => Some((first, second)),
        _ => None,
    });
    match overlap {
        None => Ok(()),
        Some((first, second)) => Err(ToolError::new(format!(
            "Overlapping replacements; narrow the pattern\n{}\n{}",
            place(first),
            place(second)
        ))),
    }
}

fn replacement(edit: &Edit, lines: &Lines<'_>, text: &str) -> Replacement {
    let first = |text: &str| report::first_line(text);
    Replacement {
        line: lines.at(edit.start) + 1,
        column: lines.column(edit.start),
        before: first(text.get(edit.range()).unwrap_or_default()),
        after: first(&edit.after),
    }
}
