//! Runs one search and cuts the page that is shown.

use super::AstGrepQuery;
use crate::AstSettings;
use crate::document::{Documents, Hit};
use crate::issues::Issues;
use crate::language::Language;
use crate::parallel;
use crate::pattern::{Patterns, Reading};
use crate::scope::{Request, Scope, SourceFile, shown};
use crate::source::{self, Lines};
use ast_grep_core::meta_var::MetaVariable;
use dryad_safety::tool::{PlanContext, ToolError};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

/// Longer lines are not shown whole; the match alone is.
const WHOLE_LINE: usize = 500;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The page: files with the matches that are shown, by path.
    pub files: Vec<FileMatches>,
    /// All matches there are.
    pub match_count: usize,
    /// All files that have one.
    pub file_count: usize,
    /// Files that were searched.
    pub files_searched: usize,
    /// The limit, when there are matches behind the page.
    pub limit_reached: Option<usize>,
    /// Files that were not searched because there were too many.
    pub left_out: usize,
    /// What was searched, as it is shown.
    pub scope: String,
    /// Why nothing was searched, if nothing was.
    pub(super) nothing_to_search: Option<String>,
    pub(super) issues: Issues,
}

/// The matches of one file.
#[derive(Clone, Debug)]
pub struct FileMatches {
    /// Where it lies.
    pub path: PathBuf,
    /// The same as it is shown.
    pub shown: String,
    /// Its matches that are shown, in the order of the text.
    pub matches: Vec<Match>,
}

/// One match.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Match {
    /// The language that it was found in.
    pub language: Language,
    /// Which of the patterns, from 0.
    pub pattern: usize,
    /// Its bytes in the file.
    pub range: Range<usize>,
    /// Where it starts: line and column in characters, from 1.
    pub start: (usize, usize),
    /// Where it ends, in the same way; the column is behind its last character.
    pub end: (usize, usize),
    /// The code itself.
    pub text: String,
    /// What the metavariables stand for, by name.
    pub captures: Vec<Capture>,
    /// The lines it stands in, with those around it that were asked for.
    pub lines: Vec<ShownLine>,
}

/// What a metavariable stands for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Capture {
    /// The name, without `$`.
    pub name: String,
    /// The code.
    pub text: String,
    /// The nodes of a list, for `$$$`.
    pub nodes: Option<Vec<String>>,
}

/// One line as it is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShownLine {
    /// Its number, from 1.
    pub number: usize,
    /// Whether the match begins in it.
    pub is_first: bool,
    /// Its text.
    pub text: String,
}

/// What one file gives.
struct Searched {
    path: PathBuf,
    shown: String,
    count: usize,
    matches: Vec<Match>,
    issue: Option<String>,
}

/// Searches.
///
/// # Errors
///
/// When the arguments lead nowhere: no such path, no such pattern, a named file that cannot be searched.
pub fn search(query: &AstGrepQuery, settings: &AstSettings, context: &PlanContext) -> Result<Found, ToolError> {
    let request = Request {
        path: query.path.as_deref(),
        glob: query.glob.as_deref(),
        language: query.language,
        most_files: settings.max_files,
    };
    let scope = Scope::list(&request, context)?;
    let reading =
        Reading { language: query.language, selector: query.selector.as_deref(), strictness: query.strictness };
    let patterns = Patterns::compile(query.patterns.iter().map(String::as_str), reading, &scope.files)?;
    let wanted = query.offset.saturating_add(query.limit.get());
    let run = Run { patterns: &patterns, wanted, around: query.context, context };
    let searched: Result<Vec<Searched>, ToolError> =
        parallel::map(&scope.files, context, |file| run.file(file).transpose())?.into_iter().collect();
    let found = page(query, &scope, &patterns.doubts, searched?);
    if found.match_count == 0 {
        patterns.refuse_broken()?;
    }
    Ok(found)
}

/// Cuts the page out of everything that was found.
fn page(query: &AstGrepQuery, scope: &Scope, doubts: &[String], searched: Vec<Searched>) -> Found {
    let mut issues = Issues::default();
    let (mut files, mut match_count, mut file_count) = (Vec::new(), 0, 0);
    let end = query.offset.saturating_add(query.limit.get());
    for Searched { path, shown, count, matches, issue } in searched {
        issue.into_iter().for_each(|issue| issues.add(issue));
        let in_file = |position: usize| position.saturating_sub(match_count).min(matches.len());
        let (from, to) = (in_file(query.offset), in_file(end));
        match_count += count;
        file_count += usize::from(count > 0);
        if from < to {
            let matches = matches.into_iter().skip(from).take(to - from).collect();
            files.push(FileMatches { path, shown, matches });
        }
    }
    issues.add_scope(scope);
    if match_count == 0 {
        doubts.iter().for_each(|doubt| issues.add(doubt.clone()));
    }
    Found {
        files,
        match_count,
        file_count,
        files_searched: scope.files.len(),
        limit_reached: (match_count > end).then_some(query.limit.get()),
        left_out: scope.left_out,
        scope: scope.shown.clone(),
        nothing_to_search: scope.files.is_empty().then(|| scope.nothing_to_search()),
        issues,
    }
}

