//! From the path argument to the one thing that is read.

use crate::path::{resolve, resolve_existing, shown};
use crate::target::os_message;
use dryad_safety::artifact::Artifacts;
use dryad_safety::tool::{PlanContext, ToolError};
use ignore::WalkBuilder;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// The search for a file of which only the end of the path is known stops here.
const SEARCH_ENTRIES: usize = 20_000;
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// What is read.
pub(super) struct Located {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
    /// The path as it is shown, when it is not the one that was asked for.
    pub(super) instead: Option<String>,
}

/// Finds what `given` names.
pub(super) fn locate(given: &str, artifacts: Option<&Artifacts>, context: &PlanContext) -> Result<Located, ToolError> {
    if let Some(number) = given.strip_prefix("artifact://") {
        return artifact(number, artifacts);
    }
    if let Some((scheme, _)) = given.split_once("://").filter(|(scheme, _)| is_unknown_scheme(scheme)) {
        return Err(ToolError::new(format!("Path not found: {given} (read knows no {scheme}:// addresses)")));
    }
    let path = resolve(given, &context.workdir);
    match path.metadata() {
        Ok(metadata) => Ok(Located { path, metadata, instead: None }),
        Err(error) if is_absent(&error) => other_spelling(given, context),
        Err(error) => Err(ToolError::new(format!("Cannot read {given}: {}", os_message(&error)))),
    }
}

fn is_unknown_scheme(scheme: &str) -> bool {
    let is_word = !scheme.is_empty() && scheme.chars().all(|character| character.is_ascii_alphanumeric());
    is_word && scheme != "file"
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput)
}

fn artifact(number: &str, artifacts: Option<&Artifacts>) -> Result<Located, ToolError> {
    let found = number.parse().ok().and_then(|number| artifacts?.find(number));
    if let Some((path, metadata)) = found.and_then(|path| path.metadata().ok().map(|metadata| (path, metadata))) {
        return Ok(Located { path, metadata, instead: None });
    }
    let mut known: Vec<u64> = artifacts.and_then(|kept| kept.numbers().ok()).into_iter().flatten().collect();
    known.sort_unstable();
    let known = match known.as_slice() {
        [] => "there are none".to_owned(),
        known => format!("there are {}", known.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    Err(ToolError::new(format!("Artifact not found: {number} ({known})")))
}

fn other_spelling(given: &str, context: &PlanContext) -> Result<Located, ToolError> {
    let path = resolve_existing(given, &context.workdir);
    if let Ok(metadata) = path.metadata() {
        return Ok(Located { path, metadata, instead: None });
    }
    let not_found = || ToolError::new(format!("Path not found: {given}"));
    let path = only_file_ending_with(&path, context).ok_or_else(not_found)?;
    let metadata = path.metadata().map_err(|_| not_found())?;
    Ok(Located { instead: Some(shown(&path, &context.workdir)), path, metadata })
}

/// The one file under the workdir whose path ends with the given one; none when there are several, or
/// when the search had to stop before it could know.
fn only_file_ending_with(path: &Path, context: &PlanContext) -> Option<PathBuf> {
    let suffix = path.strip_prefix(&context.workdir).ok().filter(|suffix| is_plain(suffix))?;
    let begin = Instant::now();
    let mut found = None;
    let walk = WalkBuilder::new(&context.workdir).hidden(false).require_git(false).filter_entry(not_git).build();
    for (seen, entry) in walk.enumerate() {
        let late = seen % 256 == 255 && begin.elapsed() > SEARCH_TIME;
        if seen >= SEARCH_ENTRIES || late || context.cancel.is_cancelled() {
            return None;
        }
        let Ok(entry) = entry else { continue };
        if entry.path().ends_with(suffix) && entry.file_type().is_some_and(|kind| kind.is_file()) {
            if found.is_some() {
                return None;
            }
            found = Some(entry.into_path());
        }
    }
    found
}

fn is_plain(suffix: &Path) -> bool {
    let mut components = suffix.components();
    suffix.file_name().is_some() && components.all(|component| matches!(component, Component::Normal(_)))
}

fn not_git(entry: &ignore::DirEntry) -> bool {
    entry.file_name() != ".git"
}
