//! What was cut off the end of the log and never came back.
//!
//! A torn append was never recorded. What was written whole and damaged later was, and the log that it was cut off
//! shows no gap. Most often the journal has had it written again; where it has not, the piece that was put aside is
//! all that tells of it.

use super::LogError;
use super::chain::Chain;
use super::file::FileLog;
use super::lines::JudgedLines;
use super::record::id_of;
use dryad_protocol::id::OperationId;
use std::io;
use std::path::PathBuf;

/// How the JSON of an entry begins.
const ID: &[u8] = b"{\"id\":\"";

/// What is left of an entry.
struct Piece {
    kept_at: PathBuf,
    hash: Option<Chain>,
    id: Option<OperationId>,
}

impl FileLog {
    /// A piece that was put aside and was an entry which the log does not have any more.
    pub fn missed(&self) -> Result<Option<PathBuf>, LogError> {
        let mut pieces = self.pieces().map_err(LogError::io(self.path()))?;
        if pieces.is_empty() {
            return Ok(None);
        }
        for judged in JudgedLines::before(&self.file, self.tail()?.end) {
            let (line, _) = judged.map_err(LogError::io(self.path()))?;
            let Ok((hash, json)) = line.parts() else { continue };
            let id = id_of(json).ok();
            // Written again behind the same line it has the same hash; either may be what was damaged.
            pieces.retain(|piece| piece.hash != Some(hash) && (piece.id.is_none() || piece.id != id));
        }
        Ok(pieces.into_iter().next().map(|piece| piece.kept_at))
    }

    fn pieces(&self) -> io::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for file in self.file.set_aside()? {
            let bytes = file.read(0, file.len()?)?;
            if bytes.ends_with(b"\n") {
                pieces.push(Piece {
                    kept_at: file.path().to_owned(),
                    hash: Chain::leading(&bytes),
                    id: first_id(&bytes),
                });
            }
        }
        Ok(pieces)
    }
}

fn first_id(bytes: &[u8]) -> Option<OperationId> {
    let begin = memchr::memmem::find(bytes, ID)? + ID.len();
    let rest = bytes.get(begin..)?;
    let id = rest.get(..memchr::memchr(b'"', rest)?)?;
    std::str::from_utf8(id).ok().map(OperationId::from)
}