struct Run<'a> {
    patterns: &'a Patterns,
    /// Matches of one file that may be shown at most.
    wanted: usize,
    around: usize,
    context: &'a PlanContext,
}

impl Run<'_> {
    /// Searches one file; nothing when there is nothing to say of it.
    fn file(&self, file: &SourceFile) -> Result<Option<Searched>, ToolError> {
        let name = || shown(&file.path, &self.context.workdir);
        let silent = |issue: String| Searched {
            path: file.path.clone(),
            shown: name(),
            count: 0,
            matches: Vec::new(),
            issue: Some(issue),
        };
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
        let (count, matches) = self.matches(&documents, &text);
        let error = |(line, column)| format!("{}:{line}:{column}: does not parse as {}", name(), file.language);
        let issue = documents.first_error.map(error);
        let is_worth_telling = count > 0 || issue.is_some();
        let searched = || Searched { path: file.path.clone(), shown: name(), count, matches, issue };
        Ok(is_worth_telling.then(searched))
    }

    /// How many matches there are, and the first ones.
    fn matches(&self, documents: &Documents, text: &str) -> (usize, Vec<Match>) {
        let mut hits = Vec::new();
        documents.each_match(self.patterns, |language, position, hit| hits.push((language, position, hit)));
        hits.sort_by_key(|(_, position, hit)| (hit.range().start, std::cmp::Reverse(hit.range().end), *position));
        // Two patterns that find the same code have found it once.
        hits.dedup_by(|(_, _, later), (_, _, kept)| later.range() == kept.range());
        if hits.is_empty() {
            return (0, Vec::new());
        }
        let lines = Lines::of(text);
        let index =
            |language: Language, position: usize| self.patterns.of(language).get(position).map_or(0, |it| it.index);
        let shown = hits.iter().take(self.wanted);
        let shown =
            shown.map(|(language, position, hit)| self.one(hit, *language, index(*language, *position), text, &lines));
        (hits.len(), shown.collect())
    }

    fn one(&self, hit: &Hit<'_>, language: Language, pattern: usize, text: &str, lines: &Lines<'_>) -> Match {
        let range = hit.range();
        let code = text.get(range.clone()).unwrap_or_default();
        let (first, last) = (lines.at(range.start), lines.at(range.end.max(range.start + 1) - 1));
        let from = first.saturating_sub(self.around);
        let to = last.saturating_add(self.around).min(lines.count().saturating_sub(1)).max(last);
        let line = |number: usize| {
            let (whole, is_first) = (lines.get(number), number == first);
            let is_long = whole.chars().nth(WHOLE_LINE).is_some();
            let text = if is_first && is_long { code.lines().next().unwrap_or_default() } else { whole };
            ShownLine { number: number + 1, is_first, text: text.to_owned() }
        };
        Match {
            language,
            pattern,
            start: (first + 1, lines.column(range.start)),
            end: (lines.at(range.end) + 1, lines.column(range.end)),
            text: code.to_owned(),
            captures: captures(hit, text),
            lines: (from..=to).map(line).collect(),
            range,
        }
    }
}

/// What the metavariables of a match stand for, by name.
fn captures(hit: &Hit<'_>, text: &str) -> Vec<Capture> {
    let environment = hit.get_env();
    let capture = |variable: MetaVariable| match variable {
        MetaVariable::Capture(name, _) => {
            let text = environment.get_match(&name)?.text().into_owned();
            Some(Capture { name, text, nodes: None })
        }
        MetaVariable::MultiCapture(name) => {
            let nodes = environment.get_multiple_matches(&name);
            let range = nodes.first().zip(nodes.last()).map(|(first, last)| first.range().start..last.range().end);
            let text = range.and_then(|range| text.get(range)).unwrap_or_default().to_owned();
            let nodes = nodes.iter().map(|node| node.text().into_owned()).collect();
            Some(Capture { name, text, nodes: Some(nodes) })
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => None,
    };
    let captures: BTreeSet<Capture> = environment.get_matched_variables().filter_map(capture).collect();
    captures.into_iter().collect()
}
