//! What a line of the log says, as JSON.
//!
//! The first line is a [`Header`]; every other one is an [`Entry`]: the operation's head, a summary
//! that listings need, and the change set in a form that is decoded only when somebody asks for it.

use super::{DamageKind, LogError};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::operation::{OperationHead, UndoRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The version written here, and the newest that is written to.
pub(super) const VERSION: u32 = 1;

const FORMAT: &str = "dryad-oplog";

/// One operation as the log keeps it, its change set not yet decoded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entry {
    /// Who did it, when and why.
    #[serde(flatten)]
    pub head: OperationHead,
    /// What it did, in numbers.
    #[serde(flatten)]
    pub summary: Summary,
    /// Whether what it wrote over texts was kept beside the log. Logs that were written before this was noted do not
    /// tell.
    #[serde(rename = "hasTexts", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_texts: bool,
    #[serde(flatten)]
    pub(super) stored: Stored,
}

/// What an operation did, in numbers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Summary {
    /// Files were changed.
    Files {
        /// How many paths were touched.
        paths: u64,
        /// At how many of them nothing stood before.
        created: u64,
        /// At how many of them something else stood before.
        modified: u64,
        /// At how many of them nothing stands afterwards.
        removed: u64,
    },
    /// A process ran.
    Command,
    /// A tool acted on its own.
    Foreign,
    /// A call changed nothing.
    Nothing,
}

/// What an operation did, as the log keeps it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Stored {
    /// An encoded change set in base64.
    Changes(String),
    /// The hash of a file of its own that holds the encoded change set.
    ChangesFile(BlobId),
    /// What ran.
    Command(CommandSpec),
    /// What a tool was called with that acted on its own, and how that is taken back.
    Foreign {
        arguments: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<UndoRecord>,
    },
    /// Nothing.
    Nothing {},
}

/// The first line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Header {
    format: Cow<'static, str>,
    pub(super) version: u32,
    pub(super) workspace: String,
}

impl Summary {
    pub(super) fn of(changes: &ChangeSet) -> Self {
        let [mut created, mut modified, mut removed] = [0; 3];
        for change in changes.iter() {
            match (&change.before, &change.after) {
                (Image::Absent, Image::Absent) => {}
                (Image::Absent, _) => created += 1,
                (_, Image::Absent) => removed += 1,
                (_, _) => modified += 1,
            }
        }
        Self::Files { paths: changes.len() as u64, created, modified, removed }
    }
}

impl Entry {
    pub(super) fn parse(json: &[u8]) -> Result<Self, DamageKind> {
        serde_json::from_slice(json).map_err(unreadable)
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>, LogError> {
        serde_json::to_vec(self).map_err(LogError::Unwritable)
    }
}

impl Header {
    pub(super) fn new(workspace: String) -> Self {
        Self { format: Cow::Borrowed(FORMAT), version: VERSION, workspace }
    }

    /// The header that this JSON is. Fields of newer versions do not matter.
    pub(super) fn parse(json: &[u8]) -> Result<Self, DamageKind> {
        let header: Self = serde_json::from_slice(json).map_err(unreadable)?;
        if header.format == FORMAT {
            Ok(header)
        } else {
            Err(DamageKind::Unreadable(format!("its format is {:?}", header.format)))
        }
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>, LogError> {
        serde_json::to_vec(self).map_err(LogError::Unwritable)
    }

    pub(super) fn is_newer(&self) -> bool {
        self.version > VERSION
    }

    pub(super) fn newer_version(&self) -> LogError {
        LogError::NewerVersion { found: self.version, known: VERSION }
    }
}

/// The id of the entry that this JSON is; nothing else is looked at.
pub(super) fn id_of(json: &[u8]) -> Result<OperationId, DamageKind> {
    #[derive(Deserialize)]
    struct Identified {
        id: OperationId,
    }
    serde_json::from_slice(json).map(|entry: Identified| entry.id).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> DamageKind {
    DamageKind::Unreadable(error.to_string())
}
