//! Both sides of one change, and what is drawn of them.

use super::content::Content;
use super::diff::{LineCount, count, unified};
use super::image::transition;
use crate::terminal::{Style, harmless};
use dryad_effects::bearings::Rebearing;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What stood at a path, and what stands there afterwards.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::mode) struct Sides {
    /// Before the change.
    pub(in crate::mode) before: Content,
    /// After it.
    pub(in crate::mode) after: Content,
}

impl Sides {
    /// One path under this name: what became of it, and the difference of its text.
    pub(in crate::mode) fn difference(&self, name: &str, change: &Change, style: Style) -> String {
        self.difference_with(name, change, None, style)
    }

    /// The same where owner, group or attributes may have been changed as well.
    pub(in crate::mode) fn difference_with(
        &self,
        name: &str,
        change: &Change,
        bearing: Option<&Rebearing>,
        style: Style,
    ) -> String {
        let name = harmless(name).into_owned();
        let mut text = format!("\n{}{}\n", style.bold(&name), became(change, bearing));
        match (&self.before, &self.after) {
            (Content::None, Content::None) => {}
            (Content::Lost { why, .. }, _) => drop(writeln!(text, "  not at hand before: {why}")),
            (_, Content::Lost { why, .. }) => drop(writeln!(text, "  not at hand after: {why}")),
            (before, after) => match (as_text(before), as_text(after)) {
                (Some(before), Some(after)) if before == after => {}
                (Some(before), Some(after)) => {
                    let side = |image: &Image, letter: &str| match image.blob() {
                        Some(_) => format!("{letter}/{}", name.trim_start_matches('/')),
                        None => "/dev/null".to_owned(),
                    };
                    writeln!(text, "--- {}\n+++ {}", side(&change.before, "a"), side(&change.after, "b")).ok();
                    text.push_str(&unified(before, after, style));
                }
                (None, _) | (_, None) => {
                    writeln!(text, "  not compared: {}", sizes(&change.before, &change.after)).ok();
                }
            },
        }
        text
    }

    /// How many lines differ, if both sides are texts at hand.
    pub(in crate::mode) fn lines(&self) -> Option<LineCount> {
        Some(count(as_text(&self.before)?, as_text(&self.after)?))
    }

    /// The change and its difference, for programs.
    pub(in crate::mode) fn json(&self, change: &Change) -> Value {
        let mut value = json!(change);
        if let (Some(before), Some(after)) = (as_text(&self.before), as_text(&self.after)) {
            value["lines"] = json!(count(before, after));
            value["diff"] = json!(unified(before, after, Style::PLAIN));
        }
        for (side, content) in [("beforeLost", &self.before), ("afterLost", &self.after)] {
            if let Content::Lost { why, .. } = content {
                value[side] = json!(why);
            }
        }
        value
    }
}

/// What became of a path apart from its text, behind its name.
pub(in crate::mode) fn became(change: &Change, bearing: Option<&Rebearing>) -> String {
    let parts = transition(&change.before, &change.after).into_iter().chain(bearing.map(ToString::to_string));
    let parts: Vec<String> = parts.map(|part| harmless(&part).into_owned()).collect();
    if parts.is_empty() { String::new() } else { format!("  {}", parts.join(", ")) }
}

/// A change of owner, group or attributes, for programs.
pub(in crate::mode) fn bearing_json(bearing: &Rebearing) -> Value {
    let mut value = json!({"attributes": bearing.attributes});
    if let Some((before, after)) = bearing.owners {
        let owner = |(user, group): (u32, u32)| json!({"user": user, "group": group});
        value["before"] = owner(before);
        value["after"] = owner(after);
    }
    value
}

/// How large both sides of a change are.
pub(in crate::mode) fn sizes(before: &Image, after: &Image) -> String {
    let size = |image: &Image| match image {
        Image::File(file) => format!("{} bytes", file.size),
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => "nothing".to_owned(),
    };
    format!("{} became {}", size(before), size(after))
}

/// The text that a difference is drawn of; where there is no file it is empty.
fn as_text(content: &Content) -> Option<&str> {
    match content {
        Content::None => Some(""),
        Content::Text(text) => Some(text),
        Content::Bytes { .. } | Content::Lost { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::image::{BlobId, FileImage};
    use dryad_protocol::path::FilePath;

    #[test]
    fn a_path_outside_the_workspace_is_named_as_patches_name_it() {
        let file = FileImage { blob: BlobId::from_hash([1; 32]), size: 4, mode: 0o644, modified: None };
        let change = Change { path: FilePath::new("/etc/x"), before: Image::Absent, after: Image::File(file) };
        let sides = Sides { before: Content::None, after: Content::Text("new\n".to_owned()) };
        let shown = sides.difference("/etc/x", &change, Style::PLAIN);
        assert!(shown.contains("--- /dev/null\n+++ b/etc/x\n"), "{shown}");
    }
}
