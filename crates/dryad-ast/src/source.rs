//! The text of a file that is to be searched, or why it has none.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use thiserror::Error;

/// Larger files are passed over: a syntax tree takes many times the memory of its text.
const LARGEST: u64 = 8 * 1024 * 1024;

/// How far a file is searched for a zero byte, which no source has.
const SNIFFED: usize = 8 * 1024;

/// Why a file is not searched.
#[derive(Debug, Error)]
pub(crate) enum Unsearchable {
    /// The system refuses.
    #[error("{}", os_message(.0))]
    Io(#[from] io::Error),
    /// It is binary, or a text in another encoding.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It is larger than what is parsed.
    #[error("its {:.1} MB are too much to parse; the limit is {} MB", *.0 as f64 / 1048576.0, LARGEST / 1048576)]
    TooLarge(u64),
}

/// Reads a source file.
pub(crate) fn read(path: &Path) -> Result<String, Unsearchable> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(Unsearchable::TooLarge(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes)?;
    text(bytes)
}

/// The bytes as source text.
fn text(bytes: Vec<u8>) -> Result<String, Unsearchable> {
    if memchr::memchr(0, bytes.get(..SNIFFED).unwrap_or(&bytes)).is_some() {
        return Err(Unsearchable::NotText);
    }
    String::from_utf8(bytes).map_err(|_| Unsearchable::NotText)
}

/// What the system said, without the number that Rust adds.
pub(crate) fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

/// The lines of a text, by number from 0.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
        Self { text, starts: std::iter::once(0).chain(breaks.map(|at| at + 1)).collect() }
    }

    /// How many there are; behind the last line break there is one more only if it holds something.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - usize::from(self.starts.last() == Some(&self.text.len()))
    }

    /// Which line this byte is in.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The text of a line, without its end.
    pub(crate) fn get(&self, line: usize) -> &'a str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// The line and the column of a byte, both from 1; columns are counted in characters.
    pub(crate) fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.at(offset);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        (line + 1, column + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_number_and_by_byte() {
        let lines = Lines::of("one\r\ntwö x\nthree");
        assert_eq!((lines.count(), lines.get(0), lines.get(1), lines.get(2)), (3, "one", "twö x", "three"));
        assert_eq!((lines.at(0), lines.at(4), lines.at(5), lines.at(16)), (0, 0, 1, 2));
        assert_eq!((lines.place(0), lines.place(10)), ((1, 1), (2, 5)));
        assert_eq!((Lines::of("a\n").count(), Lines::of("").count()), (1, 0));
    }

    #[test]
    fn bytes_that_are_no_text_are_told() {
        assert!(matches!(text(b"a\0b".to_vec()), Err(Unsearchable::NotText)));
        assert!(matches!(text(vec![0xff, b'a']), Err(Unsearchable::NotText)));
        assert_eq!(text("\u{feff}a".into()).unwrap(), "\u{feff}a");
        assert_eq!(
            Unsearchable::TooLarge(12 * 1024 * 1024).to_string(),
            "its 12.0 MB are too much to parse; the limit is 8 MB"
        );
    }
}
