//! A watch over one answer, delta by delta.
//!
//! Each part of the answer has a buffer of its own. An addition is searched together with a stretch before
//! it, so that watching costs what the answer is long; the whole part is searched once more at its end.

use super::Ready;
use super::scope::Source;
use dryad_protocol::rule::{RuleInterrupt, StreamRule};
use dryad_provider::delta::Delta;
use regex::Regex;
use std::sync::{Arc, LazyLock};

/// So many bytes before an addition are searched with it.
const OVERLAP: usize = 2048;

/// The files that a call names, in arguments that may not be complete.
static FILES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""(?:path|file_path|filePath|file|notebook_path)"\s*:\s*"((?:[^"\\]|\\.)*)""#).ok());

/// A watch over one answer.
#[derive(Default)]
pub(crate) struct Watch {
    rules: Arc<[Ready]>,
    /// Those that can still match.
    waiting: Vec<usize>,
    part: Part,
    /// Told when the answer has ended.
    quiet: Vec<StreamRule>,
}

/// What a delta led to.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    /// Nothing.
    Nothing,
    /// Rules match, and the answer may go on.
    Noted(Vec<StreamRule>),
    /// Rules match, and the answer must not go on.
    Interrupt(Vec<StreamRule>),
}

/// The part of the answer that grows.
#[derive(Default)]
struct Part {
    kind: Option<Kind>,
    text: String,
    /// Up to here it was searched.
    searched: usize,
    /// The files that the call names so far.
    files: Vec<String>,
}

enum Kind {
    Text,
    Thinking,
    Tool(String),
}

impl Watch {
    pub(super) fn over(rules: Arc<[Ready]>, waiting: Vec<usize>) -> Self {
        Self { rules, waiting, ..Self::default() }
    }

    /// Looks at one delta.
    pub(crate) fn see(&mut self, delta: &Delta) -> Seen {
        if self.waiting.is_empty() {
            return Seen::Nothing;
        }
        match delta {
            Delta::TextStart => self.begin(Kind::Text),
            Delta::ThinkingStart => self.begin(Kind::Thinking),
            Delta::ToolCallStart { name, .. } => self.begin(Kind::Tool(name.clone())),
            Delta::Text(more) | Delta::Thinking(more) | Delta::ToolCallArguments(more) => {
                self.part.text.push_str(more);
                return self.search(Stretch::New);
            }
            Delta::TextEnd { .. } | Delta::ThinkingEnd { .. } | Delta::ToolCallEnd { .. } => {
                return self.search(Stretch::Whole);
            }
            Delta::ResponseId(_) | Delta::RedactedThinking { .. } | Delta::Usage(_) | Delta::Stop(_) => {}
        }
        Seen::Nothing
    }

    /// The rules that matched without interrupting.
    pub(crate) fn into_quiet(self) -> Vec<StreamRule> {
        self.quiet
    }

    fn begin(&mut self, kind: Kind) {
        self.part = Part { kind: Some(kind), ..Part::default() };
    }

    fn search(&mut self, stretch: Stretch) -> Seen {
        let Some(from) = self.part.next_stretch(stretch) else { return Seen::Nothing };
        let Part { kind: Some(kind), text, files, .. } = &self.part else { return Seen::Nothing };
        let (source, rules) = (kind.source(), self.rules.clone());
        let matches = |at: &usize| rules.get(*at).is_some_and(|rule| rule.matches(source, files, text, from));
        let (found, waiting): (Vec<usize>, Vec<usize>) = self.waiting.iter().partition(|at| matches(at));
        if found.is_empty() {
            return Seen::Nothing;
        }
        self.waiting = waiting;
        let found: Vec<&Ready> = found.iter().filter_map(|&at| rules.get(at)).collect();
        let told = found.iter().map(|rule| rule.rule.clone()).collect();
        if found.iter().any(|rule| rule.interrupts(source)) {
            return Seen::Interrupt(told);
        }
        self.quiet.extend(found.iter().map(|rule| rule.rule.clone()));
        Seen::Noted(told)
    }
}

/// How much of a part is searched.
enum Stretch {
    /// What came since the last time, and a little before it.
    New,
    /// All of it.
    Whole,
}

impl Part {
    /// Where the next search begins; nowhere outside of a part.
    fn next_stretch(&mut self, stretch: Stretch) -> Option<usize> {
        let new = self.text.floor_char_boundary(self.searched.saturating_sub(OVERLAP));
        self.searched = self.text.len();
        let named = match self.kind.as_ref()? {
            Kind::Tool(_) => files(self.text.get(new..)?),
            Kind::Text | Kind::Thinking => Vec::new(),
        };
        let known = self.files.len();
        self.files.extend(named.into_iter().filter(|file| !self.files.contains(file)).collect::<Vec<_>>());
        // Rules about files wait for the file's name, which may come last: then all of it is looked at again.
        let is_new_file = self.files.len() > known;
        Some(match stretch {
            Stretch::New if !is_new_file => new,
            Stretch::New | Stretch::Whole => 0,
        })
    }
}

impl Kind {
    fn source(&self) -> Source<'_> {
        match self {
            Self::Text => Source::Text,
            Self::Thinking => Source::Thinking,
            Self::Tool(name) => Source::Tool(name),
        }
    }
}

impl Ready {
    fn matches(&self, source: Source<'_>, files: &[String], text: &str, from: usize) -> bool {
        let narrowed = self.globs.as_ref().is_none_or(|globs| files.iter().any(|file| globs.is_match(file)));
        let covered = || self.scopes.iter().any(|scope| scope.covers(source, files));
        narrowed && covered() && self.conditions.iter().any(|condition| condition.is_match_at(text, from))
    }

    fn interrupts(&self, source: Source<'_>) -> bool {
        match (self.interrupt, source) {
            (RuleInterrupt::Always, _) => true,
            (RuleInterrupt::Never, _) => false,
            (RuleInterrupt::ProseOnly, Source::Text | Source::Thinking) => true,
            (RuleInterrupt::ToolOnly, Source::Tool(_)) => true,
            (RuleInterrupt::ProseOnly, Source::Tool(_)) => false,
            (RuleInterrupt::ToolOnly, Source::Text | Source::Thinking) => false,
        }
    }
}

/// The files that a call names so far.
fn files(arguments: &str) -> Vec<String> {
    let Some(pattern) = FILES.as_ref() else { return Vec::new() };
    let named = pattern.captures_iter(arguments).filter_map(|found| found.get(1));
    named.filter_map(|name| serde_json::from_str(&format!("\"{}\"", name.as_str())).ok()).collect()
}
