//! The paths of a change set, one line each; many of them folded into one line per directory.

use super::{name, size, takes_file};
use dryad_effects::bearings::Listed;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::path::FilePath;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

/// Up to so many paths have a line each.
const LINES: usize = 40;

/// Of more, directories with more paths than this have one line.
const FOLDED: usize = 5;

/// Lost files that are named when they are not listed.
const LOST: usize = 10;

/// What happens to a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    New,
    Changed,
    Deleted,
    Moved,
}

/// One path.
struct Line<'a> {
    change: &'a Change,
    kind: Kind,
    name: String,
    /// Where a moved one comes from.
    from: Option<String>,
    /// What became of owner, group and attributes.
    bearing: Option<String>,
}

/// The paths of a change set, in the order of their names.
pub(super) struct Listing<'a> {
    lines: Vec<Line<'a>>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(changes: &'a ChangeSet, workdir: &Path) -> Self {
        let moved = moved(changes);
        let sources: HashSet<&FilePath> = moved.values().copied().collect();
        let line = |change: &'a Change| {
            let from = moved.get(&change.path).map(|from| name(from, workdir));
            let kind = match (&change.before, &change.after) {
                _ if from.is_some() => Kind::Moved,
                (Image::Absent, _) => Kind::New,
                (_, Image::Absent) => Kind::Deleted,
                (_, _) => Kind::Changed,
            };
            Line { change, kind, name: name(&change.path, workdir), from, bearing: None }
        };
        let told = changes.iter().filter(|change| !sources.contains(&change.path));
        let mut lines: Vec<Line<'a>> = told.map(line).collect();
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        Self { lines }
    }

    /// The same with what became of owners, groups and attributes.
    pub(super) fn with_bearings(mut self, borne: &[Listed]) -> Self {
        let mut changed: HashMap<&FilePath, String> =
            borne.iter().filter_map(|listed| Some((listed.path(), listed.change()?.to_string()))).collect();
        for line in &mut self.lines {
            line.bearing = changed.remove(&line.change.path);
        }
        self
    }

    /// The first path, and how many more there are.
    pub(super) fn in_a_few_words(&self) -> String {
        let is_file = |line: &&Line<'_>| !matches!(line.change.after, Image::Directory { .. });
        let files: Vec<&Line<'_>> = self.lines.iter().filter(is_file).collect();
        let told = if files.is_empty() { self.lines.iter().collect() } else { files };
        match told.as_slice() {
            [] => "nothing".to_owned(),
            [one] => one.name.clone(),
            [one, more @ ..] => format!("{} and {} more", one.name, more.len()),
        }
    }

    /// Files that are gone afterwards, and are found nowhere else.
    pub(super) fn lost_files(&self) -> usize {
        self.lost().count()
    }

    /// Their bytes.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost().map(|(_, bytes)| bytes).sum()
    }

    pub(super) fn render(&self) -> String {
        if self.lines.is_empty() {
            return "\nno file in the granted roots is changed\n".to_owned();
        }
        let mut text = format!("\nchanges: {}\n", self.counts(self.lines.iter()));
        let is_folded = self.lines.len() > LINES;
        if is_folded {
            self.fold(&mut text);
        } else {
            tell_all(&mut text, self.lines.iter());
        }
        self.tell_lost(&mut text, is_folded);
        text
    }

    fn lost(&self) -> impl Iterator<Item = (&Line<'a>, u64)> {
        self.lines.iter().filter_map(|line| Some((line, takes_file(line.change)?)))
    }

    fn tell_lost(&self, text: &mut String, is_folded: bool) {
        let mut lost: Vec<(&Line<'_>, u64)> = self.lost().collect();
        if lost.is_empty() {
            return;
        }
        let files = if lost.len() == 1 { "file" } else { "files" };
        writeln!(text, "\nlost: {} {files}, {}", lost.len(), size(self.lost_bytes())).ok();
        lost.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let named = if is_folded { LOST } else { lost.len() };
        for (line, bytes) in lost.iter().take(named) {
            writeln!(text, "  {} ({})", line.name, size(*bytes)).ok();
        }
        if lost.len() > named {
            writeln!(text, "  … and {} more, each smaller", lost.len() - named).ok();
        }
    }

    /// One line for each directory at the top that holds many.
    fn fold(&self, text: &mut String) {
        let mut groups: BTreeMap<&str, Vec<&Line<'_>>> = BTreeMap::new();
        for line in &self.lines {
            groups.entry(directory(&line.name)).or_default().push(line);
        }
        for (directory, lines) in groups {
            if lines.len() <= FOLDED {
                tell_all(text, lines.into_iter());
            } else {
                let place = if directory.is_empty() { "here" } else { directory };
                writeln!(text, "  {place}  {}", self.counts(lines.into_iter())).ok();
            }
        }
    }

    fn counts<'l>(&self, lines: impl Iterator<Item = &'l Line<'l>> + Clone) -> String {
        let count = |kind: Kind| lines.clone().filter(|line| line.kind == kind).count();
        let kinds =
            [(Kind::New, "new"), (Kind::Changed, "changed"), (Kind::Deleted, "deleted"), (Kind::Moved, "moved")];
        let parts: Vec<String> = kinds
            .into_iter()
            .map(|(kind, word)| (count(kind), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let all = lines.clone().count();
        format!("{all} {} ({})", if all == 1 { "path" } else { "paths" }, parts.join(", "))
    }
}

impl Line<'_> {
    fn render(&self) -> String {
        let Self { change, name, .. } = self;
        let letter = match self.kind {
            Kind::New => 'A',
            Kind::Changed => 'M',
            Kind::Deleted => 'D',
            Kind::Moved => 'R',
        };
        match &self.from {
            Some(from) => format!("{letter} {from} → {name}"),
            None => match (&self.bearing, change.before == change.after) {
                (Some(bearing), true) => format!("{letter} {name} ({bearing})"),
                (Some(bearing), false) => {
                    format!("{letter} {name}{}, {bearing}", detail(&change.before, &change.after))
                }
                (None, _) => format!("{letter} {name}{}", detail(&change.before, &change.after)),
            },
        }
    }
}

