//! The hash that ties each line of the log to all lines before it.
//!
//! ```text
//! <32 hexadecimal digits> <json>⏎        digits = BLAKE3(hash of the line before ‖ json), first 16 bytes
//! ```
//!
//! Whoever alters, removes or reorders lines has to write every later line anew.

use dryad_effects::fingerprint::blob_id;

const BYTES: usize = 16;

/// Where the JSON of a line begins: after the digits and a space.
pub(super) const JSON_AT: usize = 2 * BYTES + 1;

/// The hash of one line and, through it, of all lines before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Chain([u8; BYTES]);

impl Chain {
    /// What stands before the first line.
    pub(super) const START: Self = Self([0; BYTES]);

    /// The hash of a line with this JSON that follows this one.
    pub(super) fn then(self, json: &[u8]) -> Self {
        let hash = blob_id(&[&self.0, json].concat());
        Self(*hash.as_hash().first_chunk().unwrap_or(&Self::START.0))
    }

    /// The line with this JSON that follows this one, and its hash.
    pub(super) fn line(self, json: &[u8]) -> (Vec<u8>, Self) {
        let hash = self.then(json);
        ([&hash.digits(), b" ".as_slice(), json, b"\n"].concat(), hash)
    }

    /// The hash that `line` begins with, whatever follows it.
    pub(super) fn leading(line: &[u8]) -> Option<Self> {
        let (pairs, _) = line.get(..2 * BYTES)?.as_chunks::<2>();
        let mut hash = [0; BYTES];
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = digit(*high)? * 16 + digit(*low)?;
        }
        Some(Self(hash))
    }

    fn digits(self) -> Vec<u8> {
        self.0.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
    }
}

/// The hash and the JSON of a line without its end.
pub(super) fn split(line: &[u8]) -> Option<(Chain, &[u8])> {
    let hash = Chain::leading(line)?;
    let json = line.get(JSON_AT - 1..)?.strip_prefix(b" ")?;
    Some((hash, json))
}

/// Only lower-case digits: every hash has one form.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_into_what_it_was_made_of() {
        let (line, hash) = Chain::START.line(b"{}");
        let without_end = line.strip_suffix(b"\n").unwrap();
        assert_eq!(split(without_end), Some((hash, b"{}".as_slice())));
        assert_eq!(hash, Chain::START.then(b"{}"));
    }

    #[test]
    fn the_hash_depends_on_the_json_and_on_what_stands_before() {
        let first = Chain::START.then(b"{}");
        assert_ne!(first, Chain::START.then(b"{ }"));
        assert_ne!(first, first.then(b"{}"));
    }

    #[test]
    fn a_hash_has_one_form() {
        let digits = "0123456789abcdef0123456789abcdef";
        assert!(Chain::leading(digits.as_bytes()).is_some());
        assert_eq!(Chain::leading(digits.to_uppercase().as_bytes()), None);
        assert_eq!(Chain::leading(&digits.as_bytes()[1..]), None);
    }
}
