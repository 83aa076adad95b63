//! Second fuzzy level: a run of lines that is nearly the quoted one.
//!
//! A window of as many lines as the quotation has slides over the file. Lines are compared without the
//! whitespace around them; how deep they are indented relative to each other counts a little. A window
//! is accepted when no other one could be meant. The work is bounded: windows are dropped as soon as
//! they cannot become similar enough, and a search that would take too long gives up.

use super::arguments::Edit;
use super::distance::{Budget, distance};
use super::find::Place;
use super::indent;
use super::typography::plain_line;
use std::ops::Range;

/// Elementary steps of one search.
const STEPS: u64 = 30_000_000;

/// Larger texts are not searched.
const LARGEST_TEXT: usize = 8 * 1024 * 1024;

/// Windows less similar than this are of no interest.
const FLOOR: f64 = 0.6;

/// From here on it is worth to compare again without indentation.
const RETRY: f64 = 0.8;

/// A window this similar is taken although others pass, if it leads by so much.
const CLEAR: f64 = 0.97;
const LEAD: f64 = 0.08;

/// The window that comes closest to the quotation.
pub(super) struct Closest {
    /// Its first line, from 1.
    pub(super) first_line: usize,
    /// How many lines.
    pub(super) count: usize,
    /// From 0 to 1.
    pub(super) similarity: f64,
    /// The first line that differs (from 1), as quoted and as it stands in the file.
    pub(super) difference: Option<(usize, String, String)>,
}

/// One line, ready to be compared.
struct Line<'a> {
    source: &'a str,
    start: usize,
    plain: Vec<char>,
    indent: usize,
}

/// One window that is of interest.
#[derive(Clone, Copy)]
struct Candidate {
    first: usize,
    with_depth: f64,
    without_depth: f64,
}

/// The places similar to the quotation, all of them when several pass; else what comes closest.
/// Without a threshold nothing is accepted.
pub(super) fn search(text: &str, edit: &Edit, threshold: Option<f64>) -> Result<Vec<Place>, Option<Closest>> {
    let quoted = lines(edit.old.strip_suffix('\n').unwrap_or(&edit.old));
    if text.len() > LARGEST_TEXT || quoted.iter().all(|line| line.plain.is_empty()) {
        return Err(None);
    }
    let lines = lines(text.strip_suffix('\n').unwrap_or(text));
    let (candidates, complete) = candidates(&lines, &quoted);
    let accepted = threshold.filter(|_| complete).map_or_else(Vec::new, |threshold| accept(&candidates, threshold));
    if accepted.is_empty() {
        return Err(closest(&candidates, &lines, &quoted));
    }
    let window = |candidate: &Candidate| lines.get(candidate.first..candidate.first + quoted.len()).unwrap_or_default();
    Ok(accepted.iter().map(|candidate| place(text, window(candidate), edit)).collect())
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for source in text.split('\n') {
        lines.push(Line { source, start, plain: plain_line(source).chars().collect(), indent: indent::width(source) });
        start += source.len() + 1;
    }
    lines
}

/// Every window of interest, and whether all windows could be looked at.
fn candidates(lines: &[Line<'_>], quoted: &[Line<'_>]) -> (Vec<Candidate>, bool) {
    let mut budget = Budget::new(STEPS);
    let quoted_depths = depths(quoted);
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut floor = FLOOR;
    for (first, window) in lines.windows(quoted.len()).enumerate() {
        if !could_reach(window, quoted, floor) {
            continue;
        }
        match compare(window, quoted, &quoted_depths, floor, &mut budget) {
            None => return (candidates, false),
            Some(None) => {}
            Some(Some((with_depth, without_depth))) => {
                candidates.push(Candidate { first, with_depth, without_depth });
                // What lies far behind the best cannot compete with it any more.
                floor = floor.max(without_depth.max(with_depth) - 2.0 * LEAD);
            }
        }
    }
    (candidates, true)
}

/// Whether the lengths of the lines alone allow so much similarity.
fn could_reach(window: &[Line<'_>], quoted: &[Line<'_>], floor: f64) -> bool {
    let mut missing = (1.0 - floor) * quoted.len() as f64;
    for (line, quoted) in window.iter().zip(quoted) {
        let (a, b) = (line.plain.len(), quoted.plain.len());
        missing -= a.abs_diff(b) as f64 / a.max(b).max(1) as f64;
        if missing < 0.0 {
            return false;
        }
    }
    true
}

