//! The text of one side of a change, if it can be had.

use dryad_effects::fingerprint::blob_id;
use dryad_effects::texts::Texts;
use dryad_effects::vault::{Vault, VaultError};
use dryad_protocol::id::OperationId;
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;

/// Larger files are told by their size.
pub(in crate::mode) const LARGEST: u64 = 1024 * 1024;

/// How far binary files are searched for a zero byte.
const SEARCHED: usize = 8 * 1024;

/// One side of a change as far as a difference can be drawn of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::mode) enum Content {
    /// There is no file on this side.
    None,
    /// A text.
    Text(String),
    /// A file that is no text, or too large to compare.
    Bytes {
        /// How long it is.
        size: u64,
    },
    /// A file whose bytes are not at hand.
    Lost {
        /// How long it was.
        size: u64,
        /// Why they are not at hand.
        why: String,
    },
}

/// Where contents come from: the vault, the tree if the file still has them, or the kept differences.
#[derive(Debug)]
pub(in crate::mode) struct Contents<'a> {
    /// The contents that were replaced.
    pub(in crate::mode) vault: &'a Vault,
    /// What was written over texts.
    pub(in crate::mode) texts: Texts,
    /// The operation whose contents are looked for.
    pub(in crate::mode) operation: OperationId,
}

impl Contents<'_> {
    /// The content of one side of a change of `path`.
    pub(in crate::mode) fn of(&self, path: &FilePath, image: &Image) -> Content {
        match image {
            Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => Content::None,
            Image::File(file) if file.size > LARGEST => Content::Bytes { size: file.size },
            Image::File(file) => self.file(path, file),
        }
    }

    /// Whether the content of a file that stood at `path` can be had.
    ///
    /// # Errors
    ///
    /// When the vault cannot be looked into.
    pub(in crate::mode) fn has(&self, path: &FilePath, file: &FileImage) -> Result<bool, VaultError> {
        Ok(self.vault.contains(file.blob)? || from_tree(path, file).is_some() || self.rebuilt(file).is_some())
    }

    fn rebuilt(&self, file: &FileImage) -> Option<Vec<u8>> {
        self.texts.read(file.blob, &self.operation, &|blob| self.vault.read(blob).ok())
    }

    fn file(&self, path: &FilePath, file: &FileImage) -> Content {
        let bytes = match self.vault.read(file.blob) {
            Ok(bytes) => bytes,
            Err(error) => match from_tree(path, file).or_else(|| self.rebuilt(file)) {
                Some(bytes) => bytes,
                None => return Content::Lost { size: file.size, why: error.to_string() },
            },
        };
        Content::of_bytes(bytes)
    }
}

impl Content {
    /// These bytes, if they are not too many to compare.
    pub(in crate::mode) fn of_bytes(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        let is_binary = bytes.get(..SEARCHED.min(bytes.len())).is_some_and(|start| start.contains(&0));
        match String::from_utf8(bytes) {
            Ok(text) if !is_binary && size <= LARGEST => Self::Text(text),
            Ok(_) | Err(_) => Self::Bytes { size },
        }
    }
}

/// The bytes of the file in the tree, if they are the ones that are looked for.
pub(in crate::mode) fn from_tree(path: &FilePath, file: &FileImage) -> Option<Vec<u8>> {
    let metadata = path.as_path().symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() != file.size {
        return None;
    }
    std::fs::read(path.as_path()).ok().filter(|bytes| blob_id(bytes) == file.blob)
}
