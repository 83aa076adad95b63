//! Cuts the middle out of a result's texts.
//!
//! The texts count as one, one after the other; what lies in the middle goes, blocks that lie there whole go with it, and
//! pictures stay where they are. A cut falls between characters, and between lines if a line ends near.

use dryad_protocol::content::UserBlock;
use std::ops::Range;

/// This part of an end may be given up so that its last line is whole.
const SLACK: usize = 8;

/// Keeps `end` bytes of the beginning and of the end, with a word on what is missing and where the whole is.
///
/// The texts together must be longer than twice that.
pub(super) fn keep_ends(content: &mut Vec<UserBlock>, end: usize, address: &str) {
    let gap = gap(content, end);
    let mut marker = Some(format!("\n[... {} bytes truncated ...]\n", gap.len()));
    let mut at = 0;
    content.retain_mut(|block| {
        let UserBlock::Text(block) = block else { return true };
        let (start, stop) = (at, at + block.text.len());
        at = stop;
        if stop <= gap.start || start >= gap.end {
            return true;
        }
        let first = block.text.get(..gap.start.saturating_sub(start)).unwrap_or_default();
        let last = block.text.get(gap.end - start..).unwrap_or_default();
        block.text = [first, &marker.take().unwrap_or_default(), last].concat();
        block.text_signature = None;
        !block.text.is_empty()
    });
    let last = content.iter_mut().rev().find_map(|block| match block {
        UserBlock::Text(block) => Some(block),
        UserBlock::Image(_) => None,
    });
    if let Some(block) = last {
        block.text.push_str(&format!("\n\nFull output: {address}"));
    }
}

/// The bytes that go, counted through all texts.
fn gap(content: &[UserBlock], end: usize) -> Range<usize> {
    let texts = || content.iter().filter_map(UserBlock::as_text);
    let total: usize = texts().map(str::len).sum();
    let start = adjusted(texts(), end, |text, at| end_of_head(text, at, end / SLACK));
    let stop = adjusted(texts(), total.saturating_sub(end), |text, at| start_of_tail(text, at, end / SLACK));
    start..stop.max(start)
}

/// Moves a position to a good place to cut in the text where it falls.
fn adjusted<'t>(texts: impl Iterator<Item = &'t str>, position: usize, adjust: impl Fn(&str, usize) -> usize) -> usize {
    let mut before = 0;
    for text in texts {
        if position < before + text.len() {
            return before + adjust(text, position - before);
        }
        before += text.len();
    }
    before
}

/// The last good place to cut at or before `at`.
fn end_of_head(text: &str, at: usize, slack: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let line = text.get(..at).and_then(|head| head.rfind('\n')).map(|line| line + 1);
    line.filter(|line| line + slack >= at).unwrap_or(at)
}

/// The first good place to cut at or after `at`.
fn start_of_tail(text: &str, at: usize, slack: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        return at;
    }
    let line = text.get(at..).and_then(|tail| tail.find('\n'));
    line.filter(|line| *line < slack).map_or(at, |line| at + line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::content::ImageBlock;

    fn check(texts: &[&str], end: usize, expected: &[&str]) {
        let mut content: Vec<_> = texts.iter().map(|text| UserBlock::text(*text)).collect();
        keep_ends(&mut content, end, "artifact://7");
        let left: Vec<_> = content.iter().filter_map(UserBlock::as_text).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn both_ends_of_one_text_stay() {
        check(&["abcdefghij"], 2, &["ab\n[... 6 bytes truncated ...]\nij\n\nFull output: artifact://7"]);
        check(&["abcdefghij"], 0, &["\n[... 10 bytes truncated ...]\n\n\nFull output: artifact://7"]);
    }

    #[test]
    fn characters_stay_whole() {
        // Four bytes each: 6 from the front is in the second, 6 from the back in the third.
        check(&["😀😁😂😃"], 6, &["😀\n[... 8 bytes truncated ...]\n😃\n\nFull output: artifact://7"]);
    }

    #[test]
    fn lines_stay_whole_if_their_ends_are_near() {
        let text = format!("{}\nabc{}def\n{}", "h".repeat(60), "x".repeat(200), "t".repeat(60));
        let expected = format!(
            "{}\n\n[... 207 bytes truncated ...]\n{}\n\nFull output: artifact://7",
            "h".repeat(60),
            "t".repeat(60)
        );
        check(&[&text], 64, &[&expected]);
    }

    #[test]
    fn a_line_that_begins_at_the_cut_stays() {
        let text = format!("{}\na\nb\n", "x".repeat(100));
        let expected = format!("{}\n[... 97 bytes truncated ...]\na\nb\n\n\nFull output: artifact://7", "x".repeat(4));
        check(&[&text], 4, &[&expected]);
    }

    #[test]
    fn texts_in_the_middle_go_and_those_at_the_ends_stay() {
        let expected = ["ab", "c\n[... 8 bytes truncated ...]\n", "x", "yz\n\nFull output: artifact://7"];
        check(&["ab", "cde", "fghi", "vwx", "yz"], 3, &expected);
        let expected = ["ab", "\n[... 4 bytes truncated ...]\n", "yz\n\nFull output: artifact://7"];
        check(&["ab", "cd", "", "ef", "yz"], 2, &expected);
    }

    #[test]
    fn pictures_stay_where_they_are() {
        let picture = || UserBlock::Image(ImageBlock { data: "AAAA".repeat(1000), mime_type: "image/png".to_owned() });
        let mut content = vec![
            picture(),
            UserBlock::text("abcd"),
            picture(),
            UserBlock::text("ef"),
            picture(),
            UserBlock::text("gh"),
        ];
        keep_ends(&mut content, 1, "artifact://7");
        let expected = [
            picture(),
            UserBlock::text("a\n[... 6 bytes truncated ...]\n"),
            picture(),
            picture(),
            UserBlock::text("h\n\nFull output: artifact://7"),
        ];
        assert_eq!(content, expected);
    }
}
