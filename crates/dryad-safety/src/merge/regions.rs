//! Where two texts differ from their base, brought together.
//!
//! A region is the smallest range of base lines around differences that touch. Between two regions
//! lies at least one line that neither side changed.

use super::text::Line;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

/// The same place in all three texts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Region {
    pub(super) base: Range<usize>,
    pub(super) ours: Range<usize>,
    pub(super) theirs: Range<usize>,
}

/// Numbers for lines, equal ones for equal lines: they compare faster.
#[derive(Default)]
pub(super) struct Numbering<'a> {
    numbers: HashMap<Line<'a>, usize>,
}

impl<'a> Numbering<'a> {
    /// The numbers of these lines.
    pub(super) fn of(&mut self, lines: &[Line<'a>]) -> Vec<usize> {
        let mut number = |line: &Line<'a>| {
            let next = self.numbers.len();
            *self.numbers.entry(*line).or_insert(next)
        };
        lines.iter().map(&mut number).collect()
    }
}

/// The regions in which `ours` or `theirs` differ from `base`, in their order.
///
/// After the deadline they are coarse.
pub(super) fn regions(base: &[usize], ours: &[usize], theirs: &[usize], deadline: Instant) -> Vec<Region> {
    let our_hunks = hunks(base, ours, deadline);
    let their_hunks = hunks(base, theirs, deadline);
    let mut ours = Side::new(&our_hunks);
    let mut theirs = Side::new(&their_hunks);
    let mut regions = Vec::new();
    while let Some(start) = ours.next_start().into_iter().chain(theirs.next_start()).min() {
        let starts = (ours.position(start), theirs.position(start));
        let mut end = start;
        while ours.take_touching(&mut end) || theirs.take_touching(&mut end) {}
        regions.push(Region {
            base: start..end,
            ours: starts.0..ours.position(end),
            theirs: starts.1..theirs.position(end),
        });
    }
    regions
}

/// Lines of the base and what one side has in their place.
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
}

/// Everything between the lines that are equal in both.
fn hunks(base: &[usize], side: &[usize], deadline: Instant) -> Vec<Hunk> {
    let operations = capture_diff_slices_deadline(Algorithm::Myers, base, side, Some(deadline));
    let equal = operations.iter().filter(|operation| operation.tag() == DiffTag::Equal);
    let ends = (base.len()..base.len(), side.len()..side.len());
    let mut hunks = Vec::new();
    let mut done = (0, 0);
    for (in_base, in_side) in equal.map(|one| (one.old_range(), one.new_range())).chain([ends]) {
        let hunk = Hunk { base: done.0..in_base.start, side: done.1..in_side.start };
        if !(hunk.base.is_empty() && hunk.side.is_empty()) {
            hunks.push(hunk);
        }
        done = (in_base.end, in_side.end);
    }
    hunks
}

/// The hunks of one side, taken from first to last.
struct Side<'a> {
    rest: &'a [Hunk],
    /// Where the last hunk that was taken ends: in the base, and in the side.
    done: (usize, usize),
}

impl<'a> Side<'a> {
    fn new(hunks: &'a [Hunk]) -> Self {
        Self { rest: hunks, done: (0, 0) }
    }

    fn next_start(&self) -> Option<usize> {
        self.rest.first().map(|hunk| hunk.base.start)
    }

    /// Where the side is when the base is at `base`, which no further hunk precedes.
    fn position(&self, base: usize) -> usize {
        self.done.1 + (base - self.done.0)
    }

    /// Takes the next hunk if it touches what ends at `end`, and moves `end` behind it.
    fn take_touching(&mut self, end: &mut usize) -> bool {
        let Some((hunk, rest)) = self.rest.split_first().filter(|(hunk, _)| hunk.base.start <= *end) else {
            return false;
        };
        self.rest = rest;
        self.done = (hunk.base.end, hunk.side.end);
        *end = (*end).max(hunk.base.end);
        true
    }
}
