//! Globs of files, written as in an ignore file: one without `/` means a name at any depth, one with `/`
//! a path below the directory it starts from. `!` before a glob leaves files and directories out.

use dryad_safety::globs::split_list;
use dryad_safety::tool::ToolError;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// A list of globs, seen from a directory.
pub(super) struct Globs {
    base: PathBuf,
    wanted: Gitignore,
    unwanted: Gitignore,
}

impl Globs {
    /// Globs separated by commas.
    pub(super) fn new(base: &Path, text: &str) -> Result<Self, ToolError> {
        Self::build(base, split_list(text))
    }

    /// One glob of whole paths below `base`.
    pub(super) fn anchored(base: &Path, glob: &str) -> Result<Self, ToolError> {
        Self::build(base, [format!("/{glob}").as_str()])
    }

    fn build<'t>(base: &Path, globs: impl IntoIterator<Item = &'t str>) -> Result<Self, ToolError> {
        let invalid = |error: ignore::Error| ToolError::new(format!("Invalid glob: {error}"));
        let (mut wanted, mut unwanted) = (GitignoreBuilder::new(""), GitignoreBuilder::new(""));
        for glob in globs {
            let (list, glob) = match glob.strip_prefix('!') {
                Some(glob) => (&mut unwanted, glob),
                None => (&mut wanted, glob),
            };
            list.add_line(None, glob.strip_prefix("./").unwrap_or(glob)).map_err(invalid)?;
        }
        let (wanted, unwanted) = (wanted.build().map_err(invalid)?, unwanted.build().map_err(invalid)?);
        Ok(Self { base: base.to_owned(), wanted, unwanted })
    }

    /// Whether a file is meant: it or a directory above it matches, and none of them is left out. Outside
    /// the directory that the globs start from they are seen from `root`.
    pub(super) fn match_file(&self, root: &Path, file: &Path) -> bool {
        let below = |base: &Path| file.strip_prefix(base).ok();
        let Some(relative) = below(&self.base).or_else(|| below(root)) else { return false };
        let hits = |globs: &Gitignore| globs.matched_path_or_any_parents(relative, false).is_ignore();
        (self.wanted.is_empty() || hits(&self.wanted)) && !hits(&self.unwanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(globs: &str, path: &str) -> bool {
        Globs::new(Path::new("/w"), globs).unwrap().match_file(Path::new("/w"), &Path::new("/w").join(path))
    }

    #[test]
    fn a_slash_decides_what_is_matched() {
        assert!(meant("*.rs", "a/b/c.rs") && meant("c.{rs,py}", "a/c.py") && !meant("*.rs", "a.py"));
        assert!(meant("a/*.rs", "a/b.rs") && !meant("a/*.rs", "a/b/c.rs") && !meant("a/*.rs", "x/a/b.rs"));
        assert!(meant("**/*.rs", "b.rs") && meant("a/**", "a/b/c") && meant("src/", "src/a/b"));
    }

    #[test]
    fn what_follows_an_exclamation_mark_is_left_out() {
        let globs = "*.ts,!*.d.ts,!vendor,!gen/**";
        assert!(meant(globs, "a/b.ts") && meant("!*.d.ts", "a.ts"));
        assert!(!meant(globs, "a.rs") && !meant(globs, "a.d.ts") && !meant(globs, "x/vendor/a.ts"));
        assert!(!meant(globs, "gen/a.ts") && !meant("src/,!*.d.ts", "src/a.d.ts"));
    }

    #[test]
    fn an_anchored_glob_starts_at_its_base() {
        let globs = Globs::anchored(Path::new("/w/src"), "*.rs").unwrap();
        let meant = |path: &str| globs.match_file(Path::new("/w"), Path::new(path));
        assert!(meant("/w/src/a.rs") && !meant("/w/src/b/a.rs"));
    }

    #[test]
    fn outside_their_directory_globs_are_seen_from_the_root_of_the_search() {
        let globs = Globs::new(Path::new("/w"), "lib/*.rs").unwrap();
        let meant = |path: &str| globs.match_file(Path::new("/x"), Path::new(path));
        assert!(meant("/x/lib/a.rs") && !meant("/x/a.rs") && !meant("/y/lib/a.rs"));
    }

    #[test]
    fn a_bad_glob_is_told() {
        let error = Globs::new(Path::new("/w"), "a{b").err().unwrap().to_string();
        assert!(error.starts_with("Invalid glob: "), "{error}");
    }
}