/// Mean similarity with and without depth; the inner none when it is below the floor, the outer none when
/// the budget is used up.
fn compare(
    window: &[Line<'_>],
    quoted: &[Line<'_>],
    quoted_depths: &[usize],
    floor: f64,
    budget: &mut Budget,
) -> Option<Option<(f64, f64)>> {
    let count = quoted.len() as f64;
    let mut missing = (1.0 - floor) * count;
    let mut distances = Vec::with_capacity(quoted.len());
    for (line, quoted) in window.iter().zip(quoted) {
        let distance = distance(&line.plain, &quoted.plain, budget)?;
        let length = line.plain.len().max(quoted.plain.len());
        missing -= distance as f64 / length.max(1) as f64;
        if missing < 0.0 {
            return Some(None);
        }
        distances.push((distance, length));
    }
    let without = distances.iter().map(|&(distance, length)| 1.0 - distance as f64 / length.max(1) as f64);
    let depths = depths(window);
    let with = distances.iter().zip(depths.iter().zip(quoted_depths)).map(|(&(distance, length), (a, b))| {
        // The depth counts like one character, with a separator, before the line.
        1.0 - (distance + usize::from(length > 0 && a != b)) as f64 / (length + 2) as f64
    });
    Some(Some((with.sum::<f64>() / count, without.sum::<f64>() / count)))
}

/// How many steps each line is indented deeper than the shallowest one.
fn depths(lines: &[Line<'_>]) -> Vec<usize> {
    let written = || lines.iter().filter(|line| !line.plain.is_empty()).map(|line| line.indent);
    let least = written().min().unwrap_or(0);
    let step = written().map(|indent| indent - least).filter(|&deeper| deeper > 0).min().unwrap_or(1);
    lines.iter().map(|line| (line.indent.saturating_sub(least) + step / 2) / step).collect()
}

fn accept(candidates: &[Candidate], threshold: f64) -> Vec<Candidate> {
    let best = candidates.iter().map(|candidate| candidate.with_depth).fold(0.0, f64::max);
    let score = |candidate: &Candidate| if best >= threshold { candidate.with_depth } else { candidate.without_depth };
    if best < threshold && best < RETRY {
        return Vec::new();
    }
    let passing: Vec<Candidate> = candidates.iter().copied().filter(|one| score(one) >= threshold).collect();
    let Some(top) = passing.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b))) else { return passing };
    let second = candidates.iter().filter(|one| one.first != top.first).map(score).fold(0.0, f64::max);
    if score(&top) >= CLEAR && score(&top) - second >= LEAD { vec![top] } else { passing }
}

fn closest(candidates: &[Candidate], lines: &[Line<'_>], quoted: &[Line<'_>]) -> Option<Closest> {
    let best = candidates.iter().max_by(|a, b| a.without_depth.total_cmp(&b.without_depth))?;
    let pairs = lines.iter().enumerate().skip(best.first).zip(quoted);
    let difference = pairs
        .filter(|((_, line), quoted)| line.source != quoted.source)
        .map(|((number, line), quoted)| (number + 1, quoted.source.to_owned(), line.source.to_owned()))
        .next();
    let (first_line, count) = (best.first + 1, quoted.len());
    Some(Closest { first_line, count, similarity: best.without_depth, difference })
}

/// The span of a window, and the replacement indented like the text it replaces.
fn place(text: &str, window: &[Line<'_>], edit: &Edit) -> Place {
    let start = window.first().map_or(0, |line| line.start);
    let end = window.last().map_or(start, |line| line.start + line.source.len());
    let takes_break = edit.old.ends_with('\n') && text.as_bytes().get(end) == Some(&b'\n');
    let range: Range<usize> = start..end + usize::from(takes_break);
    let actual: Vec<&str> = window.iter().map(|line| line.source).collect();
    let mut replacement = indent::adapt(&edit.new, &edit.old, &actual);
    if edit.old.ends_with('\n') && !takes_break {
        // The file ends without a line break; it shall not gain one.
        replacement.truncate(replacement.strip_suffix('\n').unwrap_or(&replacement).len());
    }
    Place { range, replacement }
}

#[cfg(test)]
mod tests;
