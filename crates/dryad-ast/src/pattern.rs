//! Patterns, compiled for each language in which they may be met.
//!
//! One pattern text means something else in each language, so it is compiled once per language of the
//! files that are searched. A pattern that parses in none of them is refused with a hint; one that parses
//! in some is looked for in those.

mod strictness;

pub use strictness::Strictness;

use crate::language::{Grammar, Language};
use crate::scope::SourceFile;
use ast_grep_core::matcher::{Pattern, PatternNode};
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, PatternError};
use dryad_safety::tool::ToolError;
use memchr::memmem::Finder;
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
        let mut patterns = Self { by_language: BTreeMap::new(), doubts: Vec::new() };
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
        let mut refusals = Vec::new();
        for &language in languages {
            match Compiled::new(index, text, language, reading) {
                Ok(compiled) => self.by_language.entry(language).or_default().push(compiled),
                Err(refusal) => refusals.push((language, refusal)),
            }
        }
        if refusals.len() == languages.len()
            && let Some((language, refusal)) = refusals.into_iter().next()
        {
            let named: Vec<&str> = languages.iter().map(|language| language.name()).collect();
            let place = if named.len() > 1 { format!("any of {}", named.join(", ")) } else { language.to_string() };
            return Err(ToolError::new(refusal.explain(text, &place)));
        }
        let broken = |language: &&Language| has_error(text, **language);
        if let Some(language) = languages.iter().find(broken).filter(|_| languages.len() == 1) {
            self.doubts.push(format!("pattern `{text}` does not parse cleanly as {language}"));
        }
        Ok(())
    }

    /// The patterns of a language.
    pub(crate) fn of(&self, language: Language) -> &[Compiled] {
        self.by_language.get(&language).map_or(&[], Vec::as_slice)
    }

    /// Whether a text in this language, or in one that it may hold, can match at all.
    pub(crate) fn may_match(&self, language: Language, text: &str) -> bool {
        let languages = std::iter::once(&language).chain(language.embedded());
        languages.flat_map(|language| self.of(*language)).any(|compiled| compiled.may_match(text))
    }
}

impl Compiled {
    fn new(index: usize, text: &str, language: Language, reading: Reading<'_>) -> Result<Self, Refusal> {
        let grammar = Grammar::from(language);
        let pattern = match reading.selector {
            Some(selector) => Pattern::contextual(text, selector, grammar),
            None => Pattern::try_new(text, grammar),
        }?
        .with_strictness(reading.strictness.into());
        if pattern.has_error() {
            return Err(Refusal::Broken);
        }
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

/// Whether the pattern's own text has an error somewhere, which may still leave a pattern that works.
fn has_error(text: &str, language: Language) -> bool {
    use ast_grep_core::Language as _;
    let grammar = Grammar::from(language);
    let prepared = grammar.pre_process_pattern(text);
    Document::try_new(&prepared, grammar).is_ok_and(|document| document.root().get_inner_node().has_error())
}

/// Why a pattern cannot be used.
enum Refusal {
    /// The grammar finds nothing but an error in it.
    Broken,
    Library(PatternError),
}

impl From<PatternError> for Refusal {
    fn from(error: PatternError) -> Self {
        Self::Library(error)
    }
}

impl Refusal {
    fn explain(&self, pattern: &str, place: &str) -> String {
        let broken = "Write it as code of that language that stands on its own, with $A for one node and $$$A for \
                      a list; a part of something larger needs its surroundings, and sel for the node that is meant.";
        let (problem, hint) = match self {
            Self::Broken | Self::Library(PatternError::Parse(_) | PatternError::NoContent(_)) => {
                (format!("pattern does not parse as {place}: {pattern}"), broken.to_owned())
            }
            Self::Library(PatternError::MultipleNode(_)) => (
                format!("pattern is more than one node of {place}: {pattern}"),
                "Put what belongs together into its surroundings (a block, a call, a function) and name the kind of \
                 the node that is meant with sel, or give each part as a pattern of its own."
                    .to_owned(),
            ),
            Self::Library(PatternError::RootMultiMetaVar(_)) => (
                format!("pattern is a list of nodes: {pattern}"),
                "Use $A for one node, or put $$$A into something, such as f($$$A).".to_owned(),
            ),
            Self::Library(PatternError::InvalidKind(_)) => (
                format!("sel is no node kind of {place}"),
                "Kinds are those of the tree-sitter grammar, such as call_expression.".to_owned(),
            ),
            Self::Library(PatternError::NoSelectorInContext { selector, .. }) => (
                format!("sel {selector} is not in the pattern: {pattern}"),
                "Name the kind of a node that the pattern has.".to_owned(),
            ),
        };
        format!("{problem}\n{hint}")
    }
}

#[cfg(test)]
mod tests;
