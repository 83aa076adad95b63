//! Where to search: the files and directories that the `path` argument names.

use crate::glob::PathGlob;
use crate::path;
use dryad_safety::globs::{is_glob, split_base, split_list};
use dryad_safety::tool::ToolError;
use std::path::{Path, PathBuf};

/// Everything that is to be searched.
pub(super) struct Scope {
    pub(super) roots: Vec<Root>,
}

/// One thing to be searched.
pub(super) enum Root {
    /// This file, whatever ignore rules say.
    File(PathBuf),
    /// What lies below a directory.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Only files whose path below it matches.
        glob: Option<PathGlob>,
    },
}

impl Scope {
    /// Reads the argument: a file, a directory, a glob, or several of these separated by commas.
    pub(super) fn new(given: Option<&str>, workdir: &Path) -> Result<Self, ToolError> {
        let given = given.map(str::trim).filter(|given| !given.is_empty()).unwrap_or(".");
        // A name that exists is meant as it stands, commas, brackets and all.
        if let Some(root) = existing(given, workdir)? {
            return Ok(Self { roots: vec![root] });
        }
        let roots: Result<Vec<Root>, ToolError> = split_list(given).map(|part| root(part, workdir)).collect();
        Ok(Self { roots: roots? })
    }

    /// The one file that is searched, if there is just one.
    pub(super) fn single_file(&self) -> Option<&Path> {
        match self.roots.as_slice() {
            [Root::File(path)] => Some(path),
            _ => None,
        }
    }
}

fn root(given: &str, workdir: &Path) -> Result<Root, ToolError> {
    if let Some(root) = existing(given, workdir)? {
        return Ok(root);
    }
    let not_found = || ToolError::new(format!("Path not found: {given}"));
    if !is_glob(given) {
        return Err(not_found());
    }
    let (base, glob) = split_base(given);
    let base = if base.is_empty() { "." } else { base };
    match existing(base, workdir)? {
        Some(Root::Directory { path, .. }) => Ok(Root::Directory { path, glob: Some(PathGlob::anchored(glob)?) }),
        Some(Root::File(_)) | None => Err(not_found()),
    }
}

fn existing(given: &str, workdir: &Path) -> Result<Option<Root>, ToolError> {
    let path = tidy(&path::resolve_existing(given, workdir));
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(Some(Root::Directory { path, glob: None })),
        Ok(metadata) if metadata.is_file() => Ok(Some(Root::File(path))),
        Ok(_) => Err(ToolError::new(format!("Not a file or directory: {given}"))),
        Err(_) => Ok(None),
    }
}

/// The same path without `.` parts, so that it is shown and compared in one spelling.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}
