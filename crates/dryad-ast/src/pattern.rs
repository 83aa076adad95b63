//! Patterns, compiled for each language in which they may be met.
//!
//! One pattern text means something else in each language, so it is compiled once per language of the
//! files that are searched. A pattern that is none in any of them is refused with a hint; one that parses in
//! some is looked for in those.

mod refusal;
mod strictness;

pub use strictness::Strictness;

use crate::language::{Grammar, Language, guard};
use crate::scope::SourceFile;
use ast_grep_core::AstGrep;
use ast_grep_core::matcher::{Pattern, PatternNode, kind_utils};
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::tree_sitter::StrDoc;
use dryad_safety::tool::ToolError;
use memchr::memmem::Finder;
use refusal::Refusal;
use std::collections::{BTreeMap, BTreeSet};

/// A parsed file, or a part of one in another language.
pub(crate) type Document = AstGrep<StrDoc<Grammar>>;

/// How patterns are to be understood.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The language, when it was named.
    pub(crate) language: Option<Language>,
    /// The node kind to select from each pattern.
    pub(crate) selector: Option<&'a str>,
    /// How exactly they are matched.
    pub(crate) strictness: Strictness,
}

/// Patterns, by language.
pub(crate) struct Patterns {
    by_language: BTreeMap<Language, Vec<Compiled>>,
    /// What is wrong with some of them; worth telling when nothing is found.
    pub(crate) doubts: Vec<String>,
    /// Why patterns that make sense nowhere are refused, unless they find something.
    broken: Vec<String>,
}

/// One pattern in one language.
pub(crate) struct Compiled {
    /// Which of the given patterns.
    pub(crate) index: usize,
    pub(crate) pattern: Pattern,
    /// A text without which there is no match.
    needle: Option<Finder<'static>>,
}

/// The names that a pattern captures.
#[derive(Default)]
pub(crate) struct Captures {
    /// By `$A`.
    pub(crate) one: BTreeSet<String>,
    /// By `$$$A`.
    pub(crate) many: BTreeSet<String>,
}

impl Patterns {
    /// Compiles the patterns for the languages of these files.
    pub(crate) fn compile<'t>(
        texts: impl Iterator<Item = &'t str>,
        reading: Reading<'_>,
        files: &[SourceFile],
    ) -> Result<Self, ToolError> {
        let languages = match reading.language {
            Some(language) => BTreeSet::from([language]),
            None => languages(files),
        };
        let mut patterns = Self { by_language: BTreeMap::new(), doubts: Vec::new(), broken: Vec::new() };
        for (index, text) in texts.enumerate() {
            patterns.add(index, text, reading, &languages)?;
        }
        Ok(patterns)
    }

    fn add(
        &mut self,
        index: usize,
        text: &str,
        reading: Reading<'_>,
        languages: &BTreeSet<Language>,
    ) -> Result<(), ToolError> {
        let named: Vec<&str> = languages.iter().map(|language| language.name()).collect();
        let place = if named.len() > 1 { format!("any of {}", named.join(", ")) } else { named.concat() };
        let (mut compiled, mut refusals) = (Vec::new(), Vec::new());
        for &language in languages {
            match Compiled::new(index, text, language, reading) {
                Ok(pattern) => compiled.push((language, pattern)),
                Err(refusal) => refusals.push(refusal),
            }
        }
        if let Some(refusal) = refusals.first().filter(|_| compiled.is_empty()) {
            return Err(ToolError::new(refusal.explain(text, &place)));
        }
        // What is nothing but an error still matches code in which the same error would be found. It counts
        // only where the pattern makes sense in no language at all.
        if compiled.iter().any(|(_, pattern)| !pattern.pattern.has_error()) {
            compiled.retain(|(_, pattern)| !pattern.pattern.has_error());
        } else if !compiled.is_empty() {
            self.broken.push(Refusal::Broken.explain(text, &place));
        }
        if let [(language, pattern)] = compiled.as_slice()
            && has_error(&pattern.pattern.node)
        {
            self.doubts.push(format!("pattern `{text}` does not parse cleanly as {language}"));
        }
        for (language, pattern) in compiled {
            self.by_language.entry(language).or_default().push(pattern);
        }
        Ok(())
    }

    /// Fails if nothing was found and a pattern is the likely reason.
    pub(crate) fn refuse_broken(&self) -> Result<(), ToolError> {
        match self.broken.first() {
            Some(refusal) => Err(ToolError::new(refusal.clone())),
            None => Ok(()),
        }
    }

    /// The patterns of a language.
    pub(crate) fn of(&self, language: Language) -> &[Compiled] {
        self.by_language.get(&language).map_or(&[], Vec::as_slice)
    }

    /// Forgets patterns in single languages.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&Compiled) -> bool) {
        self.by_language.values_mut().for_each(|patterns| patterns.retain(&mut is_kept));
    }

    /// Whether a text in this language, or in one that it may hold, can match at all.
    pub(crate) fn may_match(&self, language: Language, text: &str) -> bool {
        let languages = std::iter::once(&language).chain(language.embedded());
        languages.flat_map(|language| self.of(*language)).any(|compiled| compiled.may_match(text))
    }
}

