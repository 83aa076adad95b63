//! Finds the places that a quotation stands for: exactly, else by its typography, else by similar lines.

use super::EditSettings;
use super::arguments::Edit;
use super::similar::{self, Closest};
use super::typography;
use super::view::View;
use std::ops::Range;

/// Where a quotation was found.
pub(super) struct Found {
    /// At least one, rising, not overlapping.
    pub(super) places: Vec<Place>,
    /// Whether the file's text differs from the quotation.
    pub(super) fuzzy: bool,
}

/// One span of the view and what replaces it.
pub(super) struct Place {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
}

/// Why a quotation stands for no place.
pub(super) enum NotFound {
    /// It is empty.
    Empty,
    /// It stands for several, which begin at these offsets.
    Several(Vec<usize>),
    /// It stands for none; this comes closest.
    Nowhere(Option<Closest>),
}

pub(super) fn find(view: &View, edit: &Edit, settings: &EditSettings) -> Result<Found, NotFound> {
    if edit.old.is_empty() {
        return Err(NotFound::Empty);
    }
    let exact = occurrences(&view.text, &edit.old);
    if !exact.is_empty() {
        return choose(places(exact, edit), edit, false);
    }
    let by_typography = typography::occurrences(&view.text, &edit.old);
    if !by_typography.is_empty() {
        return choose(places(by_typography, edit), edit, true);
    }
    let threshold = settings.fuzzy_match.then_some(settings.fuzzy_threshold);
    match similar::search(&view.text, edit, threshold) {
        Ok(places) => choose(places, edit, true),
        Err(closest) => Err(NotFound::Nowhere(closest)),
    }
}

/// Every span of `text` that is `quoted`, also where two of them overlap: either could be meant.
pub(super) fn occurrences(text: &str, quoted: &str) -> Vec<Range<usize>> {
    let step = quoted.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = text.get(from..).and_then(|rest| rest.find(quoted)) {
        found.push(from + offset..from + offset + quoted.len());
        from += offset + step;
    }
    found
}

fn places(ranges: Vec<Range<usize>>, edit: &Edit) -> Vec<Place> {
    ranges.into_iter().map(|range| Place { range, replacement: edit.new.clone() }).collect()
}

fn choose(mut places: Vec<Place>, edit: &Edit, fuzzy: bool) -> Result<Found, NotFound> {
    if places.len() > 1 && !edit.replace_all {
        return Err(NotFound::Several(places.iter().map(|place| place.range.start).collect()));
    }
    // Of places that overlap, the first is replaced, as a search from the top would do.
    let mut end = 0;
    places.retain(|place| {
        let is_free = place.range.start >= end;
        end = if is_free { place.range.end } else { end };
        is_free
    });
    Ok(Found { places, fuzzy })
}
