//! Where the change sets of operations are kept: in the line, or in a file of their own when large.
//!
//! Such a file lies in `changes/` under the operation's id and is whole before the line is written.
//! The line holds its hash, so that the chain covers it.

use super::place::recorded_path;
use super::record::{Entry, Stored, Summary};
use super::{DamageKind, LogError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dryad_effects::change_codec;
use dryad_effects::fingerprint::blob_id;
use dryad_effects::record_file::{RecordFile, make_private_directory};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead};
use std::path::{Path, PathBuf};

/// An encoded change set up to this many bytes is kept in the line.
const LARGEST_INLINE: usize = 64 * 1024;

/// Ids name files; longer names are not needed.
const LONGEST_ID: usize = 128;

/// The directory of the change sets that have files of their own.
#[derive(Debug)]
pub(super) struct ChangeFiles {
    directory: PathBuf,
}

impl ChangeFiles {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Makes an entry of an operation in a workspace that lies at `root`, as far as that is known.
    pub(super) fn store(&self, operation: &Operation, root: Option<&Path>) -> Result<Entry, LogError> {
        let (summary, stored) = match &operation.effect {
            OperationEffect::Files { changes } => return self.store_files(&operation.head, changes, root),
            OperationEffect::Command { command } => (Summary::Command, Stored::Command(command.clone())),
            OperationEffect::Foreign { arguments, undo } => {
                (Summary::Foreign, Stored::Foreign { arguments: arguments.clone(), undo: undo.clone() })
            }
            OperationEffect::Nothing => (Summary::Nothing, Stored::Nothing {}),
        };
        Ok(Entry { head: operation.head.clone(), summary, has_texts: false, stored })
    }

    /// Makes an entry of an operation on files; a large change set is written to its file first.
    pub(super) fn store_files(
        &self,
        head: &OperationHead,
        changes: &ChangeSet,
        root: Option<&Path>,
    ) -> Result<Entry, LogError> {
        let encoded = change_codec::encode_placed(changes, |path| recorded_path(path, root));
        let stored = if encoded.len() > LARGEST_INLINE {
            Stored::ChangesFile(self.write(&head.id, &encoded)?)
        } else {
            Stored::Changes(BASE64_STANDARD.encode(&encoded))
        };
        Ok(Entry { head: head.clone(), summary: Summary::of(changes), has_texts: false, stored })
    }

    /// The operation that an entry was made of.
    pub(super) fn load(&self, entry: &Entry) -> Result<Operation, DamageKind> {
        let effect = match &entry.stored {
            Stored::Changes(text) => {
                let encoded =
                    BASE64_STANDARD.decode(text).map_err(|error| DamageKind::Unreadable(error.to_string()))?;
                files(&encoded)?
            }
            Stored::ChangesFile(hash) => files(&self.read(&entry.head.id, *hash)?)?,
            Stored::Command(command) => OperationEffect::Command { command: command.clone() },
            Stored::Foreign { arguments, undo } => {
                OperationEffect::Foreign { arguments: arguments.clone(), undo: undo.clone() }
            }
            Stored::Nothing {} => OperationEffect::Nothing,
        };
        Ok(Operation { head: entry.head.clone(), effect })
    }

    fn write(&self, id: &OperationId, encoded: &[u8]) -> Result<BlobId, LogError> {
        let path = self.path(id);
        make_private_directory(&self.directory).map_err(LogError::io(&self.directory))?;
        self.write_once(&RecordFile::new(path.clone()), encoded).map_err(LogError::io(&path))?;
        Ok(blob_id(encoded))
    }

    /// Writes the file unless an append that came to nothing has left it there already.
    fn write_once(&self, file: &RecordFile, encoded: &[u8]) -> std::io::Result<()> {
        let length = file.len()?;
        if length > 0 {
            if file.read(0, length)? == encoded {
                return Ok(());
            }
            file.cut(0)?;
        }
        file.append(encoded)?;
        // The line that names it becomes durable later than this, or together with it.
        file.write_out()
    }

    fn read(&self, id: &OperationId, hash: BlobId) -> Result<Vec<u8>, DamageKind> {
        let path = self.path(id);
        if !is_usable(id) {
            return Err(DamageKind::ChangesMismatch { path });
        }
        let file = RecordFile::new(path.clone());
        match file.len().and_then(|length| file.read(0, length)) {
            Ok(encoded) if encoded.is_empty() => Err(unavailable(path, "it is missing or empty".to_owned())),
            Ok(encoded) if blob_id(&encoded) == hash => Ok(encoded),
            Ok(_) => Err(DamageKind::ChangesMismatch { path }),
            Err(error) => Err(unavailable(path, error.to_string())),
        }
    }

    fn path(&self, id: &OperationId) -> PathBuf {
        self.directory.join(Path::new(id.as_str()))
    }
}

/// Whether an id can be the name of a file, everywhere.
pub(super) fn is_usable(id: &OperationId) -> bool {
    let text = id.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.len() <= LONGEST_ID && text.bytes().all(plain)
}

fn files(encoded: &[u8]) -> Result<OperationEffect, DamageKind> {
    let changes: ChangeSet = change_codec::decode(encoded)?;
    Ok(OperationEffect::Files { changes })
}

fn unavailable(path: PathBuf, problem: String) -> DamageKind {
    DamageKind::ChangesUnavailable { path, problem }
}
