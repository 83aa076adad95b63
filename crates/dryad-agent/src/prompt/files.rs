//! Files that speak into the system prompt: project instructions, and a user's own prompt.

use std::path::{Path, PathBuf};

/// Names of instruction files; in each directory the first that exists counts.
const CONTEXT_NAMES: [&str; 6] = ["DRYAD.md", "AGENTS.md", "CLAUDE.md", "DRYAD.MD", "AGENTS.MD", "CLAUDE.MD"];

/// Longer instruction files are cut: they would crowd out the conversation.
const LONGEST: usize = 64 * 1024;

/// A project's instructions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContextFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// The user's and the project's own prompt files.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SystemFiles {
    /// `SYSTEM.md`: stands in the place of the built-in opening.
    pub replace: Option<String>,
    /// `APPEND_SYSTEM.md`: comes after it.
    pub append: Option<String>,
}

/// Instruction files: the user's own, then from the root down to `workdir`. The same text counts once.
pub fn context_files(user_root: &Path, workdir: &Path) -> Vec<ContextFile> {
    let mut directories: Vec<&Path> = workdir.ancestors().collect();
    directories.push(user_root);
    let mut files: Vec<ContextFile> = Vec::new();
    for file in directories.into_iter().rev().filter_map(first_in) {
        if !files.iter().any(|known| known.text == file.text) {
            files.push(file);
        }
    }
    files
}

/// `SYSTEM.md` and `APPEND_SYSTEM.md`; the project's beat the user's.
pub fn system_files(user_root: &Path, workdir: &Path) -> SystemFiles {
    let nearest = |name: &str| {
        [workdir.join(".dryad"), user_root.to_owned()].iter().find_map(|directory| read(&directory.join(name)))
    };
    SystemFiles { replace: nearest("SYSTEM.md"), append: nearest("APPEND_SYSTEM.md") }
}

fn first_in(directory: &Path) -> Option<ContextFile> {
    CONTEXT_NAMES.iter().find_map(|name| {
        let path = directory.join(name);
        read(&path).map(|text| ContextFile { path, text })
    })
}

/// A file's text; none when it is absent, unreadable or empty. Instructions that cannot be read
/// are not worth failing a run for.
fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str("\n[... the rest of this file was left out ...]");
    }
    (!text.trim().is_empty()).then_some(text)
}
