//! What an answer to the model may hold: headings of directories and files, and its bounds.

/// Bytes of an answer at most.
const LARGEST: usize = 50 * 1024;

/// Characters of a line at most.
const LINE_CHARACTERS: usize = 500;

/// A text that grows line by line until it is full.
#[derive(Default)]
pub(crate) struct Text {
    text: String,
    directory: Option<String>,
    is_full: bool,
}

impl Text {
    /// Begins a file, under its directory.
    pub(crate) fn file(&mut self, path: &str, remark: &str) {
        let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
        let directory = if directory.is_empty() { "/" } else { directory };
        if self.directory.as_deref() != Some(directory) {
            if self.directory.is_some() {
                self.line("");
            }
            self.line(&format!("# {directory}"));
            self.directory = Some(directory.to_owned());
        }
        self.line(&format!("## └─ {name}{remark}"));
    }

    /// Adds a line, cut if it is very long; nothing once one did not fit.
    pub(crate) fn line(&mut self, line: &str) {
        let line = cut(line, LINE_CHARACTERS);
        self.is_full |= self.text.len() + line.len() + 1 > LARGEST;
        if !self.is_full {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// The text, with a remark if something did not fit.
    pub(crate) fn finish(self) -> String {
        let text = self.text.trim_end_matches('\n').to_owned();
        if self.is_full { format!("{text}\n\noutput cut at {} KB", LARGEST / 1024) } else { text }
    }
}

/// A text of at most so many characters, with a mark where it was cut.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_under_their_directories() {
        let mut text = Text::default();
        for file in ["a.rs", "b.rs", "src/c.rs", "/d.rs"] {
            text.file(file, "");
        }
        assert_eq!(text.finish(), "# .\n## └─ a.rs\n## └─ b.rs\n\n# src\n## └─ c.rs\n\n# /\n## └─ d.rs");
    }

    #[test]
    fn nothing_follows_what_did_not_fit() {
        let mut text = Text::default();
        (0..200).for_each(|_| text.line(&"ü".repeat(600)));
        let text = text.finish();
        assert!(text.len() < LARGEST + 100 && text.ends_with("...\n\noutput cut at 50 KB"));
        assert!(text.starts_with(&format!("{}...\n", "ü".repeat(LINE_CHARACTERS))));
    }
}
