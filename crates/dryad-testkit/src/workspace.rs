//! Directory trees as values, and temporary directories made from them.
//!
//! A [`Tree`] holds every file and link below a directory with its bytes and mode. Directories are there
//! because something lies in them; an empty one counts only when a [`Step`] made it.
#![expect(clippy::disallowed_methods, reason = "test trees are made on disk, with nothing to undo")]

use anyhow::{Context as _, Result};
use dryad_protocol::path::FilePath;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Everything below a directory, by relative path.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

/// One entry of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Node {
    File { bytes: Vec<u8>, mode: u32 },
    Link(PathBuf),
    EmptyDirectory,
}

/// Something a tree gets that version control cannot hold.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// Where, relative to the tree.
    path: FilePath,
    #[serde(flatten)]
    made: Made,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Made {
    /// Permission bits in octal of a file that is there.
    Mode(String),
    /// A link to this target.
    Symlink(String),
    /// A file with these bytes in hexadecimal.
    Bytes(String),
    /// A file with a text many times over.
    Repeat { text: String, count: usize },
    /// An empty directory.
    Directory(()),
}

impl Tree {
    /// Everything below `directory`, exactly as it is.
    pub fn read(directory: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(directory, Path::new("")).with_context(|| format!("reading {}", directory.display()))?;
        Ok(tree)
    }

    /// The same with the two modes that version control knows: 0755 and 0644.
    #[must_use]
    pub fn with_plain_modes(mut self) -> Self {
        for node in self.nodes.values_mut() {
            if let Node::File { mode, .. } = node {
                *mode = if *mode & 0o100 == 0 { 0o644 } else { 0o755 };
            }
        }
        self
    }

    /// Adds what a step makes, unless something lies there already.
    pub fn make(&mut self, step: &Step) -> Result<()> {
        let path = step.path.as_path().to_owned();
        let node = match &step.made {
            Made::Mode(octal) => {
                let bits = u32::from_str_radix(octal, 8).context("a mode is octal")?;
                if let Some(Node::File { mode, .. }) = self.nodes.get_mut(&path) {
                    *mode = bits;
                }
                return Ok(());
            }
            Made::Symlink(target) => Node::Link(PathBuf::from(target)),
            Made::Bytes(hex) => Node::File { bytes: from_hex(hex)?, mode: 0o644 },
            Made::Repeat { text, count } => Node::File { bytes: text.repeat(*count).into_bytes(), mode: 0o644 },
            Made::Directory(()) => Node::EmptyDirectory,
        };
        self.nodes.entry(path).or_insert(node);
        Ok(())
    }

    /// How this tree differs from the one that was expected; none when it does not.
    pub fn difference(&self, expected: &Self) -> Option<String> {
        let paths = self.nodes.keys().chain(expected.nodes.keys());
        let differing = paths.filter(|path| self.nodes.get(*path) != expected.nodes.get(*path));
        let path = differing.min()?;
        let show = |node: Option<&Node>| match node {
            None => "nothing".to_owned(),
            Some(Node::File { bytes, mode }) => format!("{mode:o} {:?}", String::from_utf8_lossy(bytes)),
            Some(node @ (Node::Link(_) | Node::EmptyDirectory)) => format!("{node:?}"),
        };
        let (found, expected) = (show(self.nodes.get(path)), show(expected.nodes.get(path)));
        Some(format!("{}:\n  expected {expected}\n  found    {found}", path.display()))
    }

    fn add(&mut self, directory: &Path, relative: &Path) -> Result<()> {
        let is_root = relative.as_os_str().is_empty();
        if !is_root && fs::read_dir(directory)?.next().is_none() {
            self.nodes.insert(relative.to_owned(), Node::EmptyDirectory);
        }
        for entry in fs::read_dir(directory)? {
            let (path, name) = entry.map(|entry| (entry.path(), relative.join(entry.file_name())))?;
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_symlink() {
                self.nodes.insert(name, Node::Link(fs::read_link(&path)?));
            } else if metadata.is_dir() {
                self.add(&path, &name)?;
            } else {
                let mode = metadata.permissions().mode() & 0o7777;
                self.nodes.insert(name, Node::File { bytes: fs::read(&path)?, mode });
            }
        }
        Ok(())
    }

    fn write(&self, root: &Path) -> Result<()> {
        for (name, node) in &self.nodes {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            match node {
                Node::File { bytes, mode } => {
                    fs::write(&path, bytes)?;
                    fs::set_permissions(&path, Permissions::from_mode(*mode))?;
                }
                Node::Link(target) => symlink(target, &path)?,
                Node::EmptyDirectory => fs::create_dir_all(&path)?,
            }
        }
        Ok(())
    }
}

/// A temporary directory that holds a tree; removed when dropped.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    _kept: tempfile::TempDir,
}

impl Workspace {
    /// A new directory with this tree in it.
    pub fn new(tree: &Tree) -> Result<Self> {
        let kept = tempfile::tempdir()?;
        let root = kept.path().canonicalize()?.join("workspace");
        fs::create_dir(&root)?;
        tree.write(&root)?;
        Ok(Self { root, _kept: kept })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// What lies in it now.
    pub fn tree(&self) -> Result<Tree> {
        Tree::read(&self.root)
    }
}

/// Rewrites a file of expectations.
pub(crate) fn write_expectation(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn from_hex(hex: &str) -> Result<Vec<u8>> {
    let digits: Vec<u32> =
        hex.chars().map(|digit| digit.to_digit(16).context("bytes are hexadecimal")).collect::<Result<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    anyhow::ensure!(rest.is_empty(), "bytes have two digits each");
    Ok(pairs.iter().map(|[high, low]| (high * 16 + low) as u8).collect())
}
