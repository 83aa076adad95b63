//! Patterns of paths.
//!
//! A pattern that starts with `/` is meant from the root, with `~/` from the home directory; one with another
//! `/` in it from the working directory; one without names a file in any directory.

use super::Problem;
use crate::permission::subject::{Subject, TargetPath};
use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;

/// A pattern of paths.
#[derive(Clone, Debug)]
pub(in crate::permission) struct PathPattern {
    anchor: Anchor,
    glob: GlobMatcher,
    /// The directory itself, when the pattern means everything below it.
    base: Option<GlobMatcher>,
}

#[derive(Clone, Copy, Debug)]
enum Anchor {
    Root,
    Home,
    Workdir,
    Name,
}

impl PathPattern {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let (anchor, pattern) = if text.starts_with('/') {
            (Anchor::Root, text)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Workdir, rest)
        } else if text.contains('/') {
            (Anchor::Workdir, text)
        } else {
            (Anchor::Name, text)
        };
        if pattern.split('/').any(|part| part == "..") {
            return Err(Problem::BadGlob("a path pattern cannot hold `..`".to_owned()));
        }
        let base = pattern.strip_suffix("/**").filter(|base| !base.is_empty()).map(compile).transpose()?;
        Ok(Self { anchor, glob: compile(pattern)?, base })
    }

    /// Whether the path matches as it was given or as it really is.
    pub(in crate::permission) fn matches_either(&self, target: &TargetPath, subject: &Subject) -> bool {
        self.matches(&target.given, subject) || self.matches_real(target, subject)
    }

    /// Whether the path matches as it really is.
    pub(in crate::permission) fn matches_real(&self, target: &TargetPath, subject: &Subject) -> bool {
        target.real.iter().any(|real| self.matches(real, subject))
    }

    /// Whether every real form of the path matches: the link and what it leads to.
    pub(in crate::permission) fn covers(&self, target: &TargetPath, subject: &Subject) -> bool {
        !target.real.is_empty() && target.real.iter().all(|real| self.matches(real, subject))
    }

    fn matches(&self, path: &Path, subject: &Subject) -> bool {
        let below = |roots: &[std::path::PathBuf]| {
            roots.iter().filter_map(|root| path.strip_prefix(root).ok()).any(|rest| self.fits(rest))
        };
        match self.anchor {
            Anchor::Root => self.fits(path),
            Anchor::Home => below(&subject.homes),
            Anchor::Workdir => below(&subject.workdirs),
            Anchor::Name => path.file_name().is_some_and(|name| self.fits(Path::new(name))),
        }
    }

    fn fits(&self, path: &Path) -> bool {
        self.glob.is_match(path) || self.base.as_ref().is_some_and(|base| base.is_match(path))
    }
}

fn compile(pattern: &str) -> Result<GlobMatcher, Problem> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| Problem::BadGlob(error.to_string()))
}
