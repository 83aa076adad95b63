//! The texts of one operation, as bytes.
//!
//! ```text
//! difference…    before (32)  after (32)  prefix (4)  suffix (4)  length (4)  length (4)  middle of before  middle of after
//! ```
//!
//! Both texts begin with the same `prefix` bytes and end with the same `suffix` bytes. Numbers are little-endian.

use crate::contents::Contents;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{BlobId, Image};
use std::io::{Read, Seek, SeekFrom};

/// Larger texts are not kept.
const LARGEST: usize = 256 * 1024;

const HEADER: usize = 32 + 32 + 4 * 4;

/// How much of two texts is compared at once.
const BLOCK: usize = 512;

/// What an operation wrote over texts.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    bytes: Vec<u8>,
}

/// One difference in a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) before: BlobId,
    pub(super) after: BlobId,
    prefix: u32,
    suffix: u32,
    before_length: u32,
    after_length: u32,
    /// Where the middles begin in the pack.
    offset: u64,
}

impl Pack {
    /// The texts of a change whose both sides are at hand. Binary and large contents are passed over.
    pub fn of(changes: &ChangeSet, contents: &Contents) -> Self {
        let mut pack = Self::default();
        for change in changes.iter() {
            pack.add(change, contents);
        }
        pack
    }

    /// A pack of these bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec() }
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes room for more.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the texts of one path; nothing when it is not one over another.
    pub(super) fn add(&mut self, change: &Change, contents: &Contents) -> Option<()> {
        let (former, latter) = (change.before.blob()?, change.after.blob()?);
        let is_large = |image: &Image| matches!(image, Image::File(file) if file.size > LARGEST as u64);
        if former == latter || is_large(&change.before) || is_large(&change.after) {
            return None;
        }
        let (before, after) = (contents.get(former)?, contents.get(latter)?);
        let is_text = |bytes: &[u8]| bytes.len() <= LARGEST && memchr::memchr(0, bytes).is_none();
        if !is_text(&before) || !is_text(&after) {
            return None;
        }
        let prefix = common_prefix(&before, &after);
        let suffix = common_suffix(before.get(prefix..)?, after.get(prefix..)?);
        let middles = [before.get(prefix..before.len() - suffix)?, after.get(prefix..after.len() - suffix)?];
        self.bytes.extend_from_slice(former.as_hash());
        self.bytes.extend_from_slice(latter.as_hash());
        for number in [prefix, suffix, middles[0].len(), middles[1].len()] {
            self.bytes.extend_from_slice(&u32::try_from(number).ok()?.to_le_bytes());
        }
        middles.iter().for_each(|middle| self.bytes.extend_from_slice(middle));
        Some(())
    }
}

impl Difference {
    /// The name of the text on the other side.
    pub(super) fn other(&self, id: BlobId) -> BlobId {
        if id == self.after { self.before } else { self.after }
    }

    /// Where the next difference begins in the pack.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.before_length) + u64::from(self.after_length)
    }

    /// The text `id`, made of the one on the other side and what `pack` holds.
    pub(super) fn rebuild(&self, id: BlobId, other: &[u8], pack: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
        let (skipped, length) =
            if id == self.after { (self.before_length, self.after_length) } else { (0, self.before_length) };
        pack.seek(SeekFrom::Start(self.offset + u64::from(skipped))).ok()?;
        let mut text = other.get(..self.prefix as usize)?.to_vec();
        let wanted = text.len() + length as usize;
        pack.take(length.into()).read_to_end(&mut text).ok().filter(|_| text.len() == wanted)?;
        text.extend_from_slice(other.get(other.len().checked_sub(self.suffix as usize)?..)?);
        Some(text)
    }
}

/// How many bytes both begin with. Blocks are compared at once: most of two texts is alike.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let alike = blocks * BLOCK;
    let rest = one.iter().zip(other).skip(alike);
    alike + rest.take_while(|(a, b)| a == b).count()
}

/// How many bytes both end with.
fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let alike = blocks * BLOCK;
    let rest = one.iter().rev().zip(other.iter().rev()).skip(alike);
    alike + rest.take_while(|(a, b)| a == b).count()
}

/// The differences in a pack, up to where it ends or stops making sense. Middles are passed over.
pub(super) fn differences(pack: &mut (impl Read + Seek)) -> impl Iterator<Item = Difference> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let mut header = [0; HEADER];
        pack.read_exact(&mut header).ok()?;
        let difference = parse(&header, offset + HEADER as u64)?;
        let middles = i64::from(difference.before_length) + i64::from(difference.after_length);
        pack.seek_relative(middles).ok()?;
        offset = difference.end();
        Some(difference)
    })
}

fn parse(header: &[u8; HEADER], offset: u64) -> Option<Difference> {
    let (before, rest) = header.split_first_chunk::<32>()?;
    let (after, rest) = rest.split_first_chunk::<32>()?;
    let (numbers, _) = rest.as_chunks::<4>();
    let [prefix, suffix, before_length, after_length] = numbers else { return None };
    Some(Difference {
        before: BlobId::from_hash(*before),
        after: BlobId::from_hash(*after),
        prefix: u32::from_le_bytes(*prefix),
        suffix: u32::from_le_bytes(*suffix),
        before_length: u32::from_le_bytes(*before_length),
        after_length: u32::from_le_bytes(*after_length),
        offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_found_at_any_length() {
        let text: Vec<u8> = (0..4 * BLOCK).map(|number| (number % 251) as u8).collect();
        for at in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7, 4 * BLOCK - 1] {
            let mut other = text.clone();
            other[at] = 255;
            assert_eq!((common_prefix(&text, &other), common_suffix(&text, &other)), (at, text.len() - at - 1), "{at}");
            assert_eq!(common_prefix(&text, &text[..at]), at);
            assert_eq!(common_suffix(&text, &text[at..]), text.len() - at);
        }
    }
}
