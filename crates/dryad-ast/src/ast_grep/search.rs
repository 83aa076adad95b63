//! Runs one search: file by file on all cores, in the order of the files for whoever takes the matches.
//!
//! The invariant: at no time are there more matches in memory than those of the files under way, however many
//! there are in all. A match behind the page is counted and nothing else.

use super::AstGrepQuery;
use super::view::{FileMatches, FileView, Located};
use crate::AstSettings;
use crate::document::Documents;
use crate::parallel;
use crate::pattern::Patterns;
use crate::scope::{Scope, SourceFile, shown};
use crate::source::{self, Lines};
use crate::totals::{FileCount, Totals};
use dryad_safety::tool::{PlanContext, ToolError};
use std::cmp::Reverse;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The page: files with the matches that are shown, by path.
    pub files: Vec<FileMatches>,
    /// How much there is in all.
    pub totals: Totals,
}

/// Searches, and keeps the page.
///
/// # Errors
///
/// When the arguments lead nowhere: no such path, no such pattern, a named file that cannot be searched.
pub fn search(query: &AstGrepQuery, settings: &AstSettings, context: &PlanContext) -> Result<Found, ToolError> {
    let mut files = Vec::new();
    let totals = search_each(
        query,
        settings,
        context,
        |file| file.to_owned(),
        |mut file: FileMatches, page| {
            file.matches.truncate(page.end);
            file.matches.drain(..page.start);
            files.push(file);
            ControlFlow::Continue(())
        },
    )?;
    Ok(Found { files, totals })
}

/// Searches, and hands the matches over file by file as they are found.
///
/// `look` is called on any thread with each file that may have matches in the page, and makes of it what is
/// wanted; `take` is called with that for each file that has some, one at a time, by path, with the range of those
/// that were looked at and are in the page. Once `take` breaks nothing more is searched, and the totals are those
/// up to there.
///
/// # Errors
///
/// As [`search`].
pub fn search_each<R: Send>(
    query: &AstGrepQuery,
    settings: &AstSettings,
    context: &PlanContext,
    look: impl Fn(&FileView<'_>) -> R + Sync,
    mut take: impl FnMut(R, Range<usize>) -> ControlFlow<()> + Send,
) -> Result<Totals, ToolError> {
    let scope = Scope::list(&query.target.request(settings), context)?;
    let texts = query.patterns.iter().map(String::as_str);
    let patterns = Patterns::compile(texts, query.target.reading(), &scope.files)?;
    let page = query.offset..query.offset.saturating_add(query.limit.get());
    let (end, counted) = (page.end, AtomicUsize::new(0));
    let run = Run { patterns: &patterns, end, counted: &counted, around: query.context, context, look };
    let mut tally = Tally { page, counted: &counted, totals: Totals::of(&scope) };
    let stopped = parallel::in_order(
        &scope.files,
        context,
        |file| run.file(file),
        |searched| match searched {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(searched)) => tally.add(searched, &mut take).map_break(Ok),
            Err(error) => ControlFlow::Break(Err(error)),
        },
    )?;
    stopped.transpose()?;
    let totals = tally.finish(query, &patterns.doubts);
    if totals.count == 0 {
        patterns.refuse_broken()?;
    }
    Ok(totals)
}

/// What one file gives.
struct Searched<R> {
    shown: String,
    count: usize,
    /// How many matches were looked at, and what was made of them.
    looked: Option<(usize, R)>,
    issue: Option<String>,
}

/// Counts in the order of the files, and knows the page.
struct Tally<'a> {
    page: Range<usize>,
    /// The matches that were counted, for those who look.
    counted: &'a AtomicUsize,
    totals: Totals,
}

impl Tally<'_> {
    fn add<R>(
        &mut self,
        searched: Searched<R>,
        take: &mut impl FnMut(R, Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Searched { shown, count, looked, issue } = searched;
        let before = self.totals.count;
        issue.into_iter().for_each(|issue| self.totals.issues.add(issue));
        self.totals.count += count;
        self.totals.file_count += usize::from(count > 0);
        self.counted.store(self.totals.count, Ordering::Relaxed);
        let Some((viewed, looked)) = looked else { return ControlFlow::Continue(()) };
        let in_file = |position: usize| position.saturating_sub(before).min(viewed);
        let part = in_file(self.page.start)..in_file(self.page.end);
        if part.is_empty() {
            return ControlFlow::Continue(());
        }
        self.totals.files.push(FileCount { shown, count: part.len() });
        take(looked, part)
    }

    fn finish(self, query: &AstGrepQuery, doubts: &[String]) -> Totals {
        let Self { page, mut totals, .. } = self;
        if totals.count == 0 {
            doubts.iter().for_each(|doubt| totals.issues.add(doubt.clone()));
        }
        totals.limit_reached = (totals.count > page.end).then_some(query.limit.get());
        totals
    }
}

struct Run<'a, L> {
    patterns: &'a Patterns,
    /// Where the page ends.
    end: usize,
    /// Matches that lie before whatever is searched now, at least.
    counted: &'a AtomicUsize,
    around: usize,
    context: &'a PlanContext,
    look: L,
}

impl<R, L: Fn(&FileView<'_>) -> R> Run<'_, L> {
    /// Searches one file; nothing when there is nothing to say of it.
    fn file(&self, file: &SourceFile) -> Result<Option<Searched<R>>, ToolError> {
        let name = || shown(&file.path, &self.context.workdir);
        let silent = |issue: String| Searched { shown: name(), count: 0, looked: None, issue: Some(issue) };
        let text = match source::read(&file.path) {
            Ok(text) => text,
            Err(error) if file.is_named => return Err(ToolError::new(format!("Cannot search {}: {error}", name()))),
            Err(source::Unsearchable::NotText) => return Ok(None),
            Err(error) => return Ok(Some(silent(format!("{}: {error}", name())))),
        };
        if !self.patterns.may_match(file.language, &text) {
            return Ok(None);
        }
        let documents = match Documents::parse(file, &text, self.patterns) {
            Ok(documents) => documents,
            Err(error) => return Ok(Some(silent(format!("{}: {error}", name())))),
        };
        let error = |(line, column)| format!("{}:{line}:{column}: does not parse as {}", name(), file.language);
        let issue = documents.first_error.map(error);
        let wanted = self.end.saturating_sub(self.counted.load(Ordering::Relaxed));
        if wanted == 0 {
            let count = documents.count(self.patterns);
            return Ok((count > 0 || issue.is_some()).then(|| Searched { shown: name(), count, looked: None, issue }));
        }
        let mut hits = self.hits(&documents);
        let count = hits.len();
        if count == 0 {
            return Ok(issue.map(silent));
        }
        hits.truncate(wanted);
        let (shown, lines) = (name(), Lines::of(&text));
        let view = FileView { path: &file.path, shown: &shown, text: &text, lines, hits, around: self.around };
        let looked = Some((view.hits.len(), (self.look)(&view)));
        drop(view);
        Ok(Some(Searched { shown, count, looked, issue }))
    }

    /// The matches, by place.
    fn hits<'d>(&self, documents: &'d Documents) -> Vec<Located<'d>> {
        let mut hits = Vec::new();
        documents.each_match(self.patterns, |language, compiled, hit| {
            hits.push(Located { language, pattern: compiled.index, hit });
        });
        let place = |it: &Located<'_>| (it.hit.range().start, Reverse(it.hit.range().end), it.pattern);
        hits.sort_by_key(place);
        // Two patterns that find the same code have found it once.
        hits.dedup_by(|later, kept| later.hit.range() == kept.hit.range());
        hits
    }
}
