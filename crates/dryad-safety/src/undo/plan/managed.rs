//! Files that programs write by the way, without anybody having meant it.
//!
//! A plain `git status` rewrites the index, a plain import the compiled modules. What stands in such a file since is
//! nobody's work, and it only fits what lies beside it: kept, the index of a repository would speak of objects that the
//! undo has taken away.

use std::ffi::OsStr;
use std::path::Path;

/// The directory of a repository.
const REPOSITORY: &str = ".git";

/// Directories in one of a repository in which an index is a name like any other.
const NAMES: [&str; 3] = ["refs", "logs", "objects"];

/// Whether a file is the index of a git repository or of one of its worktrees and submodules, or a compiled module.
pub(super) fn is_machine_managed(path: &Path) -> bool {
    let Some(parent) = path.parent() else { return false };
    parent.iter().any(|name| name == "__pycache__") || (path.file_name() == Some(OsStr::new("index")) && is_git(parent))
}

/// Whether this is where git keeps an index.
fn is_git(directory: &Path) -> bool {
    let parts: Vec<&OsStr> = directory.iter().collect();
    let Some(start) = parts.iter().rposition(|name| *name == REPOSITORY) else { return false };
    match parts.get(start + 1..).unwrap_or_default() {
        [] => true,
        [kind, _] if *kind == "worktrees" => true,
        [kind, _, below @ ..] if *kind == "modules" => {
            !below.iter().any(|name| NAMES.iter().any(|other| name == other))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_known_by_where_it_lies() {
        for managed in [
            "/w/.git/index",
            "/w/.git/worktrees/side/index",
            "/w/.git/modules/lib/index",
            "/w/.git/modules/vendor/lib/index",
            "/w/.git/modules/lib/worktrees/side/index",
            "/w/pkg/__pycache__/a.cpython-313.pyc",
        ] {
            assert!(is_machine_managed(Path::new(managed)), "{managed}");
        }
        for own in [
            "/w/index",
            "/w/.git/HEAD",
            "/w/.git/refs/heads/index",
            "/w/.git/modules/lib/refs/heads/index",
            "/w/.git/modules/index",
            "/w/.git/worktrees/index",
            "/w/__pycache__",
            "/w/.gitignore/index",
        ] {
            assert!(!is_machine_managed(Path::new(own)), "{own}");
        }
    }
}
