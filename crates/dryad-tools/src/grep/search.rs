//! Runs one search over its scope.

use super::file::{FileHits, HitSink};
use super::hits::{Found, Hits};
use super::scope::{Root, Scope};
use super::{Arguments, Around};
use crate::glob::{GlobList, PathGlob};
use crate::target::os_message;
use crate::walk::{WalkRules, is_file, walk};
use dryad_safety::tool::{PlanContext, ToolError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkState};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory one file may take: a longer line, or a longer file when matches span lines, is passed over.
const FILE_MEMORY: usize = 256 * 1024 * 1024;

/// A search that is ready to run.
pub(super) struct Search<'a> {
    matcher: RegexMatcher,
    multiline: bool,
    around: Around,
    globs: GlobList,
    types: Option<Types>,
    rules: WalkRules,
    hits: Hits,
    unread: AtomicUsize,
    context: &'a PlanContext,
}

impl<'a> Search<'a> {
    pub(super) fn new(arguments: &Arguments, context: &'a PlanContext) -> Result<Self, ToolError> {
        let literal = arguments.literal == Some(true);
        let holds_break = arguments.pattern.contains('\n') || (!literal && arguments.pattern.contains("\\n"));
        let multiline = arguments.multiline.unwrap_or(false) || holds_break;
        let around = arguments.around();
        Ok(Self {
            matcher: matcher(&arguments.pattern, literal, arguments.ignore_case == Some(true), multiline)?,
            multiline,
            around,
            globs: GlobList::new(arguments.glob.as_deref().unwrap_or_default())?,
            types: arguments.r#type.as_deref().filter(|names| !names.is_empty()).map(types).transpose()?,
            rules: WalkRules { ignore_files: arguments.gitignore.unwrap_or(true), skip_hidden: false },
            hits: Hits::new(arguments.page(), around),
            unread: AtomicUsize::new(0),
            context,
        })
    }

    /// Searches everything and returns what is to be shown.
    pub(super) fn run(self, scope: &Scope) -> Result<Found, ToolError> {
        for root in &scope.roots {
            match root {
                Root::File(path) => self.named_file(path)?,
                Root::Directory { path, glob } => self.directory(path, glob.as_ref()),
            }
            self.context.check_cancelled()?;
        }
        Ok(self.hits.finish(self.unread.into_inner()))
    }

    fn named_file(&self, path: &Path) -> Result<(), ToolError> {
        let hits = self.file(&mut self.searcher(), &self.matcher, path);
        let hits =
            hits.map_err(|error| ToolError::new(format!("Cannot read {}: {}", path.display(), os_message(&error))))?;
        self.hits.insert(path.to_owned(), hits);
        Ok(())
    }

    fn directory(&self, root: &Path, glob: Option<&PathGlob>) {
        let mut builder = walk(root, self.rules);
        if let Some(types) = &self.types {
            builder.types(types.clone());
        }
        let bases = [root, self.context.workdir.as_path()];
        builder.build_parallel().run(|| {
            let mut searcher = self.searcher();
            // Each thread has its own: sharing one would mean sharing its scratch memory.
            let matcher = self.matcher.clone();
            Box::new(move |entry| {
                if self.context.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) if self.is_meant(&entry, root, glob, &bases) => {
                        self.entry(&mut searcher, &matcher, entry);
                    }
                    Ok(_) => {}
                    Err(_) => self.count_unread(),
                }
                WalkState::Continue
            })
        });
    }

    fn is_meant(&self, entry: &DirEntry, root: &Path, glob: Option<&PathGlob>, bases: &[&Path]) -> bool {
        is_file(entry)
            && glob.is_none_or(|glob| glob.matches_below(root, entry.path()))
            && self.globs.matches(entry.path(), bases)
            && self.hits.may_matter(entry.path())
    }

    fn entry(&self, searcher: &mut Searcher, matcher: &RegexMatcher, entry: DirEntry) {
        match self.file(searcher, matcher, entry.path()) {
            Ok(hits) => self.hits.insert(entry.into_path(), hits),
            Err(_) => self.count_unread(),
        }
    }

    fn file(&self, searcher: &mut Searcher, matcher: &RegexMatcher, path: &Path) -> io::Result<FileHits> {
        let mut sink = HitSink::new(self.hits.level(), self.around);
        searcher.search_path(matcher, path, &mut sink)?;
        Ok(sink.finish())
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .multi_line(self.multiline)
            .before_context(self.around.before)
            .after_context(self.around.after)
            .heap_limit(Some(FILE_MEMORY))
            .build()
    }

    fn count_unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }
}

fn matcher(pattern: &str, literal: bool, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(ignore_case).fixed_strings(literal);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        ToolError::new(format!("Invalid pattern: {error}\nSet literal to true to search for it as plain text."))
    })
}

fn types(names: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in dryad_safety::globs::split_list(names) {
        builder.select(name);
    }
    builder.build().map_err(|error| ToolError::new(format!("Invalid type: {error}")))
}
