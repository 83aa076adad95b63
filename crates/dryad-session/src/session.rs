//! A session: a conversation, its header, and where both are stored.
//!
//! Appending never fails: the entry is held, and the first thing that goes wrong with storing it is
//! remembered and told by [`Session::flush`], from then on. Nothing is stored before the model has said
//! something, unless that is asked for: a prompt that led nowhere leaves no file.

mod many;

use crate::context;
use crate::kind::Kind;
use crate::places::{Places, artifacts_of};
use crate::problem::{Problem, StoreError};
use crate::store::blob::Blobs;
use crate::store::jsonl::Jsonl;
use crate::store::line::{self, Encoded};
use crate::tree::{Node, Tree, UnknownEntry};
use dryad_protocol::entry::{Entry, EntryBody, HeaderKind, SESSION_VERSION, SessionHeader};
use dryad_protocol::id::{EntryId, SessionId};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use serde_json::Map;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// A conversation that can be carried on.
#[derive(Debug)]
pub struct Session {
    pub(crate) header: SessionHeader,
    /// How many bytes the header takes in the file, its line break included.
    pub(crate) header_length: u64,
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) places: Option<Places>,
    pub(crate) blobs: Option<Blobs>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) failure: Option<StoreError>,
    pub(crate) name: Option<String>,
}

/// Where a session is stored.
#[derive(Debug)]
pub(crate) enum Store {
    /// Nowhere.
    Memory,
    /// In this file, once there is something worth storing.
    Deferred(PathBuf),
    /// In this file.
    File(Jsonl),
    /// In a file that is only read, for this reason.
    ReadOnly(Jsonl, StoreError),
}

/// An entry cannot be had.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum EntryError {
    /// There is none of this id.
    #[error(transparent)]
    Unknown(#[from] UnknownEntry),
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Problem),
}

impl Session {
    /// A session that is held in memory only.
    pub fn in_memory(cwd: &Path, now: Timestamp) -> Self {
        Self::with(header(cwd, None, now), Store::Memory, None)
    }

    /// A new session; its file is made when the model has first said something.
    pub fn create(places: &Places, cwd: &Path, parent: Option<String>, now: Timestamp) -> Self {
        let header = header(cwd, parent, now);
        let file = places.new_file(cwd, &header.id, now);
        Self::with(header, Store::Deferred(file), Some(places))
    }

    pub(crate) fn with(header: SessionHeader, store: Store, places: Option<&Places>) -> Self {
        Self {
            header,
            header_length: 0,
            tree: Tree::default(),
            store,
            places: places.cloned(),
            blobs: places.map(|places| Blobs::new(places.blobs().to_owned())),
            problems: Vec::new(),
            failure: None,
            name: None,
        }
    }

    /// Which session.
    pub fn id(&self) -> &SessionId {
        &self.header.id
    }

    /// Its first line.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The directory it works in.
    pub fn cwd(&self) -> &Path {
        self.header.cwd.as_ref().map_or(Path::new(""), FilePath::as_path)
    }

    /// The file it is stored in, or will be.
    pub fn file(&self) -> Option<&Path> {
        match &self.store {
            Store::Memory => None,
            Store::Deferred(path) => Some(path),
            Store::File(file) | Store::ReadOnly(file, _) => Some(file.path()),
        }
    }

    /// The directory for what is too long for its file.
    pub fn artifacts(&self) -> Option<PathBuf> {
        self.file().map(artifacts_of)
    }

    /// Whether there is a file.
    pub fn is_stored(&self) -> bool {
        matches!(self.store, Store::File(_) | Store::ReadOnly(..))
    }

    /// Why it cannot be carried on in its file, if so.
    pub fn read_only(&self) -> Option<&StoreError> {
        match &self.store {
            Store::ReadOnly(_, why) => Some(why),
            Store::Memory | Store::Deferred(_) | Store::File(_) => None,
        }
    }

