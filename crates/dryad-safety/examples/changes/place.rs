//! A workspace to measure in, changes of it, and clocks.

use crate::{Figures, Outcome};
use dryad_effects::contents::Contents;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::operation::{OperationHead, Outcome as Proof};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use dryad_safety::clock::Clock;
use dryad_safety::oplog;
use dryad_safety::snapshot::Snapshot;
use dryad_safety::undo::{self, Mode, Selection};
use dryad_safety::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A workspace in a directory of its own, its memory beside it.
pub(crate) struct Place {
    pub(crate) tree: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) workspace: Workspace,
}

/// A change that is planned.
#[derive(Default)]
pub(crate) struct Planned {
    changes: Vec<Change>,
    contents: Contents,
}

impl Place {
    /// A workspace in the new directory `root`.
    pub(crate) fn new(root: &Path) -> Outcome<Self> {
        let (tree, home) = (root.join("tree"), root.join("home"));
        fs::create_dir_all(&tree)?;
        Ok(Self { workspace: Workspace::around(&home, &tree), tree, home })
    }

    /// Applies what is planned; the milliseconds from the plan to its proof.
    pub(crate) fn apply(&self, planned: Planned) -> Outcome<f64> {
        let changes = ChangeSet::new(planned.changes);
        let head = head("Edit");
        let started = Instant::now();
        self.workspace.apply(&head, &changes, &planned.contents)?;
        Ok(milliseconds(started))
    }

    /// Takes the newest change back; the milliseconds from asking to its proof.
    pub(crate) fn undo(&self) -> Outcome<f64> {
        let started = Instant::now();
        let reports = undo::undo(&self.workspace, &Selection::Last(1), Mode::Apply, &Clock::System)?;
        let elapsed = milliseconds(started);
        let is_complete = !reports.is_empty() && reports.iter().all(undo::Report::is_complete);
        if is_complete { Ok(elapsed) } else { Err("an undo is not complete".into()) }
    }

    /// Bytes of all files below the workspace's memory.
    pub(crate) fn remembered(&self) -> Outcome<u64> {
        let (mut bytes, mut directories) = (0, vec![self.home.clone()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => directories.push(entry.path()),
                    false => bytes += entry.metadata()?.len(),
                }
            }
        }
        Ok(bytes)
    }
}

impl Planned {
    /// Plans to write `bytes` over a file, as the tools do.
    pub(crate) fn write(&mut self, path: &Path, bytes: Vec<u8>) -> Outcome<()> {
        let seen = Snapshot::take(path)?;
        let mode = match &seen.image {
            Image::File(file) => file.mode,
            Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => 0o644,
        };
        if matches!(seen.image, Image::File(_)) {
            self.contents.insert(seen.bytes);
        }
        let size = bytes.len() as u64;
        let after = Image::File(FileImage { blob: self.contents.insert(bytes), size, mode, modified: None });
        self.changes.push(Change { path: FilePath::new(seen.path), before: seen.image, after });
        Ok(())
    }

    /// Plans that something else shall stand at `path`.
    pub(crate) fn set(&mut self, path: &Path, before: Image, after: Image) {
        self.changes.push(Change { path: FilePath::new(path), before, after });
    }
}

/// The head of a new operation.
pub(crate) fn head(label: &str) -> OperationHead {
    OperationHead {
        id: oplog::new_id(),
        timestamp: Timestamp::from_millis(1_700_000_000_000),
        session_id: Some("019a0000-0000-7000-8000-000000000000".into()),
        message_id: Some("7b3e91d0".to_owned()),
        call_id: Some("call_0123456789abcdef".into()),
        tool_name: "edit".to_owned(),
        label: label.to_owned(),
        permission: "settings".to_owned(),
        outcome: Proof::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}

/// A text of `size` bytes that no other `seed` has.
pub(crate) fn text(seed: u64, size: usize) -> Vec<u8> {
    let line = format!("let value_{seed} = compute(another_value, {seed}); // a line of source\n");
    line.bytes().cycle().take(size).collect()
}

/// A text with one word of it replaced.
pub(crate) fn edited(mut text: Vec<u8>, round: u64) -> Vec<u8> {
    let middle = text.len() / 2;
    let word = format!("{round:012}");
    if let Some(place) = text.get_mut(middle..middle + word.len()) {
        place.copy_from_slice(word.as_bytes());
    }
    text
}

/// Milliseconds since then.
pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Adds the median of these under this name.
pub(crate) fn add_median(figures: &mut Figures, name: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    if let Some(middle) = values.get(values.len() / 2) {
        figures.insert(name.to_owned(), (*middle).into());
    }
}