fn tell_all<'l>(text: &mut String, lines: impl Iterator<Item = &'l Line<'l>>) {
    for line in lines {
        writeln!(text, "  {}", line.render()).ok();
    }
}

/// Bits that give whoever runs a file the rights of its owner or group.
const OTHERS_RIGHTS: u32 = 0o6000;

/// What there is to say about both sides, in brackets.
fn detail(before: &Image, after: &Image) -> String {
    let of = |image: &Image| match image {
        Image::Absent => "nothing".to_owned(),
        Image::File(file) => size(file.size),
        Image::Symlink { target } => format!("link to {target}"),
        Image::Directory { .. } => "directory".to_owned(),
    };
    match (before, after) {
        (Image::File(stood), Image::File(stands)) if stood.blob == stands.blob && stood.mode != stands.mode => {
            format!(" (mode {:o} to {:o})", stood.mode, stands.mode)
        }
        (Image::File(stood), Image::File(stands)) if stood.blob == stands.blob => " (time only)".to_owned(),
        (Image::Directory { mode: stood }, Image::Directory { mode: stands }) if stood == stands => {
            format!(" (closed, mode {stood:o}; opened meanwhile)")
        }
        (Image::Directory { mode: stood }, Image::Directory { mode: stands }) => {
            format!(" (mode {stood:o} to {stands:o})")
        }
        (Image::File(stood), Image::File(stands)) if stood.mode != stands.mode => {
            format!(" ({} to {}, mode {:o} to {:o})", of(before), of(after), stood.mode, stands.mode)
        }
        (Image::Absent, Image::File(file)) if file.mode & OTHERS_RIGHTS != 0 => {
            format!(" ({}, mode {:o})", of(after), file.mode)
        }
        (Image::Absent, image) | (image, Image::Absent) => format!(" ({})", of(image)),
        (stood, stands) => format!(" ({} to {})", of(stood), of(stands)),
    }
}

/// The directory at the top that a path lies in; empty for none.
fn directory(name: &str) -> &str {
    let skipped = usize::from(name.starts_with('/'));
    let end = name.char_indices().skip(skipped).find(|(_, character)| *character == '/');
    end.and_then(|(at, _)| name.get(..=at)).unwrap_or_default()
}

/// New files whose content a deleted one had, and which that was. Each deleted one is used once.
fn moved(changes: &ChangeSet) -> HashMap<&FilePath, &FilePath> {
    let mut gone: HashMap<BlobId, Vec<&FilePath>> = HashMap::new();
    for change in changes.iter().filter(|change| change.after == Image::Absent) {
        if let Some(blob) = change.before.blob() {
            gone.entry(blob).or_default().push(&change.path);
        }
    }
    let mut moved = HashMap::new();
    for change in changes.iter().filter(|change| change.before == Image::Absent) {
        let source = change.after.blob().and_then(|blob| gone.get_mut(&blob)?.pop());
        if let Some(source) = source {
            moved.insert(&change.path, source);
        }
    }
    moved
}

#[cfg(test)]
mod tests;
