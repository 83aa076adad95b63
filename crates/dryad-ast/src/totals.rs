//! How much a search or a rewrite found, beside what it hands over.

use crate::issues::Issues;
use crate::scope::Scope;

/// How much was found: matches by a search, replacements by a rewrite.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The files that were handed over, by path, with what was found in them.
    pub files: Vec<FileCount>,
    /// Everything there is to find; of replacements, those within the limit.
    pub count: usize,
    /// All files that have something.
    pub file_count: usize,
    /// Files that were looked at.
    pub files_searched: usize,
    /// The limit, when there is more behind it.
    pub limit_reached: Option<usize>,
    /// Files that were not looked at because there were too many.
    pub left_out: usize,
    /// What was looked at, as it is shown.
    pub scope: String,
    /// Why nothing was looked at, if nothing was.
    pub(crate) nothing_to_search: Option<String>,
    pub(crate) issues: Issues,
}

/// How much of a file was handed over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileCount {
    /// The file as it is shown.
    pub shown: String,
    /// Its matches or replacements.
    pub count: usize,
}

impl Totals {
    /// Why there is less than was hoped for: one text for each file that was not understood.
    pub fn issues(&self) -> &[String] {
        self.issues.texts()
    }

    /// What is known of the files before the first one is looked at.
    pub(crate) fn of(scope: &Scope) -> Self {
        let mut totals = Self {
            files_searched: scope.files.len(),
            left_out: scope.left_out,
            scope: scope.shown.clone(),
            nothing_to_search: scope.files.is_empty().then(|| scope.nothing_to_search()),
            ..Self::default()
        };
        totals.issues.add_scope(scope);
        totals
    }
}
