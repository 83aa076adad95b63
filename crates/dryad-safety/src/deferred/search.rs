//! Finds tools by words: of their names, their search hints and their descriptions.

use crate::spec::ToolSpec;
use crate::tool::Tool;
use crate::words::words;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

/// More are not found at once.
const MOST: usize = 8;

/// What a word of the query counts in each place.
const NAME: u32 = 3;
const HINT: u32 = 2;
const DESCRIPTION: u32 = 1;

/// Words of a query that say nothing about the tool wanted.
const EMPTY_WORDS: [&str; 19] = [
    "a", "an", "and", "by", "can", "for", "from", "i", "in", "it", "of", "on", "or", "that", "the", "to", "tool",
    "tools", "with",
];

/// From this many characters on, words with a common beginning count as the same: `notebook`, `notebooks`.
const SHORTEST_STEM: usize = 4;

/// How well a tool matches. Tools that match equally well are told apart by how much of it is to the letter.
#[derive(Clone, Copy, Default, Eq, Ord, PartialEq, PartialOrd)]
struct Score {
    overlap: u32,
    exact: u32,
}

/// The tools that match `query` best, the best first; of equals the one registered first.
pub(super) fn best(query: &str, tools: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
    let mut wanted = lower_words(query);
    wanted.retain(|word| !EMPTY_WORDS.contains(&word.as_str()));
    let scored = tools.iter().map(|tool| (score(&wanted, tool.spec()), tool));
    let mut found: Vec<_> = scored.filter(|(score, _)| score.overlap > 0).collect();
    found.sort_by_key(|(score, _)| Reverse(*score));
    found.into_iter().take(MOST).map(|(_, tool)| tool.clone()).collect()
}

fn score(wanted: &HashSet<String>, spec: &ToolSpec) -> Score {
    let places = [(NAME, &spec.name), (HINT, &spec.metadata.search_hint), (DESCRIPTION, &spec.description)];
    let mut score = Score::default();
    for (weight, text) in places {
        let known = lower_words(text);
        for word in wanted {
            if known.contains(word) {
                score.exact += weight;
                score.overlap += weight;
            } else if known.iter().any(|known| alike(word, known)) {
                score.overlap += weight;
            }
        }
    }
    score
}

fn lower_words(text: &str) -> HashSet<String> {
    words(text, char::is_alphanumeric).map(str::to_lowercase).collect()
}

/// Whether one word is the beginning of the other, or part of it in a script that puts no spaces between words.
fn alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    match short.is_ascii() {
        true => short.len() >= SHORTEST_STEM && long.starts_with(short),
        false => long.contains(short),
    }
}
