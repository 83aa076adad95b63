//! The replacements in one file.

use super::arguments::AstEditQuery;
use super::template::{self, LineEnd, Template};
use crate::document::Documents;
use crate::language::Language;
use crate::pattern::Patterns;
use crate::scope::{Scope, SourceFile, shown};
use crate::source::{self, Unsearchable};
use dryad_safety::snapshot::Snapshot;
use dryad_safety::tool::{PlanContext, ToolError};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Everything needed to rewrite any file of a call.
pub(super) struct Rewriter<'a> {
    patterns: Patterns,
    /// By language and number of the operation: for files with LF and with CRLF.
    templates: BTreeMap<(Language, usize), [Template; 2]>,
    context: &'a PlanContext,
}

/// What one file gives.
pub(super) struct Rewritten {
    /// The file as it is shown.
    pub(super) shown: String,
    /// Its replacements, by place, and the file as it was seen.
    pub(super) edits: Option<(Snapshot, Vec<Edit>)>,
    /// What is wrong with it.
    pub(super) issue: Option<String>,
}

/// One replacement.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) after: String,
}

impl Edit {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

impl<'a> Rewriter<'a> {
    /// Compiles the operations for the files of a scope.
    pub(super) fn new(query: &AstEditQuery, scope: &Scope, context: &'a PlanContext) -> Result<Self, ToolError> {
        let texts = query.operations.iter().map(|operation| operation.pat.as_str());
        let mut patterns = Patterns::compile(texts, query.target.reading(), &scope.files)?;
        keep_captured(&mut patterns, query)?;
        let mut templates = BTreeMap::new();
        for language in Language::ALL {
            for compiled in patterns.of(language) {
                let Some(operation) = query.operations.get(compiled.index) else { continue };
                let template = |ends| Template::new(&operation.out, language, ends);
                templates.insert((language, compiled.index), [template(LineEnd::Lf), template(LineEnd::CrLf)]);
            }
        }
        Ok(Self { patterns, templates, context })
    }

    /// What is doubtful about the patterns when nothing was found.
    ///
    /// # Errors
    ///
    /// When one of them makes no sense.
    pub(super) fn doubts(self) -> Result<Vec<String>, ToolError> {
        self.patterns.refuse_broken()?;
        Ok(self.patterns.doubts)
    }

    /// Rewrites one file; nothing when there is nothing to say of it.
    pub(super) fn file(&self, file: &SourceFile) -> Result<Option<Rewritten>, ToolError> {
        let name = shown(&file.path, &self.context.workdir);
        let silent = |issue: String| Rewritten { shown: name.clone(), edits: None, issue: Some(issue) };
        let text = match source::read(&file.path) {
            Ok(text) => text,
            Err(error) if file.is_named => return Err(ToolError::new(format!("Cannot rewrite {name}: {error}"))),
            Err(Unsearchable::NotText) => return Ok(None),
            Err(error) => return Ok(Some(silent(format!("{name}: {error}")))),
        };
        if !self.patterns.may_match(file.language, &text) {
            return Ok(None);
        }
        let documents = match Documents::parse(file, &text, &self.patterns) {
            Ok(documents) => documents,
            Err(error) => return Ok(Some(silent(format!("{name}: {error}")))),
        };
        let edits = self.edits(&documents, &text);
        let error = |(line, column)| format!("{name}:{line}:{column}: does not parse as {}", file.language);
        let issue = documents.first_error.map(error);
        if edits.is_empty() {
            return Ok(issue.map(silent));
        }
        let seen = look_at(file, &text)
            .map_err(|error| ToolError::new(format!("Cannot rewrite {name}: {}", source::os_message(&error))))?;
        Ok(Some(Rewritten { shown: name, edits: Some((seen, edits)), issue }))
    }

    fn edits(&self, documents: &Documents, text: &str) -> Vec<Edit> {
        let ends = LineEnd::of(text);
        let mut edits = Vec::new();
        documents.each_match(&self.patterns, |language, compiled, hit| {
            let Some([lf, crlf]) = self.templates.get(&(language, compiled.index)) else { return };
            let template = match ends {
                LineEnd::Lf => lf,
                LineEnd::CrLf => crlf,
            };
            let (range, after) = template.fill(&hit, compiled, text);
            // What becomes itself is left alone.
            if text.get(range.clone()).is_some_and(|before| before != after) {
                edits.push(Edit { start: range.start, end: range.end, after });
            }
        });
        edits.sort();
        edits.dedup();
        edits
    }
}

/// Forgets patterns where they capture less than their replacement needs: what is a call in one language is
/// a mere word in another. One that captures it nowhere is refused.
fn keep_captured(patterns: &mut Patterns, query: &AstEditQuery) -> Result<(), ToolError> {
    let mut refusals: BTreeMap<usize, Option<ToolError>> = BTreeMap::new();
    patterns.retain(|compiled| {
        let Some(operation) = query.operations.get(compiled.index) else { return false };
        let refusal = template::check(operation, compiled.index, &compiled.captures()).err();
        let is_kept = refusal.is_none();
        let known = refusals.entry(compiled.index).or_insert(refusal);
        *known = known.take().filter(|_| !is_kept);
        is_kept
    });
    match refusals.into_values().flatten().next() {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

/// The file with its fingerprint. It must still be what was parsed, and be meant to be written.
fn look_at(file: &SourceFile, parsed: &str) -> io::Result<Snapshot> {
    // Replacing a file needs no permission on the file itself, but a read-only file is meant to stay.
    rustix::fs::access(&file.path, rustix::fs::Access::WRITE_OK)?;
    let seen = Snapshot::take(&file.path)?;
    if seen.bytes == parsed.as_bytes() { Ok(seen) } else { Err(io::Error::other("it changed while it was read")) }
}
