//! Planned file changes stay inside the granted roots, in every mode.

use super::{Gate, Subject, Verdict};
use crate::plan::Effect;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use futures_util::future::BoxFuture;
use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};

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

    /// Whether all of these changes stay inside, once they are made.
    ///
    /// What lies below a file or a link that becomes a directory lies where that directory will be, not where the link
    /// leads now. Links that the change leaves alone lead where they lead.
    ///
    /// # Errors
    ///
    /// When a path cannot be resolved.
    pub fn judge_changes(&self, changes: &ChangeSet) -> Result<Verdict, String> {
        let made = made_directories(changes);
        for change in changes.iter() {
            // The directory itself is judged in its turn.
            if lies_below(change.path.as_path(), &made) {
                continue;
            }
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

/// The directories that stand where none stood before. That they will is sure: a change is made only of what was seen.
fn made_directories(changes: &ChangeSet) -> HashSet<&Path> {
    let is_directory = |image: &Image| matches!(image, Image::Directory { .. });
    let made = changes.iter().filter(|change| is_directory(&change.after) && !is_directory(&change.before));
    made.map(|change| change.path.as_path()).collect()
}

/// Whether one of these directories holds the path, and it does not lead out of it again.
fn lies_below(path: &Path, directories: &HashSet<&Path>) -> bool {
    let is_plain = || path.components().all(|part| part != Component::ParentDir);
    path.ancestors().skip(1).any(|above| directories.contains(above)) && is_plain()
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

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::change_set::Change;
    use std::os::unix::fs::symlink;

    /// Whether these paths, each with what becomes of it, stay inside `work`, where `link` leads outside.
    fn stays_inside(changes: &[(&str, Image, Image)]) -> bool {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("work")).unwrap();
        std::fs::create_dir_all(root.join("outside/b")).unwrap();
        symlink("../outside", root.join("work/link")).unwrap();
        std::fs::write(root.join("work/file"), "").unwrap();
        let changes = changes.iter().map(|(path, before, after)| Change {
            path: FilePath::new(root.join("work").join(path)),
            before: before.clone(),
            after: after.clone(),
        });
        let changes = ChangeSet::new(changes.collect::<Vec<_>>());
        matches!(GrantedRoots::new([root.join("work")]).judge_changes(&changes), Ok(Verdict::Allow))
    }

    #[test]
    fn paths_are_judged_as_they_will_be() {
        let link = || Image::Symlink { target: FilePath::new("../outside") };
        let directory = || Image::Directory { mode: 0o755 };
        let new = |path| (path, Image::Absent, directory());
        assert!(stays_inside(&[("link", link(), directory()), new("link/b"), new("link/b/c")]));
        assert!(stays_inside(&[("file", link(), directory()), new("file/b"), new("file/b/c")]));
        assert!(!stays_inside(&[new("link/b/c")]), "a link that stays leads where it leads");
        assert!(!stays_inside(&[("link/b", directory(), Image::Directory { mode: 0o700 }), new("link/b/c")]));
        assert!(!stays_inside(&[("link", link(), link()), new("link/c")]));
        assert!(!stays_inside(&[("link/b", link(), directory()), new("link/b/c")]), "what lies outside is outside");
        assert!(!stays_inside(&[("file", link(), directory()), new("file/../../outside/c")]));
    }
}
