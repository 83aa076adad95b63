//! Globs and lists as models write them into a tool's arguments, before anything is matched.

/// Whether a text is a glob rather than a name.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Cuts a glob before its first part that is not a plain name: `src/**/*.rs` starts in `src`. The last
/// part always belongs to the glob. The base keeps its `/` when it is the root.
pub fn split_base(pattern: &str) -> (&str, &str) {
    let end = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.trim_end_matches('/').len());
    match pattern.get(..end).and_then(|plain| plain.rfind('/')) {
        Some(slash) => {
            let base = pattern.get(..slash.max(1)).unwrap_or_default();
            (base, pattern.get(slash + 1..).unwrap_or_default())
        }
        None => ("", pattern),
    }
}

/// Cuts a list at its commas, those inside braces aside.
pub fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let at_comma = move |character: char| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        character == ',' && depth <= 0
    };
    text.split(at_comma).map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_ends_before_the_first_wildcard() {
        let cases = [
            ("src/**/*.rs", ("src", "**/*.rs")),
            ("*.rs", ("", "*.rs")),
            ("a/b/c.rs", ("a/b", "c.rs")),
            ("a/b*/c", ("a", "b*/c")),
            ("/*.rs", ("/", "*.rs")),
            ("/etc/*", ("/etc", "*")),
            ("a/b/", ("a", "b/")),
        ];
        for (pattern, expected) in cases {
            assert_eq!(split_base(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn lists_are_cut_outside_braces() {
        assert_eq!(split_list("a, *.{b,c} ,,!d").collect::<Vec<_>>(), ["a", "*.{b,c}", "!d"]);
    }
}
