//! Two files read together, because they may hold the same.
//!
//! To compare is three times as fast as to hash: as long as both are alike one hash stands for both, and who only
//! wants to know whether they are alike needs none.

use super::{OFlags, PERMISSIONS, PIECE, modified};
use dryad_protocol::image::{BlobId, FileImage};
use rustix::fs::{Mode, open};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// One of the two files, and what was read of it last.
struct Side {
    file: File,
    facts: Metadata,
    piece: Vec<u8>,
    size: u64,
}

impl Side {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty())?);
        let facts = file.metadata()?;
        match facts.is_file() {
            true => Ok(Self { file, facts, piece: vec![0; PIECE], size: 0 }),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Reads the next piece, which is full unless the file ends.
    fn next(&mut self) -> io::Result<&[u8]> {
        let mut filled = 0;
        while let Some(rest) = self.piece.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read(rest)? {
                0 => break,
                count => filled += count,
            }
        }
        self.size += filled as u64;
        Ok(self.piece.get(..filled).unwrap_or_default())
    }

    fn image(&self, hasher: &blake3::Hasher) -> FileImage {
        FileImage {
            blob: BlobId::from_hash(*hasher.finalize().as_bytes()),
            size: self.size,
            mode: self.facts.permissions().mode() & PERMISSIONS,
            modified: modified(&self.facts),
        }
    }
}

/// What two files hold.
pub(crate) fn see_both(one: &Path, other: &Path) -> io::Result<[FileImage; 2]> {
    let (mut one, mut other) = (Side::open(one)?, Side::open(other)?);
    let mut hasher = blake3::Hasher::new();
    // That of the other one, once both differ.
    let mut apart: Option<blake3::Hasher> = None;
    loop {
        let (piece, opposite) = (one.next()?, other.next()?);
        if piece.is_empty() && opposite.is_empty() {
            break;
        }
        match &mut apart {
            None if piece == opposite => {}
            None => {
                apart.insert(hasher.clone()).update(opposite);
            }
            Some(apart) => {
                apart.update(opposite);
            }
        }
        hasher.update(piece);
    }
    Ok([one.image(&hasher), other.image(apart.as_ref().unwrap_or(&hasher))])
}

/// Whether two files hold the same.
pub(crate) fn are_alike(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (Side::open(one)?, Side::open(other)?);
    loop {
        match (one.next()?, other.next()?) {
            (piece, opposite) if piece != opposite => return Ok(false),
            ([], _) => return Ok(true),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::image_at;
    use dryad_protocol::image::Image;
    use std::fs;

    #[test]
    fn both_are_what_each_is_by_itself_wherever_they_differ() {
        let root = tempfile::tempdir().unwrap();
        let (one, other) = (root.path().join("one"), root.path().join("other"));
        let text: Vec<u8> = (0..3 * PIECE + 17).map(|number| (number % 251) as u8).collect();
        fs::write(&one, &text).unwrap();
        let changed = |at: usize| {
            let mut text = text.clone();
            text[at] ^= 1;
            text
        };
        let others = [0, PIECE - 1, PIECE, 2 * PIECE + 5, text.len() - 1].map(changed);
        let shorter = [text[..PIECE].to_vec(), text[..text.len() - 1].to_vec(), Vec::new()];
        for content in others.iter().chain(&shorter).chain([&text]) {
            fs::write(&other, content).unwrap();
            let alone = [&one, &other].map(|path| image_at(path).unwrap());
            for (first, second) in [(&one, &other), (&other, &one)] {
                let mut both = see_both(first, second).unwrap().map(Image::File);
                if first == &other {
                    both.reverse();
                }
                assert_eq!(both, alone);
                assert_eq!(are_alike(first, second).unwrap(), *content == text);
            }
        }
        assert!(see_both(&one, root.path()).is_err() && are_alike(&one, &root.path().join("none")).is_err());
    }
}
