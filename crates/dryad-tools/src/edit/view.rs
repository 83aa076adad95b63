//! A file's text as quotations are matched against it: line breaks are `\n`, a byte order mark is gone.
//!
//! Every offset of the view stands for one offset of the original text, so a span found here is a span
//! there. A line break belongs together: an offset before `\n` means before `\r\n` in the original.

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text to match against, and the way back to the original.
pub(super) struct View {
    /// The text with `\n` line breaks.
    pub(super) text: String,
    /// Offsets in `text` of the line breaks that are `\r\n` in the original, rising.
    long_breaks: Vec<usize>,
    /// Bytes before the first byte of `text`.
    skipped: usize,
    /// Whether the first line break of the file is `\r\n`.
    has_long_breaks: bool,
}

impl View {
    pub(super) fn of(original: &str) -> Self {
        let body = original.strip_prefix(BYTE_ORDER_MARK).unwrap_or(original);
        let mut text = String::with_capacity(body.len());
        let mut long_breaks = Vec::new();
        for line in body.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                Some(line) => {
                    text.push_str(line);
                    long_breaks.push(text.len());
                    text.push('\n');
                }
                None => text.push_str(line),
            }
        }
        let has_long_breaks = long_breaks.first().is_some_and(|&first| text.find('\n') == Some(first));
        Self { text, long_breaks, skipped: original.len() - body.len(), has_long_breaks }
    }

    /// Where an offset of the view lies in the original.
    pub(super) fn original_offset(&self, offset: usize) -> usize {
        self.skipped + offset + self.long_breaks.partition_point(|&long| long < offset)
    }

    /// New text with the line breaks of the file.
    pub(super) fn with_breaks(&self, text: &str) -> String {
        if self.has_long_breaks { text.replace('\n', "\r\n") } else { text.to_owned() }
    }

    /// The line (from 1) that an offset lies in.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_back_to_the_original() {
        let original = "\u{feff}a\r\nb\nc\r\n";
        let view = View::of(original);
        assert_eq!(view.text, "a\nb\nc\n");
        let pieces: Vec<_> = (0..view.text.len())
            .map(|offset| &original.as_bytes()[view.original_offset(offset)..view.original_offset(offset + 1)])
            .collect();
        assert_eq!(pieces, [&b"a"[..], b"\r\n", b"b", b"\n", b"c", b"\r\n"]);
    }

    #[test]
    fn the_first_line_break_decides() {
        assert_eq!(View::of("a\r\nb\n").with_breaks("x\ny"), "x\r\ny");
        assert_eq!(View::of("a\nb\r\n").with_breaks("x\ny"), "x\ny");
        assert_eq!(View::of("\r\n").with_breaks("\n"), "\r\n");
        assert_eq!(View::of("no break").with_breaks("x\ny"), "x\ny");
    }

    #[test]
    fn a_lone_carriage_return_is_an_ordinary_character() {
        let view = View::of("a\rb\r\nc");
        assert_eq!((view.text.as_str(), view.original_offset(4)), ("a\rb\nc", 5));
    }
}
