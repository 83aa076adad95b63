//! Text that stays text, wherever it is put.

use std::io::{self, Write};

/// The text for a place between tags or in a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + text.len() / 16);
    push_escaped(text, &mut plain);
    plain
}

/// Appends the text for a place between tags or in a quoted attribute.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>', '&', '"', '\'']) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        out.push_str(match special.as_bytes().first() {
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'&') => "&amp;",
            Some(b'"') => "&quot;",
            Some(_) | None => "&#39;",
        });
        rest = special.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Writes JSON so that nothing in it can end the element it stands in. Outside of strings JSON has no `<`.
pub(super) struct InScript<'a>(pub(super) &'a mut dyn Write);

impl Write for InScript<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'<', rest) {
            let (plain, special) = rest.split_at(at);
            self.0.write_all(plain)?;
            self.0.write_all(b"\\u003c")?;
            rest = special.get(1..).unwrap_or_default();
        }
        self.0.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