impl Compiled {
    fn new(index: usize, text: &str, language: Language, reading: Reading<'_>) -> Result<Self, Refusal> {
        guard::check(language, text).map_err(Refusal::Unsafe)?;
        let grammar = Grammar::from(language);
        let pattern = match reading.selector {
            Some(selector) => Pattern::contextual(text, selector, grammar),
            None => Pattern::try_new(text, grammar),
        }?
        .with_strictness(reading.strictness.into());
        let needle = match reading.strictness {
            // The text of nodes does not count there.
            Strictness::Signature => None,
            Strictness::Cst | Strictness::Smart | Strictness::Ast | Strictness::Relaxed | Strictness::Template => {
                Some(Finder::new(pattern.fixed_string().as_bytes()).into_owned()).filter(|it| !it.needle().is_empty())
            }
        };
        Ok(Self { index, pattern, needle })
    }

    /// Whether a text can hold a match.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        self.needle.as_ref().is_none_or(|needle| needle.find(text.as_bytes()).is_some())
    }

    /// The names it captures.
    pub(crate) fn captures(&self) -> Captures {
        let mut captures = Captures::default();
        collect(&self.pattern.node, &mut captures);
        captures
    }
}

fn collect(node: &PatternNode, captures: &mut Captures) {
    match node {
        PatternNode::MetaVar { meta_var: MetaVariable::Capture(name, _) } => drop(captures.one.insert(name.clone())),
        PatternNode::MetaVar { meta_var: MetaVariable::MultiCapture(name) } => {
            captures.many.insert(name.clone());
        }
        PatternNode::MetaVar { meta_var: MetaVariable::Dropped(_) | MetaVariable::Multiple } => {}
        PatternNode::Terminal { .. } => {}
        PatternNode::Internal { children, .. } => children.iter().for_each(|child| collect(child, captures)),
    }
}

/// The languages of these files, and those that they may hold.
fn languages(files: &[SourceFile]) -> BTreeSet<Language> {
    let own: BTreeSet<Language> = files.iter().map(|file| file.language).collect();
    own.iter().flat_map(|language| std::iter::once(language).chain(language.embedded())).copied().collect()
}

/// Whether there is something in a pattern that the grammar does not understand; the rest may still work.
fn has_error(node: &PatternNode) -> bool {
    match node {
        PatternNode::MetaVar { .. } => false,
        PatternNode::Terminal { kind_id, .. } => kind_utils::is_error_kind(*kind_id),
        PatternNode::Internal { kind_id, children } => {
            kind_utils::is_error_kind(*kind_id) || children.iter().any(has_error)
        }
    }
}

#[cfg(test)]
mod tests;
