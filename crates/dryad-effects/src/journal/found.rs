//! A journal as it was found: whole, torn by a death, damaged, or of a newer dryad.
//!
//! Only a torn intent says for sure that nothing was done: it is written before anything is staged, and a death may
//! leave any part of it. Everything else that cannot be read may have been a change in the midst of its moves. So
//! nothing is concluded from what cannot be read, and nothing is removed because of it.

use super::chain::{Chain, without_magic};
use super::{Intent, MAGIC, Meta, SUM, sum};
use crate::change_codec;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::path::FilePath;
use std::path::Path;

/// Where the version stands in the magic.
const VERSION: usize = 6;

/// What a journal says.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// It was torn before anything was done.
    Nothing,
    /// A change in flight.
    Found(Found),
    /// It cannot be read.
    Damaged {
        /// The slots of the change, as far as it says.
        slots: Vec<FilePath>,
    },
    /// A newer dryad wrote it.
    Newer,
}

/// A change in flight.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) intent: Intent,
    pub(crate) ready: Ready,
}

/// Whether everything lay ready.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ready {
    /// Nothing says so.
    No,
    /// It did; the inodes of what lay in the slots, in the units' order.
    Yes(Vec<u64>),
    /// Something was said that cannot be read any more.
    Unreadable,
}

/// What stands where a section should.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Section<'a> {
    /// Nothing at all.
    Missing,
    /// Less than it says itself.
    Torn,
    /// Something else than was written.
    Damaged,
    Whole(&'a [u8]),
}

impl<'a> Section<'a> {
    /// The next section.
    pub(super) fn take(rest: &mut &'a [u8]) -> Self {
        if rest.is_empty() {
            return Self::Missing;
        }
        let whole = || -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
            let (length, after) = rest.split_at_checked(8)?;
            let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
            let (bytes, after) = after.split_at_checked(length)?;
            let (found, after) = after.split_at_checked(SUM)?;
            Some((bytes, found, after))
        };
        let Some((bytes, found, after)) = whole() else { return Self::Torn };
        *rest = after;
        if found == sum(bytes) { Self::Whole(bytes) } else { Self::Damaged }
    }

    /// Its bytes, if it is whole.
    pub(super) fn whole(self) -> Option<&'a [u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Missing | Self::Torn | Self::Damaged => None,
        }
    }
}

impl Reading {
    /// What these bytes say.
    pub(super) fn of(bytes: &[u8]) -> Self {
        match Chain::of(bytes).open {
            _ if without_magic(bytes).is_none() => Self::of_unknown(bytes),
            Some((0, _)) | None => Self::Nothing,
            Some((_, change)) => Self::of_change(change),
        }
    }

    /// What a change says that is not known to be over.
    pub(super) fn of_change(mut rest: &[u8]) -> Self {
        let meta: Meta = match Section::take(&mut rest) {
            Section::Whole(meta) => match serde_json::from_slice(meta) {
                Ok(meta) => meta,
                Err(_) => return Self::Damaged { slots: Vec::new() },
            },
            // Nothing was staged before it was complete.
            Section::Missing => return Self::Nothing,
            Section::Torn | Section::Damaged => return Self::Damaged { slots: Vec::new() },
        };
        let changes = match Section::take(&mut rest) {
            Section::Whole(changes) => change_codec::decode(changes).ok(),
            Section::Missing | Section::Torn if !is_staged(&meta.slots) => return Self::Nothing,
            Section::Missing | Section::Torn | Section::Damaged => None,
        };
        let Some(changes) = changes else { return Self::Damaged { slots: meta.slots } };
        let ready = match Section::take(&mut rest) {
            Section::Missing => Ready::No,
            Section::Whole(inodes) => serde_json::from_slice(inodes).map_or(Ready::Unreadable, Ready::Yes),
            Section::Torn | Section::Damaged => Ready::Unreadable,
        };
        Self::Found(Found { intent: Intent { meta, changes }, ready })
    }

    fn of_unknown(bytes: &[u8]) -> Self {
        let is_alike = |(position, (byte, known)): (usize, (&u8, &u8))| byte == known || position == VERSION;
        let looks_like_one = bytes.len() >= MAGIC.len() && bytes.iter().zip(MAGIC).enumerate().all(is_alike);
        match bytes.get(VERSION) {
            Some(version) if looks_like_one && version.is_ascii_digit() => Self::Newer,
            // Not even that was written.
            _ if MAGIC.starts_with(bytes) => Self::Nothing,
            _ => Self::Damaged { slots: Vec::new() },
        }
    }
}

