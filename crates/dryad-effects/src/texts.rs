//! What was written over a text, kept as the difference to what stood there before.
//!
//! When the user edits a file after dryad did, an undo merges three ways and needs to know what dryad had
//! written. The before-image is in the vault; here lies only what differs from it, so that keeping both
//! costs no more than the change itself.
//!
//! ```text
//! <directory>/<name of the written content>:  name of the former content · prefix · suffix · what is between
//! ```

use crate::disk;
use crate::fingerprint::blob_id;
use crate::record_file::make_private_directory;
use crate::vault::Vault;
use dryad_protocol::image::BlobId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Larger texts are not kept.
const LARGEST: usize = 256 * 1024;

/// The name of the former content and two lengths.
const HEADER: usize = 32 + 8 + 8;

/// The kept texts of one workspace.
#[derive(Clone, Debug)]
pub struct Texts {
    directory: PathBuf,
}

impl Texts {
    /// Texts kept in this directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Keeps what was written, `after`, over `before`. Binary and large contents are passed over.
    pub fn keep(&self, before: &[u8], after: &[u8]) -> io::Result<()> {
        if before.len().max(after.len()) > LARGEST || after.contains(&0) || before == after {
            return Ok(());
        }
        let prefix = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let longest = before.len().min(after.len()) - prefix;
        let suffix = before.iter().rev().zip(after.iter().rev()).take(longest).take_while(|(a, b)| a == b).count();
        let mut bytes = blob_id(before).as_hash().to_vec();
        bytes.extend_from_slice(&(prefix as u64).to_le_bytes());
        bytes.extend_from_slice(&(suffix as u64).to_le_bytes());
        bytes.extend_from_slice(after.get(prefix..after.len() - suffix).unwrap_or_default());
        self.write(&self.path(blob_id(after)), &bytes)
    }

    /// What was written under this name, if it was kept and what it builds on is in the vault.
    pub fn read(&self, id: BlobId, vault: &Vault) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(id)).ok()?;
        let (header, middle) = bytes.split_at_checked(HEADER)?;
        let (hash, lengths) = header.split_at_checked(32)?;
        let (prefix, suffix) = lengths.split_at_checked(8)?;
        let length = |bytes: &[u8]| usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok();
        let before = vault.read(BlobId::from_hash(hash.try_into().ok()?)).ok()?;
        let start = before.get(..length(prefix)?)?;
        let end = before.get(before.len().checked_sub(length(suffix)?)?..)?;
        let after = [start, middle, end].concat();
        (blob_id(&after) == id).then_some(after)
    }

    /// Removes the texts that nothing keeps; how many.
    pub fn collect(&self, keep: &dyn Fn(&str) -> bool) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(keep) {
                disk::remove_file(&entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn path(&self, id: BlobId) -> PathBuf {
        self.directory.join(id.to_string())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let create = || match disk::create(path) {
            // Kept before, perhaps over another text: the newest one is the one to build on.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk::remove_file(path)?;
                disk::create(path)
            }
            other => other,
        };
        let mut file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_directory(&self.directory)?;
                create()?
            }
            other => other?,
        };
        disk::write(&mut file, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_rebuilt_from_what_stood_there_before() {
        let root = tempfile::tempdir().unwrap();
        let vault = Vault::open(root.path().join("vault")).unwrap();
        let texts = Texts::new(root.path().join("texts"));
        let cases =
            [("one two three", "one 2 three"), ("", "new"), ("old", ""), ("aaaa", "aa"), ("aa", "aaaa"), ("x", "y")];
        for (before, after) in cases {
            vault.put(before.as_bytes()).unwrap();
            texts.keep(before.as_bytes(), after.as_bytes()).unwrap();
            let found = texts.read(blob_id(after.as_bytes()), &vault);
            assert_eq!(found.as_deref(), Some(after.as_bytes()), "{before} to {after}");
        }
    }

    #[test]
    fn it_costs_no_more_than_the_change() {
        let root = tempfile::tempdir().unwrap();
        let texts = Texts::new(root.path());
        let before = "a line of text\n".repeat(5000);
        let after = before.replacen("line", "word", 1);
        texts.keep(before.as_bytes(), after.as_bytes()).unwrap();
        let kept = fs::metadata(texts.path(blob_id(after.as_bytes()))).unwrap().len();
        assert_eq!(kept, HEADER as u64 + 4);
    }

    #[test]
    fn what_nothing_keeps_is_collected() {
        let root = tempfile::tempdir().unwrap();
        let texts = Texts::new(root.path().join("texts"));
        assert_eq!(texts.collect(&|_| false).unwrap(), 0);
        texts.keep(b"1", b"kept").unwrap();
        texts.keep(b"2", b"old").unwrap();
        let kept = blob_id(b"kept").to_string();
        assert_eq!(texts.collect(&|name| name == kept).unwrap(), 1);
        assert_eq!(fs::read_dir(root.path().join("texts")).unwrap().count(), 1);
    }

    #[test]
    fn without_the_former_content_or_with_a_damaged_file_there_is_nothing() {
        let root = tempfile::tempdir().unwrap();
        let vault = Vault::open(root.path().join("vault")).unwrap();
        let texts = Texts::new(root.path().join("texts"));
        texts.keep(b"before", b"after").unwrap();
        let id = blob_id(b"after");
        assert_eq!(texts.read(id, &vault), None);
        vault.put(b"before").unwrap();
        assert!(texts.read(id, &vault).is_some());
        fs::write(texts.path(id), "garbage").unwrap();
        assert_eq!(texts.read(id, &vault), None);
    }
}
