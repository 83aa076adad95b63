//! Whether a JSON object that arrives in pieces is complete, at the cost of one look per byte.

/// How far an object has come.
#[derive(Debug, Default)]
pub(super) struct JsonProgress {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl JsonProgress {
    /// Takes the next piece.
    pub(super) fn feed(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether everything that was opened has been closed again.
    pub(super) fn is_complete(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_complete(text: &str) -> bool {
        let mut progress = JsonProgress::default();
        text.split_inclusive(|_| true).for_each(|piece| progress.feed(piece));
        progress.is_complete()
    }

    #[test]
    fn is_complete_exactly_when_the_object_is() {
        let text = r#" {"a": "}\"]{\\", "b": [{"c": 1}, []], "ü": "\\"} "#;
        let object = text.trim_end();
        for (end, _) in text.char_indices() {
            let piece = text.get(..end).unwrap();
            assert_eq!(is_complete(piece), piece.len() >= object.len(), "{piece}");
        }
    }

    #[test]
    fn nothing_is_not_complete() {
        assert!(!is_complete(""));
        assert!(!is_complete("  "));
    }
}
