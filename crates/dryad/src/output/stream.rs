//! Output that is written as it comes, however much there will be.
//!
//! The invariant: once something could not be written nothing more is, and whoever writes is told at once, so
//! that nobody works for a reader that went away.

use super::unless_closed;
use crate::report::Failure;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};
use std::ops::ControlFlow;

/// Bytes that wait until they are written together.
const BUFFERED: usize = 64 * 1024;

/// Standard output, piece by piece.
pub(crate) struct Stream<W: Write = Stdout> {
    out: BufWriter<W>,
    /// Whether somebody watches: then every piece is shown at once.
    is_watched: bool,
    failed: Option<io::Error>,
}

impl Stream {
    /// Standard output.
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let is_watched = out.is_terminal();
        Self { out: BufWriter::with_capacity(BUFFERED, out), is_watched, failed: None }
    }
}

impl<W: Write> Stream<W> {
    /// Writes a piece; breaks when there is no use in more.
    pub(crate) fn write(&mut self, text: &str) -> ControlFlow<()> {
        if self.failed.is_none() {
            let written = self.out.write_all(text.as_bytes());
            let shown = written.and_then(|()| if self.is_watched { self.out.flush() } else { Ok(()) });
            self.failed = shown.err();
        }
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether there is no use in more.
    pub(crate) fn is_over(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes what still waits.
    ///
    /// # Errors
    ///
    /// When something could not be written, except that nobody reads it any more.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.failed.take().map_or_else(|| self.out.flush(), Err);
        flushed.or_else(|error| unless_closed(&error))
    }
}

/// A JSON object with one long list, which is written as it grows, and the rest behind it.
pub(crate) struct JsonList<W: Write = Stdout> {
    name: &'static str,
    stream: Stream<W>,
    is_begun: bool,
}

impl<W: Write> JsonList<W> {
    /// What stands before each item.
    pub(crate) const BEFORE: &'static str = ",\n";

    /// An object whose list has this name. Nothing is written before the first item.
    pub(crate) fn new(name: &'static str, stream: Stream<W>) -> Self {
        Self { name, stream, is_begun: false }
    }

    /// Adds items, each with [`Self::BEFORE`] before it; breaks when there is no use in more.
    pub(crate) fn add(&mut self, items: &str) -> ControlFlow<()> {
        if self.is_begun {
            return self.stream.write(items);
        }
        self.is_begun = true;
        self.stream.write(&format!("{{\"{}\":[\n", self.name))?;
        self.stream.write(items.strip_prefix(Self::BEFORE).unwrap_or(items))
    }

    /// Whether there is no use in more.
    pub(crate) fn is_over(&self) -> bool {
        self.stream.is_over()
    }

    /// Ends in the middle: what is there is no JSON, so nobody takes it for the whole.
    ///
    /// # Errors
    ///
    /// As [`Stream::finish`].
    pub(crate) fn give_up(self) -> Result<(), Failure> {
        self.stream.finish()
    }

    /// Ends the list, and writes the members of `rest` into the same object.
    ///
    /// # Errors
    ///
    /// As [`Stream::finish`], and when `rest` is no object.
    pub(crate) fn finish(mut self, rest: &impl Serialize) -> Result<(), Failure> {
        let no_json = |what: &dyn std::fmt::Display| Failure::failed(format!("no JSON: {what}"));
        let rest = serde_json::to_string(rest).map_err(|error| no_json(&error))?;
        let rest = rest.strip_prefix('{').ok_or_else(|| no_json(&"no object"))?;
        let list = if self.is_begun { "\n]".to_owned() } else { format!("{{\"{}\":[]", self.name) };
        let comma = if rest == "}" { "" } else { Self::BEFORE };
        // What could not be written is told by the stream.
        match self.stream.write(&format!("{list}{comma}{rest}\n")) {
            ControlFlow::Continue(()) | ControlFlow::Break(()) => self.stream.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Takes so many bytes, then fails.
    struct Full(Vec<u8>, usize, io::ErrorKind);

    impl Write for &mut Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(self.2.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn stream<W: Write>(out: W) -> Stream<W> {
        Stream { out: BufWriter::with_capacity(8, out), is_watched: false, failed: None }
    }

    fn written(items: &[&str]) -> String {
        let mut out = Full(Vec::new(), usize::MAX, io::ErrorKind::Other);
        let mut list = JsonList::new("list", stream(&mut out));
        for item in items {
            assert!(list.add(&format!(",\n{item}")).is_continue());
        }
        list.finish(&json!({"count": items.len(), "a \"b\"": [null]})).unwrap();
        String::from_utf8(out.0).unwrap()
    }

    #[test]
    fn an_object_is_written_as_its_list_grows() {
        assert_eq!(written(&["1", "{}"]), "{\"list\":[\n1,\n{}\n],\n\"count\":2,\"a \\\"b\\\"\":[null]}\n");
        for items in [&[][..], &["[1]"], &["1", "2", "3"]] {
            let value: Value = serde_json::from_str(&written(items)).unwrap();
            assert_eq!(value["list"].as_array().map(Vec::len), Some(items.len()));
        }
    }

    #[test]
    fn a_reader_that_went_away_ends_the_work_without_a_word() {
        let mut out = Full(Vec::new(), 20, io::ErrorKind::BrokenPipe);
        let mut stream = stream(&mut out);
        assert!(stream.write("0123456789").is_continue());
        assert!(stream.write("0123456789!").is_break() && stream.write("").is_break());
        assert!(stream.finish().is_ok());
        assert_eq!(out.0, b"0123456789");
    }

    #[test]
    fn a_full_disk_is_told() {
        let mut out = Full(Vec::new(), 0, io::ErrorKind::StorageFull);
        let mut stream = stream(&mut out);
        assert!(stream.write("a").is_continue());
        assert!(stream.finish().is_err());
    }
}
