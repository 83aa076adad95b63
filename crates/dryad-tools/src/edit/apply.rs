//! Puts all replacements into the original text at once.

use super::arguments::Edit;
use super::find::{Found, Place};
use super::view::View;
use dryad_safety::tool::ToolError;

/// Two edits that want the same text.
pub(super) struct Overlap {
    first: String,
    second: String,
}

impl Overlap {
    pub(super) fn explain(&self, path: &str) -> ToolError {
        ToolError::new(format!("{} and {} overlap in {path}; merge them", self.first, self.second))
    }
}

/// The original text with every place replaced. What a replacement has in common with the text it replaces
/// is left alone, so that its line breaks stay as they are even in a file that mixes them.
pub(super) fn apply(original: &str, view: &View, edits: &[Edit], found: &[Found]) -> Result<String, Overlap> {
    let mut places: Vec<(usize, &Place)> = Vec::new();
    for (edit, found) in found.iter().enumerate() {
        places.extend(found.places.iter().map(|place| (edit, place)));
    }
    places.sort_by_key(|(_, place)| place.range.start);
    for pair in places.windows(2) {
        if let [(first, a), (second, b)] = pair
            && b.range.start < a.range.end
        {
            return Err(overlap(edits, *first, *second));
        }
    }
    let mut text = original.to_owned();
    for (_, place) in places.iter().rev() {
        let (start, end, replacement) = difference(view, place);
        text.replace_range(view.original_offset(start)..view.original_offset(end), &view.with_breaks(replacement));
    }
    Ok(text)
}

fn overlap(edits: &[Edit], first: usize, second: usize) -> Overlap {
    let (first, second) = (first.min(second), first.max(second));
    let name = |position: usize| edits.get(position).map(Edit::name).unwrap_or_default();
    Overlap { first: name(first), second: name(second) }
}

/// The part of a place that really changes.
fn difference<'a>(view: &View, place: &'a Place) -> (usize, usize, &'a str) {
    let (mut start, mut end) = (place.range.start, place.range.end);
    let old = view.text.get(start..end).unwrap_or_default();
    let new = place.replacement.as_str();
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    let (old, new) = (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
    start += same;
    let pairs = old.chars().rev().zip(new.chars().rev());
    let same = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
    end -= same;
    (start, end, new.get(..new.len() - same).unwrap_or_default())
}
