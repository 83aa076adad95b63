//! What an effect would do, for people and models.

mod rehearsed;

pub use rehearsed::{Told, size, without_difference};

use crate::diff::text_change;
use crate::plan::{Contents, Effect, FilesEffect};
use crate::tool::{PlanContext, ToolError};
use dryad_protocol::action::Preview;
use dryad_protocol::change_set::Change;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::image::Image;
use serde_json::{Map, json};
use std::fmt::Write as _;
use std::path::Path;

/// Paths that are shown with their differences; the others are counted.
const SHOWN_PATHS: usize = 50;

/// Lines of one difference that are shown.
const SHOWN_LINES: usize = 200;

/// Foretells an effect.
///
/// # Errors
///
/// When a foreign tool cannot tell.
pub async fn of(effect: &Effect, workdir: &Path) -> Result<Preview, ToolError> {
    match effect {
        Effect::Files(files) => Ok(of_files(files, workdir)),
        Effect::Command(command) => Ok(of_command(command)),
        Effect::Resolve(_) => Ok(Preview::default()),
        Effect::Foreign(foreign) => {
            let context = PlanContext::new(workdir);
            match foreign.tool.dry_run(&foreign.arguments, &context) {
                Some(foretold) => foretold.await,
                None => Err(ToolError::new(format!("{} cannot be previewed", foreign.tool.spec().name))),
            }
        }
    }
}

fn of_command(command: &CommandSpec) -> Preview {
    let first = command.command.lines().next().unwrap_or_default();
    let would_affect = first.chars().take(80).collect();
    let text = format!("$ {}\n(in {})\n", command.command, command.cwd);
    Preview { would_affect, text, estimated_impact: Map::new() }
}

fn of_files(files: &FilesEffect, workdir: &Path) -> Preview {
    let name = |change: &Change| {
        let path = change.path.as_path();
        path.strip_prefix(workdir).unwrap_or(path).display().to_string()
    };
    let mut text = String::new();
    for change in files.changes.iter().take(SHOWN_PATHS) {
        writeln!(text, "{}: {}", name(change), what(change)).ok();
        text.push_str(&difference(change, &files.contents));
    }
    let left = files.changes.len().saturating_sub(SHOWN_PATHS);
    if left > 0 {
        writeln!(text, "… and {left} more paths").ok();
    }
    let mut estimated_impact = Map::new();
    estimated_impact.insert("paths".to_owned(), json!(files.changes.len()));
    Preview { would_affect: affected(files, workdir), text, estimated_impact }
}

/// The paths a change touches, in a few words.
pub(crate) fn affected(files: &FilesEffect, workdir: &Path) -> String {
    // A new directory is told by what is put into it.
    let is_told = |change: &&Change| !matches!(change.after, Image::Directory { .. });
    let all = || files.changes.iter();
    let told =
        if all().any(|change| is_told(&change)) { all().filter(is_told).collect::<Vec<_>>() } else { all().collect() };
    let mut names = told.iter().map(|change| {
        let path = change.path.as_path();
        path.strip_prefix(workdir).unwrap_or(path).display().to_string()
    });
    let first = names.next().unwrap_or_default();
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn what(change: &Change) -> String {
    let kind = |image: &Image| match image {
        Image::Absent => "nothing",
        Image::File(_) => "file",
        Image::Symlink { .. } => "link",
        Image::Directory { .. } => "directory",
    };
    let size = |image: &Image| match image {
        Image::File(file) => format!(" ({} bytes)", file.size),
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => String::new(),
    };
    match (&change.before, &change.after) {
        (Image::Absent, after) => format!("new {}{}", kind(after), size(after)),
        (before, Image::Absent) => format!("deleted {}{}", kind(before), size(before)),
        (Image::File(_), Image::File(_)) => "changed".to_owned(),
        (before, after) => format!("{} becomes {}", kind(before), kind(after)),
    }
}

fn difference(change: &Change, contents: &Contents) -> String {
    let side = |image: &Image| match image {
        Image::Absent => Some(String::new()),
        Image::File(file) => {
            contents.get(file.blob).and_then(|bytes| std::str::from_utf8(&bytes).ok().map(str::to_owned))
        }
        Image::Symlink { .. } | Image::Directory { .. } => None,
    };
    let (Some(before), Some(after)) = (side(&change.before), side(&change.after)) else { return String::new() };
    let difference = text_change(&before, &after).text;
    let mut lines = difference.lines();
    let mut shown: String = lines.by_ref().take(SHOWN_LINES).flat_map(|line| [line, "\n"]).collect();
    match lines.count() {
        0 => {}
        more => drop(writeln!(shown, "… {more} more lines")),
    }
    shown
}
