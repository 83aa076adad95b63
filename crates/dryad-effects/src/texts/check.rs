//! Whether a pack is what was kept.
//!
//! Every text in it is rebuilt from the other side, as far as that can be had; of the rest only the form is known.
//! Limitation: that a large one was cut between two texts does not show.

use super::Texts;
use super::pack::{Difference, differences};
use crate::fingerprint::blob_id;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};

/// What became of a pack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Condition {
    /// It is as it was written, as far as that can be told.
    Sound,
    /// It is not.
    Damaged,
    /// It is not there.
    Absent,
}

impl Texts {
    /// Reads the pack of an operation that made this change. `content` gives contents that are kept as a whole.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn check(
        &self,
        operation: &OperationId,
        changes: &ChangeSet,
        content: &dyn Fn(BlobId) -> Option<Vec<u8>>,
    ) -> io::Result<Condition> {
        match File::open(self.place(operation)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            file => {
                let file = file?;
                let length = file.metadata()?.len();
                return Ok(condition(&mut BufReader::new(file), length, changes, content));
            }
        }
        self.load(operation);
        let known = self.known.borrow();
        Ok(match known.shared(operation.as_str()) {
            Some(pack) => condition(&mut Cursor::new(pack.bytes()), pack.bytes().len() as u64, changes, content),
            // It is what cannot be read, most likely.
            None if known.is_damaged => Condition::Damaged,
            None => Condition::Absent,
        })
    }
}

fn condition(
    pack: &mut (impl Read + Seek),
    length: u64,
    changes: &ChangeSet,
    content: &dyn Fn(BlobId) -> Option<Vec<u8>>,
) -> Condition {
    if length == 0 {
        // Who made it died before he wrote anything.
        return Condition::Absent;
    }
    let found: Vec<Difference> = differences(pack).collect();
    let is_all = found.last().is_some_and(|last| last.end() == length);
    let pairs: HashSet<_> = changes.iter().map(|change| (change.before.blob(), change.after.blob())).collect();
    let is_sound = is_all
        && found.iter().all(|difference| {
            pairs.contains(&(Some(difference.before), Some(difference.after))) && is_sound(difference, pack, content)
        });
    if is_sound { Condition::Sound } else { Condition::Damaged }
}

fn is_sound(
    difference: &Difference,
    pack: &mut (impl Read + Seek),
    content: &dyn Fn(BlobId) -> Option<Vec<u8>>,
) -> bool {
    let sides = [difference.before, difference.after];
    let Some((id, text)) = sides.into_iter().find_map(|id| Some((id, content(id)?))) else { return true };
    let other = difference.other(id);
    let rebuilt = difference.rebuild(other, &text, pack).filter(|rebuilt| blob_id(rebuilt) == other);
    rebuilt.is_some_and(|rebuilt| difference.rebuild(id, &rebuilt, pack).is_some_and(|again| again == text))
}
