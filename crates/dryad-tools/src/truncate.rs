//! Cuts long texts for the model: whole leading lines up to a number of lines or bytes.
//!
//! Every limit on what a tool shows stands here. The invariant: a line is shown whole or not at all,
//! except by [`cut_line`], which says so in the line itself.

use serde::Serialize;

/// What `read` shows at most.
pub const READ_LIMITS: Limits = Limits { lines: 2000, bytes: 256 * 1024 };

/// What a list of hits or names shows at most; its lines are limited by the tool's own item limit.
pub const LIST_LIMITS: Limits = Limits { lines: usize::MAX, bytes: 50 * 1024 };

/// Characters of one hit's line.
pub const LINE_CHARACTERS: usize = 500;

/// How much of a text may be shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Lines at most.
    pub lines: usize,
    /// Bytes at most, line breaks included.
    pub bytes: usize,
}

/// A text cut to its limits, and what became of it. Serialises as a tool's `details.truncation`.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// What is left. Already in the result's text, so it is not repeated in the details.
    #[serde(skip)]
    pub content: String,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Which limit was hit first.
    pub truncated_by: TruncatedBy,
    /// Lines of the whole text, when it was seen whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Bytes of the whole text, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Lines left.
    pub output_lines: u64,
    /// Bytes left.
    pub output_bytes: u64,
    /// The first line alone is over the byte limit, so nothing is left.
    pub first_line_exceeds_limit: bool,
    /// The last line left is a part of a line.
    pub last_line_partial: bool,
    /// The limit on lines; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
    /// The limit on bytes.
    pub max_bytes: u64,
}

/// Which limit cut a text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    /// None: the text is whole.
    #[default]
    None,
    /// The limit on lines.
    Lines,
    /// The limit on bytes.
    Bytes,
}

impl Limits {
    /// An empty record with these limits, to be filled.
    pub fn record(self) -> Truncation {
        Truncation {
            max_lines: (self.lines != usize::MAX).then_some(self.lines as u64),
            max_bytes: self.bytes as u64,
            ..Truncation::default()
        }
    }
}

/// Keeps whole leading lines until a limit is reached. What is cut ends without a line break.
pub fn truncate_head(text: &str, limits: Limits) -> Truncation {
    let mut record = limits.record();
    record.total_bytes = Some(text.len() as u64);
    record.total_lines = Some(text.lines().count() as u64);
    let mut kept = 0;
    for line in text.split_inclusive('\n') {
        if record.output_lines >= limits.lines as u64 {
            record.truncated_by = TruncatedBy::Lines;
        } else if kept + line.len() > limits.bytes {
            record.truncated_by = TruncatedBy::Bytes;
            record.first_line_exceeds_limit = kept == 0;
        }
        if record.truncated_by != TruncatedBy::None {
            break;
        }
        kept += line.len();
        record.output_lines += 1;
    }
    record.truncated = record.truncated_by != TruncatedBy::None;
    let content = text.get(..kept).unwrap_or_default();
    record.content = if record.truncated { content.strip_suffix('\n').unwrap_or(content) } else { content }.to_owned();
    record.output_bytes = record.content.len() as u64;
    record
}

/// One hit's line, cut at [`LINE_CHARACTERS`] with a mark; `None` when it is short enough.
pub fn cut_line(line: &str) -> Option<String> {
    let (cut, _) = line.char_indices().nth(LINE_CHARACTERS)?;
    Some(format!("{}... [truncated]", line.get(..cut).unwrap_or_default()))
}

/// A number of bytes for people: `512B`, `12.3KB`, `1.5MB`.
pub fn format_size(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let size = bytes as f64;
    if bytes < 1024 {
        format!("{bytes}B")
    } else if bytes < 1024 * 1024 {
        format!("{:.1}KB", size / KIB)
    } else if bytes < 1024 * 1024 * 1024 {
        format!("{:.1}MB", size / KIB / KIB)
    } else {
        format!("{:.1}GB", size / KIB / KIB / KIB)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, lines: usize, bytes: usize) -> (String, TruncatedBy, u64) {
        let cut = truncate_head(text, Limits { lines, bytes });
        (cut.content, cut.truncated_by, cut.output_lines)
    }

    #[test]
    fn a_text_within_its_limits_is_left_as_it_is() {
        assert_eq!(cut("a\nb\n", 2, 4), ("a\nb\n".to_owned(), TruncatedBy::None, 2));
        assert_eq!(cut("", 0, 0), (String::new(), TruncatedBy::None, 0));
    }

    #[test]
    fn the_limit_reached_first_counts() {
        assert_eq!(cut("a\nb\nc", 2, 100), ("a\nb".to_owned(), TruncatedBy::Lines, 2));
        assert_eq!(cut("aa\nbb\ncc\n", 3, 8), ("aa\nbb".to_owned(), TruncatedBy::Bytes, 2));
    }

    #[test]
    fn a_line_is_never_cut() {
        let cut = truncate_head("ääää\nb\n", Limits { lines: 9, bytes: 5 });
        assert!(cut.first_line_exceeds_limit);
        assert_eq!((cut.content.as_str(), cut.total_lines, cut.total_bytes), ("", Some(2), Some(11)));
    }

    #[test]
    fn a_long_hit_is_cut_between_characters() {
        assert_eq!(cut_line(&"ü".repeat(LINE_CHARACTERS)), None);
        let line = cut_line(&"ü".repeat(LINE_CHARACTERS + 1)).unwrap();
        assert_eq!(line, format!("{}... [truncated]", "ü".repeat(LINE_CHARACTERS)));
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 512, 12_595, 256 * 1024, 1_572_864, 3 << 30].map(format_size);
        assert_eq!(sizes, ["0B", "512B", "12.3KB", "256.0KB", "1.5MB", "3.0GB"]);
    }
}
