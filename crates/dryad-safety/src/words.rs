//! Names and texts cut into words.
//!
//! A word ends where a character stands that belongs to none, and where the case changes, so that `readFile`,
//! `read_file` and `read-file` are the same two words. Words are never looked for inside of words: `format` holds
//! no `rm`.

/// The words of `text`, whose characters are those that `belongs` accepts.
pub(crate) fn words(text: &str, belongs: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |character| !belongs(character)).flat_map(humps)
}

/// The parts of a name that changes of case separate.
fn humps(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let (hump, behind) = rest.split_at_checked(first_hump(rest)?)?;
        rest = behind;
        Some(hump)
    })
}

/// How long the first part of a name is.
fn first_hump(name: &str) -> Option<usize> {
    let mut before = name.chars().next()?;
    for (at, character) in name.char_indices().skip(1) {
        if character.is_uppercase() && (!before.is_uppercase() || begins_word(name, at)) {
            return Some(at);
        }
        before = character;
    }
    Some(name.len())
}

/// Whether the capital at `at`, which follows a capital, is the first of a word (`HTTPGet`) rather than the last of an
/// abbreviation (`URL`, `URLs`).
fn begins_word(name: &str, at: usize) -> bool {
    let mut behind = name.get(at..).unwrap_or_default().chars().skip(1);
    match behind.next() {
        Some('s') => behind.next().is_some_and(char::is_lowercase),
        Some(next) => next.is_lowercase(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text, char::is_alphabetic).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn words_end_at_other_characters_and_at_changes_of_case() {
        check("read_file", &["read", "file"]);
        check("readFile", &["read", "File"]);
        check("mcp__store.put-object", &["mcp", "store", "put", "object"]);
        check("RunningTotal", &["Running", "Total"]);
        check("run2nd", &["run", "nd"]);
        check("", &[]);
        check("__", &[]);
    }

    #[test]
    fn abbreviations_are_one_word() {
        check("HTTPGet", &["HTTP", "Get"]);
        check("getURL", &["get", "URL"]);
        check("openURLs", &["open", "URLs"]);
        check("URLsOpen", &["URLs", "Open"]);
        check("LSome", &["L", "Some"]);
        check("runLs", &["run", "Ls"]);
        check("DELETE", &["DELETE"]);
    }

    #[test]
    fn other_scripts_stay_whole() {
        check("ÄndereÖl", &["Ändere", "Öl"]);
        check("読む-ファイル", &["読む", "ファイル"]);
    }

    #[test]
    fn digits_may_belong() {
        let found: Vec<_> = words("s3Upload to base64", char::is_alphanumeric).collect();
        assert_eq!(found, ["s3", "Upload", "to", "base64"]);
    }
}
