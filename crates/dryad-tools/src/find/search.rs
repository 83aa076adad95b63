//! Walks a tree and collects what matches.

use super::newest::Newest;
use super::{FindSettings, Found};
use crate::glob::PathGlob;
use crate::path;
use crate::walk::{WalkRules, walk};
use dryad_protocol::call::ToolResult;
use dryad_safety::tool::{PlanContext, ToolError};
use ignore::{DirEntry, WalkState};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is looked for.
pub(super) struct Pattern {
    glob: PathGlob,
    /// Directories are meant, not files.
    directories: bool,
}

impl Pattern {
    /// A glob of the whole relative path or of the name; one that ends with `/` means directories.
    pub(super) fn new(text: &str, whole_path: bool) -> Result<Self, ToolError> {
        let name = text.trim_end_matches('/');
        let glob = if whole_path { PathGlob::anchored(name) } else { PathGlob::new(name) };
        Ok(Self { glob: glob?, directories: name != text })
    }
}

/// One call's search.
pub(super) struct Search<'a> {
    root: &'a Path,
    pattern: &'a Pattern,
    context: &'a PlanContext,
    limit: usize,
    deadline: Instant,
    update_interval: Duration,
    timed_out: AtomicBool,
    state: Mutex<State>,
}

struct State {
    newest: Newest,
    next_update: Instant,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        root: &'a Path,
        pattern: &'a Pattern,
        limit: usize,
        settings: &'a FindSettings,
        context: &'a PlanContext,
    ) -> Self {
        let now = Instant::now();
        let update_interval = settings.update_interval;
        Self {
            root,
            pattern,
            context,
            limit,
            deadline: now + settings.timeout,
            update_interval,
            timed_out: AtomicBool::new(false),
            state: Mutex::new(State { newest: Newest::new(limit), next_update: now + update_interval }),
        }
    }

    /// Looks for what ignore rules leave, and if that is nothing, everywhere.
    pub(super) fn run(&self, skip_hidden: bool) -> Result<Found, ToolError> {
        for ignore_files in [true, false] {
            self.pass(WalkRules { ignore_files, skip_hidden });
            self.context.check_cancelled()?;
            if self.timed_out.load(Ordering::Relaxed) || !self.shown().is_empty() {
                break;
            }
        }
        let dropped = self.state.lock().unwrap_or_else(PoisonError::into_inner).newest.has_dropped();
        Ok(Found {
            files: self.shown(),
            limit_reached: dropped.then_some(self.limit),
            timed_out: self.timed_out.load(Ordering::Relaxed),
        })
    }

    fn pass(&self, rules: WalkRules) {
        walk(self.root, rules).build_parallel().run(|| {
            Box::new(|entry| {
                let now = Instant::now();
                if now >= self.deadline {
                    self.timed_out.store(true, Ordering::Relaxed);
                    return WalkState::Quit;
                }
                if self.context.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                // What cannot be looked into is not there for this tool.
                if let Ok(entry) = entry
                    && self.is_meant(&entry)
                {
                    self.take(entry, now);
                }
                WalkState::Continue
            })
        });
    }

    fn is_meant(&self, entry: &DirEntry) -> bool {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() > 0
            && is_directory == self.pattern.directories
            && self.pattern.glob.matches_below(self.root, entry.path())
    }

    fn take(&self, entry: DirEntry, now: Instant) {
        let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.newest.insert(modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.into_path());
        if now >= state.next_update {
            state.next_update = now + self.update_interval;
            drop(state);
            self.update();
        }
    }

    fn update(&self) {
        let files = self.shown();
        let details = json!({"fileCount": files.len(), "files": files});
        self.context.progress.update(ToolResult::text(files.join("\n")).with_details(details));
    }

    /// What was found so far, the newest first, as it is shown.
    fn shown(&self) -> Vec<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let end = if self.pattern.directories { "/" } else { "" };
        let workdir = &self.context.workdir;
        state.newest.sorted().into_iter().map(|file| format!("{}{end}", path::shown(file, workdir))).collect()
    }
}
