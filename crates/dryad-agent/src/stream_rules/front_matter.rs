//! The head of a rule file: `key: value` lines between two lines of dashes.
//!
//! Understands what rule files are written in: texts with and without quotes, lists in brackets or with
//! dashes, and comments. It is no YAML: what is nested deeper is not read.

use std::collections::BTreeMap;

/// The head of a file, and what follows it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrontMatter<'a> {
    fields: BTreeMap<String, Vec<String>>,
    pub(super) body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Takes a file apart. One without a head is all body.
    pub(super) fn parse(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = Self { fields: BTreeMap::new(), body: text };
        let Some(rest) =
            text.strip_prefix("---").and_then(|rest| rest.trim_start_matches([' ', '\r']).strip_prefix('\n'))
        else {
            return whole;
        };
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                let (head, body) = (rest.get(..length), rest.get(length + line.len()..));
                return match (head, body) {
                    (Some(head), Some(body)) => Self { fields: fields(head), body },
                    (_, _) => whole,
                };
            }
            length += line.len();
        }
        whole
    }

    /// The values of the first of these keys that is there.
    pub(super) fn list(&self, keys: &[&str]) -> Vec<String> {
        keys.iter().find_map(|key| self.fields.get(*key)).cloned().unwrap_or_default()
    }

    /// The only value of a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.first().map(String::as_str)
    }
}

fn fields(head: &str) -> BTreeMap<String, Vec<String>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open: Option<String> = None;
    for line in head.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let (Some(item), Some(key)) = (trimmed.strip_prefix('-'), &open) {
            fields.entry(key.clone()).or_default().push(scalar(item.trim()));
            continue;
        }
        let Some((key, value)) = trimmed.split_once(':').filter(|_| !line.starts_with([' ', '\t'])) else { continue };
        let (key, value) = (key.trim().to_owned(), value.trim());
        fields.insert(key.clone(), values(value));
        open = Some(key);
    }
    fields
}

fn values(text: &str) -> Vec<String> {
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        _ if text.is_empty() => Vec::new(),
        Some(items) => {
            split_items(items).iter().map(|item| scalar(item.trim())).filter(|item| !item.is_empty()).collect()
        }
        None => vec![scalar(text)],
    }
}

/// Splits at commas that are in no quotes.
fn split_items(text: &str) -> Vec<String> {
    let (mut items, mut item, mut quote, mut escaped) = (Vec::new(), String::new(), None, false);
    for character in text.chars() {
        match (quote, character) {
            (None, ',') => items.push(std::mem::take(&mut item)),
            (None, '"' | '\'') if item.trim().is_empty() => {
                quote = Some(character);
                item.push(character);
            }
            (Some(open), _) => {
                if character == open && !escaped {
                    quote = None;
                }
                escaped = open == '"' && character == '\\' && !escaped;
                item.push(character);
            }
            (None, _) => item.push(character),
        }
    }
    items.push(item);
    items
}

/// One text: in double quotes with escapes, in single quotes, or as it stands, without a comment.
fn scalar(text: &str) -> String {
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        return match values.next() {
            Some(Ok(value)) => value,
            // Escapes of regular expressions are no escapes of JSON: then it is taken as it stands.
            Some(Err(_)) | None => {
                text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).to_owned()
            }
        };
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let end = rest.replace("''", "\u{0}\u{0}").find('\'').unwrap_or(rest.len());
        return rest.get(..end).unwrap_or(rest).replace("''", "'");
    }
    text.split_once(" #").map_or(text, |(value, _)| value.trim_end()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, key: &str, expected: &[&str]) {
        assert_eq!(FrontMatter::parse(text).list(&[key]), expected, "{text}");
    }

    #[test]
    fn texts_and_lists_are_read() {
        check("---\ncondition: foo.*bar\n---\n", "condition", &["foo.*bar"]);
        check("---\ncondition: \"a\\\\.b\" \n---\n", "condition", &["a\\.b"]);
        check("---\ncondition: \"a\\.b\"\n---\n", "condition", &["a\\.b"]);
        check("---\ncondition: 'it''s # here'\n---\n", "condition", &["it's # here"]);
        check("---\ncondition: a # a comment\n---\n", "condition", &["a"]);
        check(
            "---\nscope: [text, \"tool:edit\", 'edit(*.{rs,ts})']\n---\n",
            "scope",
            &["text", "tool:edit", "edit(*.{rs,ts})"],
        );
        check("---\n# first\ncondition:\n  - 'a'\n  - b: c\nscope: text\n---\nx", "condition", &["a", "b: c"]);
        check("---\r\ncondition: a\r\n---\r\nx", "condition", &["a"]);
    }

    #[test]
    fn a_file_without_a_head_is_all_body() {
        for text in ["just text", "---\ncondition: a\nnever closed", "", "----\na: b\n----\n"] {
            let parsed = FrontMatter::parse(text);
            assert_eq!((parsed.body, parsed.fields.len()), (text, 0));
        }
        assert_eq!(FrontMatter::parse("---\na: b\n---\nthe body\n").body, "the body\n");
    }
}
