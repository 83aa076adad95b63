//! What a rehearsed command changed: its layers, read as a change set.
//!
//! Only the layers are walked. Each entry there is looked at beside what stands at the same path in the real tree;
//! what proves to be the same is left out. The real side becomes the `before` of the change, so that a tree that
//! has moved on since is refused when the change is applied.

mod images;
mod large;
mod walk;

pub(super) use images::{open, strip};

use crate::bearing::Bearing;
use crate::bearings::Listed;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where a content lies until somebody takes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Content {
    /// The path that has it, or had it.
    pub path: FilePath,
    /// Its name.
    pub blob: BlobId,
    /// The file in the layer.
    pub file: PathBuf,
}

/// Something the command did that a change set cannot say, so that applying it will not do it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotCarried {
    /// Where.
    pub path: FilePath,
    /// What.
    pub what: Uncarried,
}

/// Kinds of things that a change set cannot say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Uncarried {
    /// A pipe, a socket or a device was made.
    SpecialFile,
    /// A pipe, a socket or a device was deleted, alone or with the directory it lies in.
    SpecialFileDeleted,
    /// A pipe, a socket or a device that could not be deleted stands in the way of what the command put there.
    Blocked,
    /// A pipe, a socket or a device was really deleted.
    SpecialFileGone,
    /// A pipe, a socket or a device was really made.
    SpecialFileStays,
    /// What stood there was really changed, and could not be kept.
    Lost,
    /// What stands there came from where it could not be kept: there is no other copy of it.
    OnlyCopy,
    /// What stands there cannot be read, so that it could not be brought back.
    Unreadable,
    /// The real directory is another's and does not allow it: it is closed, or its sticky bit protects others' files.
    Forbidden,
    /// The file has, or gets, a second name; applying makes it a file of its own.
    HardLink,
    /// The file had other names: run directly, the command would have changed them all.
    HardLinkBroken,
    /// The file was really written to, and has names outside the granted roots that an undo does not reach.
    NamesElsewhere,
    /// Owner, group or attributes of something that is no part of the change were really changed.
    BearingStays,
    /// Owner or group were changed, and nothing else.
    Owner,
    /// Extended attributes were changed, and nothing else.
    Attributes,
}

/// A write outside the granted roots. It is not part of the change set and will never be applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutsideWrite {
    /// Where.
    pub path: FilePath,
    /// What would have happened.
    pub kind: OutsideKind,
}

/// What would have happened outside the granted roots.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OutsideKind {
    /// Something new.
    Created,
    /// Something else or different.
    Changed,
    /// Gone, with everything in it.
    Deleted,
}

/// A tree and the layer over it.
#[derive(Debug)]
pub(super) struct Covered {
    /// The tree.
    pub(super) root: PathBuf,
    /// The layer's directory.
    pub(super) upper: PathBuf,
    /// Whether changes in it are wanted.
    pub(super) granted: bool,
}

/// Everything found.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) changes: ChangeSet,
    pub(super) contents: Vec<Content>,
    pub(super) bearings: Vec<(FilePath, Bearing)>,
    pub(super) borne: Vec<Listed>,
    pub(super) outside_writes: Vec<OutsideWrite>,
    pub(super) not_carried: Vec<NotCarried>,
    pub(super) changed_meanwhile: Vec<FilePath>,
}

/// Reads the layers. What changed in the real tree after `begun` was changed by somebody else meanwhile.
pub(super) fn capture(trees: &[Covered], begun: FileTime) -> io::Result<Captured> {
    let mut captured = Captured::default();
    let mut pairs = Vec::new();
    for tree in trees {
        let walked = walk::walk(tree, begun)?;
        if tree.granted {
            pairs.extend(walked.pairs);
            captured.not_carried.extend(walked.not_carried);
            captured.changed_meanwhile.extend(walked.changed_meanwhile);
        } else {
            captured.outside_writes.extend(walked.pairs.iter().filter_map(walk::Pair::as_outside_write));
        }
    }
    images::compare(&pairs, &mut captured)?;
    // The walk and the comparison tell of different things at the same places.
    captured.not_carried.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(captured)
}

impl fmt::Display for NotCarried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Uncarried::SpecialFile => "a pipe, socket or device is not made",
            Uncarried::SpecialFileDeleted => "a pipe, socket or device is not deleted",
            Uncarried::Blocked => "it is not made: a pipe, socket or device that is not deleted stands there",
            Uncarried::SpecialFileGone => "a pipe, socket or device is gone and cannot be brought back",
            Uncarried::SpecialFileStays => "a pipe, socket or device was made; an undo leaves it there",
            Uncarried::Lost => "its former content could not be kept and cannot be brought back",
            Uncarried::OnlyCopy => "it is what could not be kept elsewhere; an undo leaves it there",
            Uncarried::Unreadable => "it cannot be read, so it is left alone",
            Uncarried::Forbidden => {
                "the directory belongs to somebody else and does not allow it, so it is left as it is"
            }
            Uncarried::HardLink => "it becomes a file of its own instead of a second name",
            Uncarried::HardLinkBroken => "its other names keep the old content",
            Uncarried::NamesElsewhere => {
                "it has other names outside the granted roots; an undo leaves those as they are now"
            }
            Uncarried::BearingStays => {
                "its owner, group or extended attributes were changed; an undo leaves them as they are now"
            }
            Uncarried::Owner => "a change of owner or group alone is left out",
            Uncarried::Attributes => "a change of extended attributes alone is left out",
        };
        write!(formatter, "{}: {what}", self.path)
    }
}
