//! The matches of one file, while its text and its tree are at hand.
//!
//! Nothing is copied or counted before somebody asks: a search whose matches are only printed never makes what the
//! metavariables stand for, and one that is only counted makes nothing at all.

use crate::document::Hit;
use crate::language::Language;
use crate::source::Lines;
use ast_grep_core::meta_var::MetaVariable;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Longer lines are not shown whole; the match alone is.
const WHOLE_LINE: usize = 500;

/// A file with the matches that may be shown.
pub struct FileView<'d> {
    /// Where it lies.
    pub path: &'d Path,
    /// The same as it is shown.
    pub shown: &'d str,
    pub(super) text: &'d str,
    pub(super) lines: Lines<'d>,
    /// By place.
    pub(super) hits: Vec<Located<'d>>,
    /// Lines to show around each match.
    pub(super) around: usize,
}

/// A match, with what it is one of.
pub(super) struct Located<'d> {
    pub(super) language: Language,
    /// Which of the patterns that were asked for.
    pub(super) pattern: usize,
    pub(super) hit: Hit<'d>,
}

/// One match in its file.
#[derive(Clone, Copy)]
pub struct MatchView<'v, 'd> {
    file: &'v FileView<'d>,
    located: &'v Located<'d>,
}

/// The matches of one file, taken out of it.
#[derive(Clone, Debug)]
pub struct FileMatches {
    /// Where it lies.
    pub path: PathBuf,
    /// The same as it is shown.
    pub shown: String,
    /// Its matches that are shown, in the order of the text.
    pub matches: Vec<Match>,
}

/// One match, taken out of its file.
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
pub struct Capture<S = String> {
    /// The name, without `$`.
    pub name: String,
    /// The code.
    pub text: S,
    /// The nodes of a list, for `$$$`.
    pub nodes: Option<Vec<S>>,
}

/// One line as it is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShownLine<S = String> {
    /// Its number, from 1.
    pub number: usize,
    /// Whether the match begins in it.
    pub is_first: bool,
    /// Its text.
    pub text: S,
}

impl<'d> FileView<'d> {
    /// Its matches that may be shown, in the order of the text.
    pub fn matches<'v>(&'v self) -> impl ExactSizeIterator<Item = MatchView<'v, 'd>> {
        self.hits.iter().map(|located| MatchView { file: self, located })
    }

    /// Takes the matches out.
    pub fn to_owned(&self) -> FileMatches {
        FileMatches {
            path: self.path.to_owned(),
            shown: self.shown.to_owned(),
            matches: self.matches().map(|found| found.to_owned()).collect(),
        }
    }
}

impl<'v, 'd> MatchView<'v, 'd> {
    /// The language that it was found in.
    pub fn language(&self) -> Language {
        self.located.language
    }

    /// Its bytes in the file.
    pub fn range(&self) -> Range<usize> {
        self.located.hit.range()
    }

    /// Where it starts: line and column in characters, from 1.
    pub fn start(&self) -> (usize, usize) {
        self.file.lines.place(self.range().start)
    }

    /// Where it ends, in the same way; the column is behind its last character.
    pub fn end(&self) -> (usize, usize) {
        self.file.lines.place(self.range().end)
    }

    /// The code itself.
    pub fn text(&self) -> &'d str {
        self.file.text.get(self.range()).unwrap_or_default()
    }

    /// The lines it stands in, with those around it that were asked for.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = ShownLine<&'d str>> + use<'v, 'd> {
        let (lines, range, code) = (&self.file.lines, self.range(), self.text());
        let (first, last) = (lines.at(range.start), lines.at(range.end.max(range.start + 1) - 1));
        let from = first.saturating_sub(self.file.around);
        let to = last.saturating_add(self.file.around).min(lines.count().saturating_sub(1)).max(last);
        (from..to + 1).map(move |number| {
            let (whole, is_first) = (lines.get(number), number == first);
            let is_long = || whole.len() > WHOLE_LINE && whole.chars().nth(WHOLE_LINE).is_some();
            let text = if is_first && is_long() { code.lines().next().unwrap_or_default() } else { whole };
            ShownLine { number: number + 1, is_first, text }
        })
    }

    /// What the metavariables stand for, by name.
    pub fn captures(&self) -> Vec<Capture<&'d str>> {
        let (environment, text) = (self.located.hit.get_env(), self.file.text);
        let code = |range: Range<usize>| text.get(range).unwrap_or_default();
        let capture = |variable: MetaVariable| match variable {
            MetaVariable::Capture(name, _) => {
                let text = code(environment.get_match(&name)?.range());
                Some(Capture { name, text, nodes: None })
            }
            MetaVariable::MultiCapture(name) => {
                let nodes = environment.get_multiple_matches(&name);
                let range = nodes.first().zip(nodes.last()).map(|(first, last)| first.range().start..last.range().end);
                let nodes = nodes.iter().map(|node| code(node.range())).collect();
                Some(Capture { name, text: range.map(code).unwrap_or_default(), nodes: Some(nodes) })
            }
            MetaVariable::Dropped(_) | MetaVariable::Multiple => None,
        };
        let captures: BTreeSet<_> = environment.get_matched_variables().filter_map(capture).collect();
        captures.into_iter().collect()
    }

    /// Takes it out of its file.
    pub fn to_owned(&self) -> Match {
        Match {
            language: self.language(),
            pattern: self.located.pattern,
            range: self.range(),
            start: self.start(),
            end: self.end(),
            text: self.text().to_owned(),
            captures: self.captures().into_iter().map(Capture::into_owned).collect(),
            lines: self.lines().map(ShownLine::into_owned).collect(),
        }
    }
}

impl Capture<&str> {
    fn into_owned(self) -> Capture {
        let nodes = self.nodes.map(|nodes| nodes.into_iter().map(str::to_owned).collect());
        Capture { name: self.name, text: self.text.to_owned(), nodes }
    }
}

impl ShownLine<&str> {
    fn into_owned(self) -> ShownLine {
        ShownLine { number: self.number, is_first: self.is_first, text: self.text.to_owned() }
    }
}
