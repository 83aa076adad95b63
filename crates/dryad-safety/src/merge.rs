//! Three-way merge of text: takes a change back although the file was edited since.
//!
//! ```text
//!            base: what was written
//!           ╱                      ╲
//!   ours: what stood       theirs: what stands
//!   there before           there now
//!           ╲                      ╱
//!              both differences
//! ```
//!
//! Undo calls it when a path no longer holds what an operation left there. Lines are compared with
//! their endings, byte by byte; nothing is reformatted. Two properties that belong to no line are
//! merged by themselves: the byte order mark, and whether the last line ends.
//!
//! The invariant: a clean result holds every difference of both sides. Where differences touch, with
//! no unchanged line between them, they must be the same, or they conflict.

mod regions;
mod text;

use regions::{Numbering, Region, regions};
use std::time::{Duration, Instant};
use text::{End, Text, usual_ending};

/// Texts that take longer to compare count as a conflict: the user's file is left alone.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// What became of three texts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Merge {
    /// Both differences went in; these are the bytes.
    Clean(Vec<u8>),
    /// The differences contradict each other.
    Conflict {
        /// In how many places; one when the texts took too long to compare.
        regions: usize,
    },
    /// All three differ, and at least one of them is not text.
    NotText,
}

/// Merges the differences from `base` to `ours` and from `base` to `theirs`.
///
/// When two of the three are equal the answer is clean, whatever bytes they are.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merge {
    if ours == theirs || base == theirs {
        Merge::Clean(ours.to_vec())
    } else if base == ours {
        Merge::Clean(theirs.to_vec())
    } else {
        merge_texts(base, ours, theirs, TIME_LIMIT)
    }
}

/// Merges without looking for the easy answers first.
fn merge_texts(base: &[u8], ours: &[u8], theirs: &[u8], limit: Duration) -> Merge {
    let deadline = Instant::now() + limit;
    let usual = usual_ending([base, ours, theirs]);
    let read = |bytes| Text::read(bytes, usual);
    let (Some(base), Some(ours), Some(theirs)) = (read(base), read(ours), read(theirs)) else {
        return Merge::NotText;
    };
    let mut numbering = Numbering::default();
    let base_numbers = numbering.of(&base.lines);
    let our_numbers = numbering.of(&ours.lines);
    let their_numbers = numbering.of(&theirs.lines);
    let regions = regions(&base_numbers, &our_numbers, &their_numbers, deadline);
    if Instant::now() > deadline {
        return Merge::Conflict { regions: 1 };
    }
    combine(&base, &ours, &theirs, &regions)
}

fn combine(base: &Text<'_>, ours: &Text<'_>, theirs: &Text<'_>, regions: &[Region]) -> Merge {
    let mut lines = Vec::with_capacity(ours.lines.len().max(theirs.lines.len()));
    let mut conflicts = 0;
    let mut done = 0;
    for region in regions {
        lines.extend_from_slice(base.slice(done..region.base.start));
        let sides =
            (base.slice(region.base.clone()), ours.slice(region.ours.clone()), theirs.slice(region.theirs.clone()));
        match settle(sides.0, sides.1, sides.2) {
            Some(settled) => lines.extend_from_slice(settled),
            None => conflicts += 1,
        }
        done = region.base.end;
    }
    lines.extend_from_slice(base.slice(done..base.lines.len()));
    let mark = settle(base.mark, ours.mark, theirs.mark);
    let end = settle_end(base.end, ours.end, theirs.end);
    match (conflicts, mark, end) {
        (0, Some(mark), Some(end)) => Merge::Clean(Text { mark, lines, end }.into_bytes()),
        (_, mark, end) => {
            Merge::Conflict { regions: conflicts + usize::from(mark.is_none()) + usize::from(end.is_none()) }
        }
    }
}

/// The one value that both sides agree on, or that one of them changed alone.
fn settle<T: PartialEq>(base: T, ours: T, theirs: T) -> Option<T> {
    if ours == theirs || base == theirs {
        Some(ours)
    } else if base == ours {
        Some(theirs)
    } else {
        None
    }
}

/// Like [`settle`]; a side without any line has no opinion.
fn settle_end(base: End, ours: End, theirs: End) -> Option<End> {
    let or_base = |end| if end == End::NoLine { base } else { end };
    settle(base, or_base(ours), or_base(theirs))
}

#[cfg(test)]
mod tests;
