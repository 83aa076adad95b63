//! A source file as syntax trees: its own, and those of the parts in other languages that it holds.

use crate::language::{Grammar, Language, guard};
use crate::pattern::{Compiled, Document, Patterns};
use crate::scope::SourceFile;
use ast_grep_core::NodeMatch;
use ast_grep_core::tree_sitter::StrDoc;

/// A match in a document.
pub(crate) type Hit<'t> = NodeMatch<'t, StrDoc<Grammar>>;

/// The documents of one file.
pub(crate) struct Documents {
    documents: Vec<(Language, Document)>,
    /// The line and column, from 1, where the file stops to make sense, if it does.
    pub(crate) first_error: Option<(usize, usize)>,
}

impl Documents {
    /// Parses a file, as far as there are patterns for its languages.
    ///
    /// # Errors
    ///
    /// When the parser gives up, or must not be asked.
    pub(crate) fn parse(file: &SourceFile, text: &str, patterns: &Patterns) -> Result<Self, String> {
        guard::check(file.language, text)?;
        let whole = Document::try_new(text, file.language.into())?;
        let first_error = first_error(&whole, text);
        let mut documents = Vec::new();
        let has_patterns = |language: &Language| !patterns.of(*language).is_empty();
        if file.language.embedded().iter().any(has_patterns) {
            let grammar = |name: &str| name.parse::<Language>().ok().filter(has_patterns).map(Grammar::from);
            for part in whole.get_injections(grammar) {
                let language =
                    file.language.embedded().iter().find(|language| Grammar::from(**language) == *part.lang());
                documents.extend(language.map(|language| (*language, part)));
            }
        }
        documents.insert(0, (file.language, whole));
        Ok(Self { documents, first_error })
    }

    /// Calls `found` for every match of every pattern.
    pub(crate) fn each_match<'d, 'p>(
        &'d self,
        patterns: &'p Patterns,
        mut found: impl FnMut(Language, &'p Compiled, Hit<'d>),
    ) {
        for (language, document) in &self.documents {
            for compiled in patterns.of(*language) {
                if !compiled.may_match(document.get_text()) {
                    continue;
                }
                for hit in document.root().find_all(&compiled.pattern) {
                    found(*language, compiled, hit);
                }
            }
        }
    }

    /// How many places match.
    pub(crate) fn count(&self, patterns: &Patterns) -> usize {
        let mut places = Vec::new();
        self.each_match(patterns, |_, _, hit| places.push((hit.range().start, hit.range().end)));
        places.sort_unstable();
        places.dedup();
        places.len()
    }
}

fn first_error(document: &Document, text: &str) -> Option<(usize, usize)> {
    let mut node = document.root().get_inner_node();
    if !node.has_error() {
        return None;
    }
    while !node.is_error() && !node.is_missing() {
        let mut cursor = node.walk();
        match node.children(&mut cursor).find(|child| child.has_error() || child.is_missing()) {
            Some(child) => node = child,
            None => break,
        }
    }
    let start = node.start_position();
    let before = text.get(node.start_byte().saturating_sub(start.column)..node.start_byte());
    Some((start.row + 1, before.map_or(start.column, |before| before.chars().count()) + 1))
}