    /// What was found wrong when it was opened.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The shape of the conversation.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The last entry of the current branch.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.tree.leaf()
    }

    /// Goes on from another entry, or from nothing. What was said after it stays in the session.
    pub fn move_leaf(&mut self, to: Option<&EntryId>) -> Result<(), UnknownEntry> {
        self.tree.move_leaf(to)?;
        let mut keep = self.tree.branch_positions();
        keep.sort_unstable();
        self.tree.release_all_but(&keep);
        Ok(())
    }

    /// Appends an entry below the leaf and returns its id.
    pub fn append(&mut self, body: EntryBody, timestamp: Timestamp) -> EntryId {
        let id = self.tree.free_id();
        let entry = Entry { id: id.clone(), parent_id: self.leaf().cloned(), timestamp, body };
        self.push(entry);
        id
    }

    /// The entry of this id.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, EntryError> {
        let node = self.tree.get(id).ok_or_else(|| UnknownEntry(id.clone()))?;
        Ok(self.load(node, &mut Vec::new())?)
    }

    /// Stores a session that has nothing worth storing yet.
    pub fn ensure_stored(&mut self) -> Result<(), StoreError> {
        if let Store::Deferred(_) = self.store {
            let outcome = self.make_file();
            self.latch(outcome);
        }
        self.flush()
    }

    /// Waits until everything is on disk, or tells what went wrong with storing it.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if let Store::File(file) = &self.store {
            let outcome = file.flush();
            self.latch(outcome);
        }
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Takes an entry whose id is free and whose parent is the leaf.
    pub(crate) fn push(&mut self, entry: Entry) {
        let parent = self.tree.leaf_position();
        let (id, kind) = (entry.id.clone(), Kind::of(&entry.body));
        self.note(&entry.body);
        let position = self.tree.push(Node { id, parent, kind, line: None, entry: OnceLock::from(Arc::new(entry)) });
        let outcome = match &self.store {
            Store::Memory => Ok(()),
            Store::Deferred(_) if kind == Kind::Assistant => self.make_file(),
            Store::Deferred(_) => Ok(()),
            Store::File(_) => self.append_line(position),
            Store::ReadOnly(_, why) => Err(why.clone()),
        };
        self.latch(outcome);
        if kind == Kind::Compaction {
            self.release_summarised();
        }
    }

    /// Lets go of what the model does not get to see any more; it can be read again.
    fn release_summarised(&mut self) {
        let visible = context::visible(self, &self.tree.branch(), &mut Vec::new());
        let mut keep: Vec<_> = visible
            .nodes
            .iter()
            .filter_map(|node| self.tree.position(&node.id).ok())
            .chain(self.tree.leaf_position())
            .collect();
        keep.sort_unstable();
        self.tree.release_all_but(&keep);
    }

    /// An entry, held from now on until the leaf moves away from it.
    pub(crate) fn hold(&self, node: &Node, problems: &mut Vec<Problem>) -> Result<Arc<Entry>, Problem> {
        if let Some(entry) = node.entry.get() {
            return Ok(entry.clone());
        }
        let entry = self.load(node, problems)?;
        Ok(node.entry.get_or_init(|| entry).clone())
    }

    /// An entry, read anew unless it is held.
    pub(crate) fn load(&self, node: &Node, problems: &mut Vec<Problem>) -> Result<Arc<Entry>, Problem> {
        if let Some(entry) = node.entry.get() {
            return Ok(entry.clone());
        }
        let unreadable = |reason: String| Problem::UnreadableEntry { entry: node.id.clone(), reason };
        let line = self.line(node).map_err(unreadable)?;
        line::decode(&line, node.kind, self.blobs.as_ref(), problems).map(Arc::new).map_err(unreadable)
    }

    /// An entry's line as it is stored.
    pub(crate) fn line(&self, node: &Node) -> Result<Vec<u8>, String> {
        match (&self.store, node.line, node.entry.get()) {
            (Store::File(file) | Store::ReadOnly(file, _), Some(line), _) => {
                file.read(line).map_err(|error| error.to_string())
            }
            (_, _, Some(entry)) => serde_json::to_vec(entry.as_ref()).map_err(|error| error.to_string()),
            (_, _, None) => Err("it is not stored".to_owned()),
        }
    }

    pub(crate) fn latch(&mut self, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }

    fn note(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Label { target_id, label } => self.tree.set_label(target_id.clone(), label.clone()),
            EntryBody::SessionInfo { name } => self.name = name.clone().filter(|name| !name.trim().is_empty()),
            _ => {}
        }
    }

    fn append_line(&mut self, position: usize) -> Result<(), StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Some(encoded) = self.encode(position)? else { return Ok(()) };
        let Store::File(file) = &mut self.store else { return Ok(()) };
        let line = file.append(&encoded.line)?;
        if let Some(node) = self.tree.node_mut(position) {
            node.line = Some(line);
        }
        Ok(())
    }

    /// The line of an entry that is held; when it had to be cut, the cut one is held from now on.
    fn encode(&mut self, position: usize) -> Result<Option<Encoded>, StoreError> {
        let path = self.file().unwrap_or(Path::new("")).to_owned();
        let (Some(node), Some(blobs)) = (self.tree.node_mut(position), &self.blobs) else { return Ok(None) };
        let Some(entry) = node.entry.get() else { return Ok(None) };
        let encoded = line::encode(entry, blobs, &path)?;
        if let Some(cut) = &encoded.cut {
            node.entry = OnceLock::from(cut.clone());
        }
        Ok(Some(encoded))
    }

    fn make_file(&mut self) -> Result<(), StoreError> {
        let Store::Deferred(path) = &self.store else { return Ok(()) };
        let path = path.clone();
        let header = serde_json::to_vec(&self.header).map_err(|error| StoreError::io(&path, error.into()))?;
        self.header_length = header.len() as u64 + 1;
        let mut lines = vec![header];
        for position in 0..self.tree.nodes().len() {
            lines.extend(self.encode(position)?.map(|encoded| encoded.line));
        }
        let (file, places) = Jsonl::create(&path, &lines)?;
        self.store = Store::File(file);
        for (position, line) in places.into_iter().skip(1).enumerate() {
            if let Some(node) = self.tree.node_mut(position) {
                node.line = Some(line);
            }
        }
        Ok(())
    }
}

pub(crate) fn header(cwd: &Path, parent: Option<String>, now: Timestamp) -> SessionHeader {
    SessionHeader {
        kind: HeaderKind::Session,
        version: SESSION_VERSION,
        id: SessionId::from(uuid::Uuid::now_v7().to_string()),
        timestamp: now,
        cwd: Some(FilePath::new(cwd)),
        title: None,
        title_source: None,
        parent_session: parent,
        other: Map::new(),
    }
}
