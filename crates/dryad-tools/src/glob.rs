//! Globs of file names and paths, as models write them.
//!
//! A glob with a `/` is matched with the whole relative path, one without with the name at any depth.

use dryad_safety::globs::split_list;
use dryad_safety::tool::ToolError;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::path::Path;

/// One glob.
#[derive(Clone, Debug)]
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    whole_path: bool,
}

impl PathGlob {
    /// A glob of paths, or of names when it has no `/`.
    pub(crate) fn new(text: &str) -> Result<Self, ToolError> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let whole_path = text.contains('/');
        Self::build(text.strip_prefix('/').unwrap_or(text), whole_path)
    }

    /// A glob of whole paths, also when it has no `/`.
    pub(crate) fn anchored(text: &str) -> Result<Self, ToolError> {
        Self::build(text, true)
    }

    fn build(text: &str, whole_path: bool) -> Result<Self, ToolError> {
        // A directory stands for what is in it.
        let text = if text.ends_with('/') { format!("{text}**") } else { text.to_owned() };
        let glob: Glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .build()
            .map_err(|error| ToolError::new(format!("Invalid glob: {error}")))?;
        Ok(Self { matcher: glob.compile_matcher(), whole_path })
    }

    /// Whether a path relative to where the glob starts is meant.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        if self.whole_path {
            return self.matcher.is_match(relative);
        }
        relative.file_name().is_some_and(|name| self.matcher.is_match(name))
    }

    /// The same for a path below `base`, which is only looked at when the glob needs more than the name.
    pub(crate) fn matches_below(&self, base: &Path, path: &Path) -> bool {
        if self.whole_path { path.strip_prefix(base).is_ok_and(|path| self.matches(path)) } else { self.matches(path) }
    }

    /// Whether a path or, for a glob of names, a directory above it is meant.
    fn matches_above(&self, relative: &Path) -> bool {
        if self.whole_path {
            return self.matcher.is_match(relative);
        }
        relative.components().any(|component| self.matcher.is_match(component.as_os_str()))
    }
}

/// A list of globs; those after `!` leave files out.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobList {
    wanted: Vec<PathGlob>,
    unwanted: Vec<PathGlob>,
}

impl GlobList {
    /// Globs separated by commas.
    pub(crate) fn new(text: &str) -> Result<Self, ToolError> {
        let mut list = Self::default();
        for part in split_list(text) {
            match part.strip_prefix('!') {
                Some(unwanted) => list.unwanted.push(PathGlob::new(unwanted)?),
                None => list.wanted.push(PathGlob::new(part)?),
            }
        }
        Ok(list)
    }

    /// Whether a file is meant, seen from any of these directories.
    pub(crate) fn matches(&self, file: &Path, bases: &[&Path]) -> bool {
        if self.wanted.is_empty() && self.unwanted.is_empty() {
            return true;
        }
        let relative = || bases.iter().filter_map(|base| file.strip_prefix(base).ok());
        let wanted = self.wanted.is_empty() || relative().any(|path| self.wanted.iter().any(|glob| glob.matches(path)));
        wanted && !relative().any(|path| self.unwanted.iter().any(|glob| glob.matches_above(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        PathGlob::new(glob).unwrap().matches(Path::new(path))
    }

    #[test]
    fn a_slash_decides_what_is_matched() {
        assert!(matches("*.rs", "a/b/c.rs") && matches("c.{rs,py}", "a/c.py"));
        assert!(matches("a/*.rs", "a/b.rs") && !matches("a/*.rs", "a/b/c.rs") && !matches("a/*.rs", "x/a/b.rs"));
        assert!(matches("**/*.rs", "b.rs") && matches("a/**", "a/b/c") && matches("src/", "src/a/b"));
        assert!(matches("/top", "top") && !matches("/top", "a/top"));
    }

    #[test]
    fn a_bad_glob_is_told() {
        let error = PathGlob::new("a{b").unwrap_err().to_string();
        assert!(error.starts_with("Invalid glob: "), "{error}");
    }

    #[test]
    fn unwanted_files_and_directories_are_left_out() {
        let list = GlobList::new("*.ts,!*.d.ts,!vendor,!gen/**").unwrap();
        let meant = |path: &str| list.matches(Path::new(path), &[Path::new("/w")]);
        assert!(meant("/w/a/b.ts") && meant("/w/a/gen/b.ts"));
        assert!(!meant("/w/a.rs") && !meant("/w/a.d.ts") && !meant("/w/vendor/a.ts") && !meant("/w/gen/a.ts"));
    }
}
