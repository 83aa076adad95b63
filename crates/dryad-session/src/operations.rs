//! What can be done with a whole session: name it, branch it off, fork, clone, move and remove it.
//!
//! Whatever makes a new session copies lines, not values: what other programs wrote stays.

use crate::kind::Kind;
use crate::open::Opening;
use crate::places::artifacts_of;
use crate::problem::{OpenError, Problem, StoreError};
use crate::session::{EntryError, Session, Store, header};
use crate::store::blob::PREFIX;
use crate::store::disk;
use crate::store::jsonl::Jsonl;
use crate::tree::{Node, UnknownEntry};
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::{BranchSummary, Entry, EntryBody, SessionHeader, TitleSource};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Something that cannot be done with this session.
#[derive(Clone, Debug, Error)]
pub enum OperationError {
    /// A branch begins with what the user said.
    #[error("Invalid entry id for branching")]
    NotAPrompt,
    /// A name has letters.
    #[error("Session name cannot be empty")]
    EmptyName,
    /// There is no such entry.
    #[error(transparent)]
    Unknown(#[from] UnknownEntry),
    /// An entry cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Problem),
    /// The new session cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The new session cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Where the conversation goes on after a step through the tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Navigation {
    /// The leaf before.
    pub left: Option<EntryId>,
    /// The text to be edited and said anew, when the step went to something that was said by hand.
    pub text: Option<String>,
}

impl Session {
    /// What the session is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().or(self.header.title.as_deref()).filter(|name| !name.trim().is_empty())
    }

    /// Names the session. A name of the user's is not replaced by one of the program's.
    pub fn set_name(&mut self, name: &str, source: TitleSource, now: Timestamp) -> Result<(), OperationError> {
        let plain: String = name.chars().filter(|character| !character.is_control()).collect();
        let name = plain.trim().to_owned();
        if name.is_empty() {
            return Err(OperationError::EmptyName);
        }
        let named_by_user = self.header.title_source == Some(TitleSource::User) || self.name.is_some();
        if source == TitleSource::Auto && named_by_user {
            return Ok(());
        }
        (self.header.title, self.header.title_source) = (Some(name.clone()), Some(source));
        if source == TitleSource::User {
            self.append(EntryBody::SessionInfo { name: Some(name) }, now);
        }
        let outcome = self.store_header();
        self.latch(outcome);
        Ok(self.failure.clone().map_or(Ok(()), Err)?)
    }

