//! One side of a change: what stands at a path before or after it.

use crate::path::{from_hex, to_hex};
use crate::time::FileTime;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Names a file's content by its BLAKE3 hash.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The id with this hash; hashing itself is done by `dryad-effects`.
    pub const fn from_hash(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash itself.
    pub const fn as_hash(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BlobId({self})")
    }
}

impl Serialize for BlobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_hex(&text)
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| D::Error::custom("a blob id has 64 hexadecimal digits"))
    }
}

/// What stands at a path.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Image {
    /// Nothing.
    Absent,
    /// A regular file.
    File(FileImage),
    /// A symbolic link and where it points.
    Symlink {
        /// The link's text, which need not be absolute.
        target: crate::path::FilePath,
    },
    /// A directory; its entries have images of their own.
    Directory {
        /// Permission bits.
        mode: u32,
    },
}

/// A regular file as an image keeps it. Its bytes are a blob, never part of the image.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FileImage {
    /// The content's name.
    pub blob: BlobId,
    /// The content's length in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// When it was last modified; absent for a file that is yet to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<FileTime>,
}

impl Image {
    /// The content's name, if this is a regular file.
    pub fn blob(&self) -> Option<BlobId> {
        match self {
            Self::File(file) => Some(file.blob),
            Self::Absent | Self::Symlink { .. } | Self::Directory { .. } => None,
        }
    }

    /// When it was last modified, as far as the image knows.
    pub fn modified(&self) -> Option<FileTime> {
        match self {
            Self::File(file) => file.modified,
            Self::Absent | Self::Symlink { .. } | Self::Directory { .. } => None,
        }
    }

    /// Whether both show the same kind, content and mode; modification times do not count.
    pub fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => a.blob == b.blob && a.mode == b.mode,
            // A link's text is compared byte by byte: `a` and `a/` name the same path, yet they differ.
            (Self::Symlink { target: a }, Self::Symlink { target: b }) => {
                a.as_path().as_os_str() == b.as_path().as_os_str()
            }
            (a, b) => a == b,
        }
    }
}