/// Whether something lies in one of these slots.
fn is_staged(slots: &[FilePath]) -> bool {
    slots.iter().any(|slot| slot.as_path().symlink_metadata().is_ok())
}

impl Found {
    /// The same where the workspace lies now, if it was moved since.
    pub(crate) fn followed(self, now: Option<&Path>) -> Self {
        let (Some(now), Some(then)) = (now, self.intent.meta.root.clone()) else { return self };
        let then = then.as_path();
        // The order of the slots is that of the paths, which stays only if all of them move.
        let moves = |path: &FilePath| path.as_path().starts_with(then);
        if then == now || then.exists() || !self.intent.changes.iter().all(|change| moves(&change.path)) {
            return self;
        }
        let follow = |path: &FilePath| match path.as_path().strip_prefix(then) {
            Ok(rest) => FilePath::new(now.join(rest)),
            Err(_) => path.clone(),
        };
        let Intent { meta, changes } = self.intent;
        let changes =
            ChangeSet::new(changes.iter().map(|change| Change { path: follow(&change.path), ..change.clone() }));
        let borne = meta.borne.iter().map(|listed| listed.at(follow(listed.path()))).collect();
        let slots = meta.slots.iter().map(follow).collect();
        let meta = Meta { slots, borne, root: Some(FilePath::new(now)), ..meta };
        Self { intent: Intent { meta, changes }, ready: self.ready }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::section;

    fn meta(slots: Vec<FilePath>) -> Vec<u8> {
        let meta = Meta { record: "a record".to_owned(), slots, root: None, batch: None, borne: Vec::new() };
        serde_json::to_vec(&meta).unwrap()
    }

    fn journal(sections: &[&[u8]]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        sections.iter().for_each(|bytes_of_one| section(&mut bytes, bytes_of_one));
        bytes
    }

    fn ready(reading: &Reading) -> Option<&Ready> {
        match reading {
            Reading::Found(found) => Some(&found.ready),
            Reading::Nothing | Reading::Damaged { .. } | Reading::Newer => None,
        }
    }

    #[test]
    fn only_what_was_torn_before_anything_was_staged_is_nothing() {
        let root = tempfile::tempdir().unwrap();
        let slot = FilePath::new(root.path().join("slot"));
        let changes = change_codec::encode(&ChangeSet::default());
        let (meta, inodes) = (meta(vec![slot.clone()]), b"[7]".as_slice());
        let intent = journal(&[&meta, &changes]);
        let first = journal(&[&meta]).len();
        for length in 0..=intent.len() {
            let read = Reading::of(&intent[..length]);
            match length {
                _ if length <= MAGIC.len() => assert!(matches!(read, Reading::Nothing), "{length}"),
                _ if length < first => assert!(matches!(read, Reading::Damaged { .. }), "{length}"),
                _ if length < intent.len() => assert!(matches!(read, Reading::Nothing), "{length}"),
                _ => assert_eq!(ready(&read), Some(&Ready::No)),
            }
        }
        std::fs::write(slot.as_path(), "staged").unwrap();
        let read = Reading::of(&intent[..intent.len() - 1]);
        assert!(matches!(read, Reading::Damaged { slots } if slots == [slot]), "it cannot have been torn");
        let whole = journal(&[&meta, &changes, inodes]);
        assert_eq!(ready(&Reading::of(&whole)), Some(&Ready::Yes(vec![7])));
        for length in intent.len() + 1..whole.len() {
            assert_eq!(ready(&Reading::of(&whole[..length])), Some(&Ready::Unreadable), "{length}");
        }
    }

    #[test]
    fn a_byte_that_differs_is_never_taken_for_something_else() {
        let changes = change_codec::encode(&ChangeSet::default());
        let whole = journal(&[&meta(Vec::new()), &changes, b"[7]"]);
        let intent = journal(&[&meta(Vec::new()), &changes]).len();
        for position in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[position] ^= 1;
            let read = Reading::of(&bytes);
            match position {
                VERSION => assert!(matches!(read, Reading::Newer)),
                _ if position < intent => assert!(!matches!(read, Reading::Found(_) | Reading::Newer), "{position}"),
                _ => assert_eq!(ready(&read), Some(&Ready::Unreadable), "{position}"),
            }
        }
    }
}
