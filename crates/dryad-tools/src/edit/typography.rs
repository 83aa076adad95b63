//! First fuzzy level: the same text but for typography.
//!
//! Compatibility forms (NFKC), trailing whitespace, curly quotes, dashes and special spaces do not
//! count. The plain form keeps a list of runs that lead back to the source, so that what is found in the
//! plain form is a span of the source. Limitation: composition is looked at within a base character and
//! its combining marks, which is the same for both sides.

use std::ops::Range;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

/// The spans of `text` that equal `quoted` but for typography.
pub(super) fn occurrences(text: &str, quoted: &str) -> Vec<Range<usize>> {
    let needle = Plain::of(quoted).text;
    if needle.trim().is_empty() {
        return Vec::new();
    }
    // A quotation whose last line lost trailing spaces must end where a line ends.
    let ends_line = quoted.ends_with(|last: char| last.is_whitespace() && last != '\n');
    let plain = Plain::of(text);
    let at_line_end = |end: usize| !ends_line || plain.text.as_bytes().get(end).is_none_or(|&byte| byte == b'\n');
    super::find::occurrences(&plain.text, &needle)
        .into_iter()
        .filter(|range| at_line_end(range.end))
        .filter_map(|range| plain.source_range(range))
        .collect()
}

/// One line in its plain form, without whitespace at either end.
pub(super) fn plain_line(line: &str) -> String {
    Plain::of(line).text.trim().to_owned()
}

struct Plain {
    text: String,
    runs: Vec<Run>,
}

/// A piece of the plain text and the piece of the source it stands for.
struct Run {
    plain: Range<usize>,
    source: Range<usize>,
    /// Both pieces are the same bytes, so offsets inside correspond.
    verbatim: bool,
}

impl Plain {
    fn of(source: &str) -> Self {
        let mut plain = Self { text: String::with_capacity(source.len()), runs: Vec::new() };
        let mut start = 0;
        for line in source.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            plain.push_clusters(body.trim_end(), start);
            if body.len() < line.len() {
                plain.push("\n", start + body.len()..start + line.len(), true);
            }
            start += line.len();
        }
        plain
    }

    fn push_clusters(&mut self, line: &str, start: usize) {
        if line.is_ascii() {
            return self.push(line, start..start + line.len(), true);
        }
        let mut characters = line.char_indices().peekable();
        while let Some((offset, _)) = characters.next() {
            while characters.next_if(|&(_, next)| canonical_combining_class(next) != 0).is_some() {}
            let end = characters.peek().map_or(line.len(), |&(next, _)| next);
            let cluster = line.get(offset..end).unwrap_or_default();
            let form: String = cluster.nfkc().map(plain_character).collect();
            self.push(&form, start + offset..start + end, form == cluster);
        }
    }

    fn push(&mut self, form: &str, source: Range<usize>, verbatim: bool) {
        if form.is_empty() {
            return;
        }
        let plain = self.text.len()..self.text.len() + form.len();
        self.text.push_str(form);
        match self.runs.last_mut() {
            Some(last) if last.verbatim && verbatim && last.source.end == source.start => {
                last.plain.end = plain.end;
                last.source.end = source.end;
            }
            _ => self.runs.push(Run { plain, source, verbatim }),
        }
    }

    /// The span of the source that a non-empty span of the plain text stands for; none when it begins or
    /// ends inside something that has no inside in the source (`..` in `…`).
    fn source_range(&self, range: Range<usize>) -> Option<Range<usize>> {
        let first = self.run_at(range.start)?;
        let last = self.run_at(range.end.checked_sub(1)?)?;
        let start = match first.verbatim {
            true => first.source.start + (range.start - first.plain.start),
            false if range.start == first.plain.start => first.source.start,
            false => return None,
        };
        let end = match last.verbatim {
            true => last.source.start + (range.end - last.plain.start),
            false if range.end == last.plain.end => last.source.end,
            false => return None,
        };
        Some(start..end)
    }

    fn run_at(&self, offset: usize) -> Option<&Run> {
        let after = self.runs.partition_point(|run| run.plain.start <= offset);
        self.runs.get(after.checked_sub(1)?).filter(|run| offset < run.plain.end)
    }
}

fn plain_character(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other if crate::path::is_special_space(other) => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, quoted: &str, expected: &[&str]) {
        let found: Vec<_> = occurrences(text, quoted).into_iter().map(|range| text.get(range).unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_the_span_of_the_source() {
        check("say \u{201c}hi\u{201d} now", "\"hi\"", &["\u{201c}hi\u{201d}"]);
        check("a\u{a0}\u{2014} b", "a - b", &["a\u{a0}\u{2014} b"]);
        check("one  \ntwo\t\nthree", "one\ntwo\nthree", &["one  \ntwo\t\nthree"]);
        check("one\ntwo", "one \ntwo", &["one\ntwo"]);
        check("\u{fb01}le and wait\u{2026} done", "file and wait... done", &["\u{fb01}le and wait\u{2026} done"]);
        check("cafe\u{301}!", "caf\u{e9}!", &["cafe\u{301}!"]);
    }

    #[test]
    fn nothing_is_found_inside_one_character() {
        check("wait\u{2026}", "..", &[]);
    }

    #[test]
    fn a_quotation_that_ends_its_line_does_not_match_within_one() {
        check("foobar", "foo ", &[]);
        check("foo\nbar", "foo ", &["foo"]);
        check("foo", "  ", &[]);
    }
}
