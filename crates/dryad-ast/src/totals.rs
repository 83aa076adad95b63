//! How much a search or a rewrite found, beside what it hands over, and how programs are told.

use crate::issues::Issues;
use crate::scope::Scope;
use serde::ser::SerializeMap as _;
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

/// Files that the result of a call lists at most.
const LISTED: usize = 1000;

/// What programs are told of a search or a rewrite. Both have the same facts under names of their own.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    totals: &'a Totals,
    /// The files that are listed.
    files: &'a [FileCount],
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Search,
    Rewrite { applied: bool },
}

impl<'a> Details<'a> {
    /// The facts of a search.
    pub fn of_search(totals: &'a Totals) -> Self {
        Self { totals, files: &totals.files, kind: Kind::Search }
    }

    /// The facts of a rewrite, before or after it is done.
    pub fn of_rewrite(totals: &'a Totals, applied: bool) -> Self {
        Self { totals, files: &totals.files, kind: Kind::Rewrite { applied } }
    }

    /// The same with no more files listed than the result of a call may hold; how many are not is told.
    #[must_use]
    pub fn limited(self) -> Self {
        Self { files: self.files.get(..LISTED).unwrap_or(self.files), ..self }
    }
}

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let totals = self.totals;
        let [count, file_count, by_file] = match self.kind {
            Kind::Search => ["matchCount", "fileCount", "fileMatches"],
            Kind::Rewrite { .. } => ["totalReplacements", "filesTouched", "fileReplacements"],
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(count, &totals.count)?;
        map.serialize_entry(file_count, &totals.file_count)?;
        map.serialize_entry("filesSearched", &totals.files_searched)?;
        if let Kind::Rewrite { applied } = self.kind {
            map.serialize_entry("applied", &applied)?;
        }
        map.serialize_entry("limitReached", &(totals.limit_reached.is_some() || totals.left_out > 0))?;
        map.serialize_entry("scopePath", &totals.scope)?;
        map.serialize_entry("files", &Names(self.files))?;
        map.serialize_entry(by_file, self.files)?;
        let left = totals.files.len() - self.files.len();
        if left > 0 {
            map.serialize_entry("filesNotListed", &left)?;
        }
        if !totals.issues().is_empty() {
            map.serialize_entry("parseErrors", totals.issues())?;
        }
        // There is nothing to replace, which is seldom what was meant.
        if matches!(self.kind, Kind::Rewrite { .. }) && totals.count == 0 {
            map.serialize_entry("warning", &true)?;
        }
        map.end()
    }
}

/// The names of files alone.
struct Names<'a>(&'a [FileCount]);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|file| &file.shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_result_of_a_call_lists_only_so_many_files_and_says_how_many_it_does_not() {
        let file = |number| FileCount { shown: format!("{number}.rs"), count: 1 };
        let totals = Totals { files: (0..LISTED + 7).map(file).collect(), count: LISTED + 7, ..Totals::default() };
        let limited = json!(Details::of_rewrite(&totals, true).limited());
        assert_eq!(limited["files"].as_array().map(Vec::len), Some(LISTED));
        assert_eq!(limited["fileReplacements"].as_array().map(Vec::len), Some(LISTED));
        assert_eq!((&limited["filesNotListed"], &limited["totalReplacements"]), (&json!(7), &json!(LISTED + 7)));
        let whole = json!(Details::of_rewrite(&totals, true));
        assert_eq!(whole["files"].as_array().map(Vec::len), Some(LISTED + 7));
        assert_eq!(whole.get("filesNotListed"), None);
    }
}
