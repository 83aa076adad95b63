//! The repository on disk: where it is, and which text files it holds.

use crate::process;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories that hold nothing of the repository's own.
const SKIPPED: [&str; 2] = [".git", "target"];

/// A checkout.
pub(crate) struct Repository {
    root: PathBuf,
}

/// A file of the repository that holds text.
pub(crate) struct TextFile {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repository {
    /// The checkout this program was built from.
    pub(crate) fn of_this_build() -> Self {
        let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: manifest_dir.parent().unwrap_or(manifest_dir).to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String> {
        fs::read_to_string(self.path(relative)).with_context(|| format!("cannot read {relative}"))
    }

    #[expect(clippy::disallowed_methods, reason = "generated texts are files of the repository")]
    pub(crate) fn write(&self, relative: &str, text: &str) -> Result<()> {
        fs::write(self.path(relative), text).with_context(|| format!("cannot write {relative}"))
    }

    /// Every file that is valid UTF-8, sorted by path.
    pub(crate) fn text_files(&self) -> Result<Vec<TextFile>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.root.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() && !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                    waiting.push(entry.path());
                } else if kind.is_file()
                    && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
                {
                    found.push(TextFile { path: self.relative(&entry.path()), text });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// What cargo knows of the workspace's own packages.
    pub(crate) fn metadata(&self) -> Result<Value> {
        let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
        let text = process::output(&mut process::cargo(&self.root, &arguments))?;
        serde_json::from_str(&text).context("cargo metadata printed no JSON")
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target_dir(&self) -> Result<PathBuf> {
        let metadata = self.metadata()?;
        metadata["target_directory"].as_str().map(PathBuf::from).context("cargo metadata names no target directory")
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }
}
