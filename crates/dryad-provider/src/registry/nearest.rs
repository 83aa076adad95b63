//! Names that resemble a mistyped one.

/// So many names are shown.
const SHOWN: usize = 5;

/// The names nearest to `wanted`, the best first; none that has little in common with it.
pub(super) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let limit = wanted.chars().count() / 3 + 1;
    let mut scored: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (best_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// The distance to the whole name or to its part after the first slash, whichever is nearer.
fn best_distance(wanted: &str, name: &str) -> usize {
    let whole = distance(wanted, name);
    name.split_once('/').map_or(whole, |(_, id)| whole.min(distance(wanted, id)))
}

/// How many characters must be added, removed or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        for (cell, &candidate) in row.iter_mut().skip(1).zip(&other) {
            let replaced = diagonal + usize::from(character != candidate);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("größe", "grösse"), 2);
    }

    #[test]
    fn only_similar_names_are_near() {
        let names = ["openai/gpt-4o", "openai/gpt-4.1", "google/gemini-pro"];
        assert_eq!(nearest("gtp-4o", names), ["openai/gpt-4o"]);
        assert_eq!(nearest("openai/gpt-4", names), ["openai/gpt-4o", "openai/gpt-4.1"]);
        assert_eq!(nearest("zebra", names), Vec::<String>::new());
    }
}
