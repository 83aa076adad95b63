//! Runs one rewrite: file by file on all cores, in the order of the files for whoever takes the replacements.
//!
//! Without a limit a file is done where it is read; with one it depends on the files before it how many of its
//! replacements are made, so it is finished when its turn comes.

use super::arguments::AstEditQuery;
use super::file::FileRewrite;
use super::rewrite::{Edit, Rewriter, Rewritten};
use crate::AstSettings;
use crate::parallel;
use crate::scope::{Scope, SourceFile};
use crate::totals::{FileCount, Totals};
use dryad_safety::snapshot::Snapshot;
use dryad_safety::tool::{PlanContext, ToolError};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Works out a rewrite, and hands it over file by file.
///
/// `look` is called on any thread with each file that would change, and makes of it what is wanted; `take` is
/// called with that, one at a time, by path. Once `take` breaks nothing more is looked at, and the totals are those
/// up to there.
///
/// # Errors
///
/// When the arguments lead nowhere, or replacements overlap: then what was handed over is not the whole.
pub fn rewrite_each<R: Send>(
    query: &AstEditQuery,
    settings: &AstSettings,
    context: &PlanContext,
    look: impl Fn(FileRewrite) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()> + Send,
) -> Result<Totals, ToolError> {
    let scope = Scope::list(&query.target.request(settings), context)?;
    let rewriter = Rewriter::new(query, &scope, context)?;
    let limit = query.limit.map(usize::from);
    let mut tally = Tally { left: limit, is_cut: false, known: HashSet::new(), totals: Totals::of(&scope) };
    let work = |file: &SourceFile| -> Result<Option<Part<R>>, ToolError> {
        let Some(rewritten) = rewriter.file(file)? else { return Ok(None) };
        if limit.is_some() { Ok(Some(Part::open(rewritten))) } else { Part::closed(rewritten, &look).map(Some) }
    };
    let stopped = parallel::in_order(&scope.files, context, work, |part| {
        let added = part.and_then(|part| part.map_or(Ok(None), |part| tally.add(part, &look)));
        match added {
            Ok(Some(looked)) => take(looked).map_break(Ok),
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    })?;
    stopped.transpose()?;
    let mut totals = tally.totals;
    totals.limit_reached = limit.filter(|_| tally.is_cut);
    if totals.count == 0 {
        rewriter.doubts()?.into_iter().for_each(|doubt| totals.issues.add(doubt));
    }
    Ok(totals)
}

/// What one file gives.
struct Part<R> {
    shown: String,
    issue: Option<String>,
    change: Option<Change<R>>,
}

enum Change<R> {
    /// Its replacements are still to be counted.
    Open(Snapshot, Vec<Edit>),
    /// It was looked at.
    Closed { path: PathBuf, count: usize, looked: R },
}

impl<R> Part<R> {
    fn open(rewritten: Rewritten) -> Self {
        let Rewritten { shown, edits, issue } = rewritten;
        Self { shown, issue, change: edits.map(|(seen, edits)| Change::Open(seen, edits)) }
    }

    fn closed(rewritten: Rewritten, look: impl Fn(FileRewrite) -> R) -> Result<Self, ToolError> {
        let Rewritten { shown, edits, issue } = rewritten;
        let change = edits.map(|(seen, edits)| Change::closed(&shown, seen, edits, look)).transpose()?;
        Ok(Self { shown, issue, change })
    }
}

impl<R> Change<R> {
    fn closed(
        shown: &str,
        seen: Snapshot,
        edits: Vec<Edit>,
        look: impl Fn(FileRewrite) -> R,
    ) -> Result<Self, ToolError> {
        let (path, count) = (seen.path.clone(), edits.len());
        let file = FileRewrite::new(shown.to_owned(), seen, edits)?;
        Ok(Self::Closed { path, count, looked: look(file) })
    }

    fn path(&self) -> &PathBuf {
        match self {
            Self::Open(seen, _) => &seen.path,
            Self::Closed { path, .. } => path,
        }
    }
}

/// Counts in the order of the files.
struct Tally {
    /// Replacements that may still be made, if that is limited.
    left: Option<usize>,
    /// Whether there were more.
    is_cut: bool,
    /// Where the files that came really lie.
    known: HashSet<PathBuf>,
    totals: Totals,
}

impl Tally {
    /// Counts one file; what is to be handed over of it.
    fn add<R>(&mut self, part: Part<R>, look: impl Fn(FileRewrite) -> R) -> Result<Option<R>, ToolError> {
        let Part { shown, issue, change } = part;
        issue.into_iter().for_each(|issue| self.totals.issues.add(issue));
        // A file that is reached by two names is changed once.
        let Some(change) = change.filter(|change| self.known.insert(change.path().clone())) else { return Ok(None) };
        let change = match change {
            Change::Open(seen, edits) => {
                let edits = self.cut(edits);
                if edits.is_empty() {
                    return Ok(None);
                }
                Change::closed(&shown, seen, edits, look)?
            }
            closed @ Change::Closed { .. } => closed,
        };
        let Change::Closed { count, looked, .. } = change else { return Ok(None) };
        self.totals.count += count;
        self.totals.file_count += 1;
        self.totals.files.push(FileCount { shown, count });
        Ok(Some(looked))
    }

    /// Keeps as many replacements as may still be made.
    fn cut(&mut self, mut edits: Vec<Edit>) -> Vec<Edit> {
        if let Some(left) = &mut self.left {
            self.is_cut |= edits.len() > *left;
            edits.truncate(*left);
            *left -= edits.len();
        }
        edits
    }
}