    /// Names an entry, or takes its name away.
    pub fn set_label(&mut self, target: &EntryId, label: Option<&str>, now: Timestamp) -> Result<(), UnknownEntry> {
        self.tree.position(target)?;
        let label = label.map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned);
        self.append(EntryBody::Label { target_id: target.clone(), label }, now);
        Ok(())
    }

    /// Steps through the tree: before what was said by hand, which comes back as text, or to any other entry.
    pub fn navigate(&mut self, to: &EntryId) -> Result<Navigation, EntryError> {
        let (leaf, text) = self.step(to)?;
        let left = self.leaf().cloned();
        self.move_leaf(leaf.as_ref())?;
        Ok(Navigation { left, text })
    }

    /// Where a step to an entry leads: before what was said by hand, which comes with it, or to the entry.
    pub fn step(&self, to: &EntryId) -> Result<(Option<EntryId>, Option<String>), EntryError> {
        let text = said_by_hand(&*self.entry(to)?);
        let leaf = match &text {
            Some(_) => self.tree.parent(to)?.map(|node| node.id.clone()),
            None => Some(to.clone()),
        };
        Ok((leaf, text))
    }

    /// Goes on from another entry, or from nothing, and tells there what was left behind.
    pub fn branch_with_summary(
        &mut self,
        to: Option<&EntryId>,
        summary: BranchSummary,
        now: Timestamp,
    ) -> Result<EntryId, UnknownEntry> {
        self.move_leaf(to)?;
        let from_id = to.map_or_else(|| "root".to_owned(), ToString::to_string);
        Ok(self.append(EntryBody::BranchSummary(BranchSummary { from_id, ..summary }), now))
    }

    /// A new session that ends before what the user said at an entry, and that text.
    pub fn branch_off(&self, at: &EntryId, now: Timestamp) -> Result<(Self, String), OperationError> {
        let node = self.tree.get(at).filter(|node| node.kind == Kind::User).ok_or(OperationError::NotAPrompt)?;
        let text = said_by_hand(&*self.load(node, &mut Vec::new())?).ok_or(OperationError::NotAPrompt)?;
        let parent = self.tree.parent(at)?;
        let branch = parent.map(|parent| self.tree.branch_to(&parent.id)).transpose()?.unwrap_or_default();
        Ok((self.copy(&branch, self.cwd(), now)?, text))
    }

    /// A new session with the current branch alone.
    pub fn clone_branch(&self, now: Timestamp) -> Result<Self, OperationError> {
        self.copy(&self.tree.branch(), self.cwd(), now)
    }

    /// A new session with everything in this one, to go on in a directory of its own.
    pub fn fork(&self, cwd: &Path, now: Timestamp) -> Result<Self, OperationError> {
        let from = self.file().ok_or(StoreError::InMemory)?;
        let all: Vec<_> = self.tree.nodes().iter().collect();
        let mut fork = self.copy(&all, cwd, now)?;
        fork.move_leaf(self.leaf())?;
        if let Some(to) = fork.artifacts() {
            // What is copied there can be made again, or was too long to be told: a fork works without it.
            disk::copy_files(&artifacts_of(from), &to).ok();
        }
        Ok(fork)
    }

    /// Moves the session, its file and what belongs to it to another directory.
    pub fn move_to(&mut self, cwd: &Path, now: Timestamp) -> Result<(), OperationError> {
        let places = self.places.clone().ok_or(StoreError::InMemory)?;
        let old = self.file().ok_or(StoreError::InMemory)?.to_owned();
        let new = places.new_file(cwd, &self.header.id, self.header.timestamp);
        self.flush()?;
        let header = SessionHeader { cwd: Some(FilePath::new(cwd)), ..self.header.clone() };
        if let Store::Deferred(path) = &mut self.store {
            (*path, self.header) = (new, header);
            return Ok(());
        }
        let mut moved = self.copy_to(&self.tree.nodes().iter().collect::<Vec<_>>(), header, &new, now)?;
        moved.move_leaf(self.leaf())?;
        let (from, to) = (artifacts_of(&old), artifacts_of(&new));
        if from.is_dir()
            && let Err(error) = disk::rename(&from, &to)
        {
            disk::remove(&new).ok();
            return Err(StoreError::io(&from, error).into());
        }
        disk::remove(&old).map_err(|error| StoreError::io(&old, error))?;
        *self = moved;
        Ok(())
    }

    fn copy(&self, nodes: &[&Node], cwd: &Path, now: Timestamp) -> Result<Self, OperationError> {
        let parent = match self.file() {
            Some(_) => Some(self.header.id.to_string()),
            None => self.header.parent_session.clone(),
        };
        let header = header(cwd, parent, now);
        let path = self.places.as_ref().map(|places| places.new_file(cwd, &header.id, now));
        let told = nodes.iter().any(|node| node.kind == Kind::Assistant);
        match path.filter(|_| told) {
            Some(path) => self.copy_to(nodes, header, &path, now),
            None => self.copy_held(nodes, header, now),
        }
    }

    /// A session of these entries that is not stored yet, or never.
    fn copy_held(&self, nodes: &[&Node], header: SessionHeader, now: Timestamp) -> Result<Self, OperationError> {
        let store = match (&self.places, &header.cwd) {
            (Some(places), Some(cwd)) => Store::Deferred(places.new_file(cwd.as_path(), &header.id, now)),
            (_, _) => Store::Memory,
        };
        let mut copy = Self::with(header, store, self.places.as_ref());
        for node in nodes {
            let entry = self.load(node, &mut Vec::new())?;
            copy.move_leaf(entry.parent_id.as_ref()).or_else(|_| copy.move_leaf(None))?;
            copy.push(Entry::clone(&entry));
        }
        for body in self.missing_labels(nodes) {
            copy.append(body, now);
        }
        Ok(copy)
    }

    /// A session of these entries, stored in a new file.
    fn copy_to(
        &self,
        nodes: &[&Node],
        header: SessionHeader,
        path: &Path,
        now: Timestamp,
    ) -> Result<Self, OperationError> {
        let places = self.places.as_ref().ok_or(StoreError::InMemory)?;
        let header = serde_json::to_vec(&header).map_err(|error| StoreError::io(path, error.into()))?;
        let mut lines = vec![header];
        for node in nodes {
            let line = self.line(node).map_err(|reason| StoreError::io(path, io::Error::other(reason)))?;
            lines.push(line);
        }
        let blobs = self.blobs.as_ref().filter(|_| lines.iter().any(|line| names_blob(line)));
        blobs.map(|blobs| blobs.note(path)).transpose()?;
        // The lock goes with the file: it is opened anew at once.
        drop(Jsonl::create(path, &lines)?);
        let mut copy = Self::open(path, &Opening { places, cwd: None, here: self.cwd(), now })?;
        for body in self.missing_labels(nodes) {
            copy.append(body, now);
        }
        copy.flush()?;
        Ok(copy)
    }

    /// The names of these entries that were given elsewhere in the tree, or taken away there.
    fn missing_labels(&self, nodes: &[&Node]) -> Vec<EntryBody> {
        let mut told: HashMap<EntryId, Option<String>> = HashMap::new();
        for node in nodes.iter().filter(|node| node.kind == Kind::Label) {
            if let Ok(entry) = self.load(node, &mut Vec::new())
                && let EntryBody::Label { target_id, label } = &entry.body
            {
                told.insert(target_id.clone(), label.clone());
            }
        }
        let labels = nodes.iter().filter_map(|node| {
            let label = self.tree.label(&node.id).map(str::to_owned);
            let differs = told.get(&node.id).cloned().flatten() != label;
            differs.then(|| EntryBody::Label { target_id: node.id.clone(), label })
        });
        labels.collect()
    }

    fn store_header(&mut self) -> Result<(), StoreError> {
        let path = self.file().unwrap_or(Path::new("")).to_owned();
        let Store::File(file) = &mut self.store else { return Ok(()) };
        let mut line = serde_json::to_vec(&self.header).map_err(|error| StoreError::io(&path, error.into()))?;
        line.push(b'\n');
        let moved = file.replace_header(self.header_length, &line)?;
        self.header_length = line.len() as u64;
        self.tree.shift_lines(moved);
        Ok(())
    }
}

fn names_blob(line: &[u8]) -> bool {
    memchr::memmem::find(line, PREFIX.as_bytes()).is_some()
}

/// The text of what a user or an extension said by hand.
fn said_by_hand(entry: &Entry) -> Option<String> {
    let text = |content: &[UserBlock]| content.iter().filter_map(UserBlock::as_text).collect();
    match &entry.body {
        EntryBody::Message { message } => match Arc::as_ref(message) {
            Message::User(message) => Some(text(&message.content)),
            Message::Custom(message) => Some(text(&message.content)),
            _ => None,
        },
        EntryBody::CustomMessage(custom) => Some(text(&custom.content)),
        _ => None,
    }
}
