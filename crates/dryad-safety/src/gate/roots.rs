//! Planned file changes stay inside the granted roots, in every mode.

use super::{Gate, Subject, Verdict};
use crate::plan::Effect;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use futures_util::future::BoxFuture;
use std::io;
use std::path::{Path, PathBuf};

/// The directories below which tools may change files.
#[derive(Clone, Debug)]
pub struct GrantedRoots {
    roots: Vec<PathBuf>,
}

impl GrantedRoots {
    /// Grants these directories; links in their paths are resolved now.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().map(|root| root.canonicalize().unwrap_or(root)).collect() }
    }

    fn holds(&self, path: &FilePath) -> io::Result<bool> {
        let real = real_parent(path.as_path())?;
        Ok(self.roots.iter().any(|root| real.starts_with(root)))
    }

    /// Whether all of these changes stay inside.
    ///
    /// # Errors
    ///
    /// When a path cannot be resolved.
    pub fn judge_changes(&self, changes: &ChangeSet) -> Result<Verdict, String> {
        for change in changes.iter() {
            match self.judge_path(&change.path)? {
                Verdict::Allow => {}
                verdict @ (Verdict::Ask(_) | Verdict::Deny(_)) => return Ok(verdict),
            }
        }
        Ok(Verdict::Allow)
    }

    /// Whether a change of this path stays inside.
    ///
    /// # Errors
    ///
    /// When it cannot be resolved.
    pub fn judge_path(&self, path: &FilePath) -> Result<Verdict, String> {
        if self.holds(path).map_err(|error| format!("cannot resolve {path}: {error}"))? {
            return Ok(Verdict::Allow);
        }
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        Ok(Verdict::Deny(format!(
            "denied: {path} is outside the granted roots ({}); grant its directory with --root",
            roots.join(", "),
        )))
    }
}

impl Gate for GrantedRoots {
    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let verdict = match subject.effect {
            Some(Effect::Files(files)) => self.judge_changes(&files.changes),
            Some(Effect::Command(_) | Effect::Foreign(_) | Effect::Resolve(_)) | None => Ok(Verdict::Allow),
        };
        Box::pin(std::future::ready(verdict))
    }
}

/// The directory a path's name lies in, links resolved, together with what does not exist yet.
fn real_parent(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path.parent().unwrap_or(path);
    loop {
        match existing.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |real, name| real.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // `..` below something that does not exist cannot be resolved: refuse it.
                let name = existing.file_name().ok_or(error)?;
                missing.push(name.to_owned());
                existing = existing.parent().unwrap_or(Path::new("/"));
            }
            Err(error) => return Err(error),
        }
    }
}
