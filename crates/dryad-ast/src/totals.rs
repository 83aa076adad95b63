//! How much a search or a rewrite found, beside what it hands over.

use crate::issues::Issues;
use crate::scope::Scope;
use serde::{Serialize, Serializer};

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
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct FileCount {
    /// The file as it is shown.
    #[serde(rename = "path")]
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

/// The facts that programs are told of a search as well as of a rewrite.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts<'a> {
    files_searched: usize,
    /// Of a rewrite: whether it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<bool>,
    limit_reached: bool,
    scope_path: &'a str,
    #[serde(serialize_with = "names")]
    files: &'a [FileCount],
}

impl<'a> Facts<'a> {
    /// The facts; of a rewrite with whether it was done.
    pub(crate) fn new(totals: &'a Totals, applied: Option<bool>) -> Self {
        Self {
            files_searched: totals.files_searched,
            applied,
            limit_reached: totals.limit_reached.is_some() || totals.left_out > 0,
            scope_path: &totals.scope,
            files: &totals.files,
        }
    }
}

fn names<S: Serializer>(files: &[FileCount], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(files.iter().map(|file| &file.shown))
}
