//! The matches of one file as text: as `grep` shows lines, or as items of a JSON list.

use crate::output::JsonList;
use crate::terminal::{Style, harmless};
use dryad_ast::ast_grep::{FileView, MatchView};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Stdout;

/// How matches are printed.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// As `grep` shows lines.
    Lines(Style),
    /// As items of a JSON list.
    Json,
}

/// The matches of one file as text.
#[derive(Default)]
pub(super) struct Rendered {
    text: String,
    /// Where each match ends in the text.
    ends: Vec<usize>,
}

impl Rendered {
    /// The text of the first matches.
    pub(super) fn first(&self, matches: usize) -> &str {
        let end = matches.checked_sub(1).map_or(0, |last| self.ends.get(last).copied().unwrap_or(self.text.len()));
        self.text.get(..end).unwrap_or_default()
    }
}

impl Form {
    /// Makes text of the matches of a file.
    pub(super) fn render(self, file: &FileView<'_>) -> Rendered {
        let mut rendered = Rendered::default();
        match self {
            Self::Lines(style) => {
                let name = harmless(file.shown);
                let name = style.cyan(&name);
                for (index, found) in file.matches().enumerate() {
                    lines(&found, index > 0, &name, style, &mut rendered.text);
                    rendered.ends.push(rendered.text.len());
                }
            }
            Self::Json => {
                for found in file.matches() {
                    rendered.text.push_str(JsonList::<Stdout>::BEFORE);
                    // Neither can fail: there are texts and numbers only.
                    rendered.text.push_str(&serde_json::to_string(&MatchJson::of(file, &found)).unwrap_or_default());
                    rendered.ends.push(rendered.text.len());
                }
            }
        }
        rendered
    }
}

fn lines(found: &MatchView<'_, '_>, is_behind: bool, name: &str, style: Style, text: &mut String) {
    let lines = found.lines();
    if is_behind && lines.len() > 1 {
        text.push_str("--\n");
    }
    for line in lines {
        let mark = if line.is_first { ':' } else { '-' };
        let number = line.number.to_string();
        let number = if line.is_first { style.green(&number) } else { style.dim(&number) };
        writeln!(text, "{name}{mark}{number}{mark}{}", harmless(line.text)).ok();
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MatchJson<'a> {
    path: &'a str,
    language: &'static str,
    start: PlaceJson,
    end: PlaceJson,
    byte_range: [usize; 2],
    text: &'a str,
    captures: BTreeMap<String, CaptureJson<'a>>,
}

#[derive(Serialize)]
struct PlaceJson {
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct CaptureJson<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<&'a str>>,
}

impl<'a> MatchJson<'a> {
    fn of(file: &FileView<'a>, found: &MatchView<'_, 'a>) -> Self {
        let place = |(line, column)| PlaceJson { line, column };
        let captures = found.captures().into_iter();
        Self {
            path: file.shown,
            language: found.language().name(),
            start: place(found.start()),
            end: place(found.end()),
            byte_range: [found.range().start, found.range().end],
            text: found.text(),
            captures: captures.map(|it| (it.name, CaptureJson { text: it.text, nodes: it.nodes })).collect(),
        }
    }
}
