//! Where to search: from the `path`, `glob` and `lang` arguments to a list of source files.
//!
//! The list is made first, on all cores, and sorted: whatever is then done to the files in whatever
//! order, the same tree gives the same answer, and a bound on the number of files keeps the same ones.
//! Ignore files are honoured below directories; a file that is named is meant, whatever they say.

mod globs;
mod path;

use crate::language::{Language, absent, all_names};
use dryad_safety::globs::{is_glob, split_base, split_list};
use dryad_safety::tool::{PlanContext, ToolError};
use globs::Globs;
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What to search, as the arguments say.
pub(crate) struct Request<'a> {
    /// File, directory, glob or a list of them.
    pub(crate) path: Option<&'a str>,
    /// What files must match besides.
    pub(crate) glob: Option<&'a str>,
    /// The language of the patterns, when it was named.
    pub(crate) language: Option<Language>,
    /// The most files to look at.
    pub(crate) most_files: Option<NonZeroUsize>,
}

/// The files to search.
pub(crate) struct Scope {
    /// What was asked for, as it is shown.
    pub(crate) shown: String,
    /// The files, by path.
    pub(crate) files: Vec<SourceFile>,
    /// Files that were left out because there were too many.
    pub(crate) left_out: usize,
    /// Entries that could not be read.
    pub(crate) unread: usize,
    /// Files of languages without a grammar, by language.
    absent: BTreeMap<&'static str, usize>,
}

/// One file to search.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct SourceFile {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// How it is parsed.
    pub(crate) language: Language,
    /// Whether it was named itself.
    pub(crate) is_named: bool,
}

enum Root {
    File(PathBuf),
    Directory { path: PathBuf, glob: Option<Box<Globs>> },
}

impl Scope {
    /// Lists the files.
    pub(crate) fn list(request: &Request<'_>, context: &PlanContext) -> Result<Self, ToolError> {
        let given = request.path.unwrap_or(".");
        let mut listing = Listing {
            language: request.language,
            filter: request.glob.map(|glob| Globs::new(&context.workdir, glob)).transpose()?,
            context,
            found: Mutex::default(),
        };
        for root in roots(given, &context.workdir)? {
            match root {
                Root::File(path) => listing.named_file(path)?,
                Root::Directory { path, glob } => listing.directory(&path, glob.as_deref()),
            }
            context.check_cancelled()?;
        }
        let found = listing.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(found.into_scope(shown_scope(given, &context.workdir), request.most_files))
    }

    /// What to say when there is nothing to search.
    pub(crate) fn nothing_to_search(&self) -> String {
        let mut text = format!("No source files to search in {}", self.shown);
        if !self.absent.is_empty() {
            let files = self.absent.iter().map(|(name, count)| format!("{name} ({count})"));
            let files: Vec<String> = files.collect();
            text.push_str(&format!("; no grammar is built in for: {}", files.join(", ")));
        }
        text
    }
}

/// A file as it is shown: relative to the working directory when it lies below it.
pub(crate) fn shown(path: &Path, workdir: &Path) -> String {
    match path.strip_prefix(workdir) {
        Ok(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
        Ok(relative) => relative.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn shown_scope(given: &str, workdir: &Path) -> String {
    match path::existing(given, workdir) {
        Some(path) => shown(&path, workdir),
        None => given.to_owned(),
    }
}

fn roots(given: &str, workdir: &Path) -> Result<Vec<Root>, ToolError> {
    // A name that exists is meant as it stands, commas, brackets and all.
    match existing_root(given, workdir)? {
        Some(root) => Ok(vec![root]),
        None => split_list(given).map(|part| root(part, workdir)).collect(),
    }
}

fn root(given: &str, workdir: &Path) -> Result<Root, ToolError> {
    if let Some(root) = existing_root(given, workdir)? {
        return Ok(root);
    }
    let not_found = || ToolError::new(format!("Path not found: {given}"));
    if !is_glob(given) {
        return Err(not_found());
    }
    let (base, glob) = split_base(given);
    match existing_root(if base.is_empty() { "." } else { base }, workdir)? {
        Some(Root::Directory { path, .. }) => {
            let glob = Globs::anchored(&path, glob)?;
            Ok(Root::Directory { path, glob: Some(Box::new(glob)) })
        }
        Some(Root::File(_)) | None => Err(not_found()),
    }
}

fn existing_root(given: &str, workdir: &Path) -> Result<Option<Root>, ToolError> {
    let Some(path) = path::existing(given, workdir) else { return Ok(None) };
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(Some(Root::Directory { path, glob: None })),
        Ok(metadata) if metadata.is_file() => Ok(Some(Root::File(path))),
        Ok(_) => Err(ToolError::new(format!("Not a file or directory: {given}"))),
        Err(_) => Err(ToolError::new(format!("Path not found: {given}"))),
    }
}

#[derive(Default)]
struct Listed {
    files: Vec<SourceFile>,
    unread: usize,
    absent: BTreeMap<&'static str, usize>,
}

impl Listed {
    fn into_scope(self, shown: String, most: Option<NonZeroUsize>) -> Scope {
        let Self { mut files, unread, absent } = self;
        // Of a file that was named and found as well, the one that was named counts.
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path).then(b.is_named.cmp(&a.is_named)));
        files.dedup_by(|later, kept| later.path == kept.path);
        let left_out = most.map_or(0, |most| files.len().saturating_sub(most.get()));
        files.truncate(files.len() - left_out);
        Scope { shown, files, left_out, unread, absent }
    }
}

