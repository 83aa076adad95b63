//! Hides secrets in what tools print.
//!
//! A key that the program knows must not reach a model, an event or a file. Output arrives in
//! pieces, so a secret may be split between two of them: [`MaskStream`] holds back exactly the tail
//! that could still become one.

use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::Arc;

/// What stands in a secret's place.
const COVER: &str = "[secret]";

/// Shorter values are no secrets but ordinary words; hiding them would garble output.
const SHORTEST: usize = 8;

/// The secrets to hide. Cloning shares them.
#[derive(Clone, Default)]
pub struct Mask {
    secrets: Arc<[Finder<'static>]>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask({} secrets)", self.secrets.len())
    }
}

impl Mask {
    /// Hides these values; those under eight bytes are left alone.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect();
        // A secret that holds another one is looked for first.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        Self { secrets: known.iter().map(|secret| Finder::new(secret).into_owned()).collect() }
    }

    /// The text with every secret covered; borrowed when there is none in it.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The bytes with every secret covered; borrowed when there is none in them. UTF-8 stays UTF-8.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut covered = Cow::Borrowed(bytes);
        for secret in self.secrets.iter() {
            if secret.find(&covered).is_some() {
                covered = Cow::Owned(cover(&covered, secret));
            }
        }
        covered
    }

    /// The length of the longest tail of `bytes` that is the beginning of a secret.
    fn open_tail(&self, bytes: &[u8]) -> usize {
        let tail_of = |secret: &Finder<'_>| {
            let needle = secret.needle();
            (1..needle.len().min(bytes.len() + 1))
                .rev()
                .find(|&length| needle.get(..length).is_some_and(|start| bytes.ends_with(start)))
        };
        self.secrets.iter().filter_map(tail_of).max().unwrap_or(0)
    }

    /// Where the first secret begins that a cut at `cut` would tear.
    fn start_across(&self, bytes: &[u8], cut: usize) -> Option<usize> {
        let start_of = |secret: &Finder<'_>| {
            let reach = secret.needle().len() - 1;
            let from = cut.saturating_sub(reach);
            let around = bytes.get(from..bytes.len().min(cut + reach))?;
            secret.find(around).map(|at| from + at)
        };
        self.secrets.iter().filter_map(start_of).min().filter(|&start| start < cut)
    }
}

fn cover(bytes: &[u8], secret: &Finder<'_>) -> Vec<u8> {
    let mut covered = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in secret.find_iter(bytes) {
        covered.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        covered.extend_from_slice(COVER.as_bytes());
        from = at + secret.needle().len();
    }
    covered.extend_from_slice(bytes.get(from..).unwrap_or_default());
    covered
}

/// Hides secrets in output that arrives in pieces.
#[derive(Debug, Default)]
pub struct MaskStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskStream {
    /// A stream in which `mask`'s secrets are covered.
    pub fn new(mask: Mask) -> Self {
        Self { mask, held: Vec::new() }
    }

    /// Takes a piece and hands out what is certain by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        // Cut before covering: a whole secret may be the beginning of a longer one.
        let cut = self.held.len() - self.mask.open_tail(&self.held);
        let tail = self.held.split_off(self.mask.start_across(&self.held, cut).unwrap_or(cut));
        self.covered_and_keep(tail)
    }

    /// Hands out what was held back: no more will come.
    pub fn finish(&mut self) -> Vec<u8> {
        self.covered_and_keep(Vec::new())
    }

    fn covered_and_keep(&mut self, tail: Vec<u8>) -> Vec<u8> {
        let certain = std::mem::replace(&mut self.held, tail);
        match self.mask.bytes(&certain) {
            Cow::Borrowed(_) => certain,
            Cow::Owned(covered) => covered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_secrets_however_the_pieces_fall() {
        let text = b"key=sk-secret-1234 and sk-secret-1234sk-sec";
        let mask = Mask::new(["sk-secret-1234".to_owned(), "tiny".to_owned()]);
        for size in 1..text.len() {
            let mut stream = MaskStream::new(mask.clone());
            let mut out: Vec<u8> = text.chunks(size).flat_map(|piece| stream.push(piece)).collect();
            out.extend(stream.finish());
            assert_eq!(String::from_utf8(out).unwrap(), "key=[secret] and [secret]sk-sec", "pieces of {size}");
        }
    }

    #[test]
    fn a_secret_that_begins_another_one_or_overlaps_it_leaks_nothing() {
        let cases = [
            (
                ["sk-secret-1", "sk-secret-1-and-more"],
                "a sk-secret-1-and-more b sk-secret-1-andz",
                "a [secret] b [secret]-andz",
            ),
            (["abcdefgh", "ghijklmn"], "x abcdefgh ghijklmn abcdefgh", "x [secret] [secret] [secret]"),
        ];
        for (secrets, text, expected) in cases {
            let mask = Mask::new(secrets.map(str::to_owned));
            for size in 1..=text.len() {
                let mut stream = MaskStream::new(mask.clone());
                let mut out: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
                out.extend(stream.finish());
                assert_eq!(String::from_utf8(out).unwrap(), expected, "pieces of {size}");
            }
        }
    }

    #[test]
    fn text_without_secrets_is_passed_through_at_once() {
        let mut stream = MaskStream::new(Mask::new(["abcdefgh".to_owned()]));
        assert_eq!(stream.push(b"hello "), b"hello ");
        assert!(matches!(Mask::default().text("tiny"), Cow::Borrowed("tiny")));
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", Mask::new(["sk-secret-1234".to_owned()])), "Mask(1 secrets)");
    }
}