struct Listing<'a> {
    language: Option<Language>,
    filter: Option<Globs>,
    context: &'a PlanContext,
    found: Mutex<Listed>,
}

impl Listing<'_> {
    fn named_file(&mut self, path: PathBuf) -> Result<(), ToolError> {
        let own = Language::of_path(&path);
        let language = match (self.language, own) {
            // A page is searched for what it holds.
            (Some(wanted), Some(own)) if own.embedded().contains(&wanted) => own,
            (Some(wanted), _) => wanted,
            (None, Some(own)) => own,
            (None, None) => return Err(no_language(&path, self.context)),
        };
        let found = self.found.get_mut().unwrap_or_else(PoisonError::into_inner);
        found.files.push(SourceFile { path, language, is_named: true });
        Ok(())
    }

    fn directory(&self, root: &Path, glob: Option<&Globs>) {
        walk(root).build_parallel().run(|| {
            let mut batch = Batch { found: &self.found, listed: Listed::default() };
            Box::new(move |entry| {
                if self.context.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => self.entry(entry, root, glob, &mut batch.listed),
                    Err(_) => batch.listed.unread += 1,
                }
                WalkState::Continue
            })
        });
    }

    fn entry(&self, entry: DirEntry, root: &Path, glob: Option<&Globs>, listed: &mut Listed) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let language = Language::of_path(entry.path());
        let globs = || [glob, self.filter.as_ref()].into_iter().flatten();
        let is_meant = || globs().all(|globs| globs.match_file(root, entry.path()));
        match language {
            Some(language) if self.is_wanted(language) => {
                if is_meant() {
                    listed.files.push(SourceFile { path: entry.into_path(), language, is_named: false });
                }
            }
            Some(_) => {}
            None => {
                if let Some(name) = absent::of_path(entry.path()).filter(|_| is_meant()) {
                    *listed.absent.entry(name).or_default() += 1;
                }
            }
        }
    }

    fn is_wanted(&self, language: Language) -> bool {
        self.language.is_none_or(|wanted| wanted == language || language.embedded().contains(&wanted))
    }
}

/// What one thread has found; handed over when the thread ends.
struct Batch<'a> {
    found: &'a Mutex<Listed>,
    listed: Listed,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.files.append(&mut self.listed.files);
        found.unread += self.listed.unread;
        for (name, count) in std::mem::take(&mut self.listed.absent) {
            *found.absent.entry(name).or_default() += count;
        }
    }
}

fn walk(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder.require_git(false).threads(crate::parallel::threads());
    builder.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    builder
}

fn no_language(path: &Path, context: &PlanContext) -> ToolError {
    let name = shown(path, &context.workdir);
    ToolError::new(match absent::of_path(path) {
        Some(absent) => {
            format!("Cannot search {name}: no grammar of {absent} is built in; the languages are: {}", all_names())
        }
        None => format!("Cannot tell the language of {name} by its extension; name it with lang: {}", all_names()),
    })
}

#[cfg(test)]
mod tests;
