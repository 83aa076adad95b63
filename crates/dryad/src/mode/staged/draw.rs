//! One staged plan, drawn: for people in lines, with a real difference of every file; for programs as JSON.
//!
//! A command is shown as its preview has it, where known secrets are covered; the record holds it as it
//! will run.

use super::super::changes::{Content, LARGEST, Sides, from_tree, local_time, sizes, transition};
use super::Staged;
use crate::report::Failure;
use crate::terminal::{Style, harmless};
use dryad_effects::process::is_running;
use dryad_protocol::action::{ActionBody, PendingAction, Resolver};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use dryad_safety::pending::StageError;
use dryad_safety::plan::Contents;
use dryad_safety::preview::without_difference;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A staged plan, and everything needed to draw it.
pub(in crate::mode) struct Drawing<'a> {
    staged: &'a Staged,
    action: &'a PendingAction,
    /// What it would do to files, if that can be read.
    files: Option<Result<(ChangeSet, Contents), StageError>>,
    style: Style,
}

impl Staged {
    /// What a staged plan would do to files.
    ///
    /// # Errors
    ///
    /// When that is not what was staged.
    pub(super) fn files_of(&self, action: &PendingAction) -> Result<(ChangeSet, Contents), Failure> {
        self.pending()?.read_files(&action.id).map_err(|error| super::failure::from_stage(&error))
    }
}

impl<'a> Drawing<'a> {
    /// A drawing of one plan.
    pub(in crate::mode) fn new(staged: &'a Staged, action: &'a PendingAction, style: Style) -> Self {
        let files = match &action.body {
            ActionBody::Files { .. } => staged.pending.as_ref().map(|pending| pending.read_files(&action.id)),
            ActionBody::Command { .. } | ActionBody::Foreign { .. } | ActionBody::Callback { .. } => None,
        };
        Self { staged, action, files, style }
    }

    /// Who staged it, when, and who decides.
    pub(in crate::mode) fn head(&self) -> String {
        let action = self.action;
        let mut text = format!("{} {}\n", self.style.bold("pending   "), self.style.cyan(action.id.as_str()));
        let mut line = |name: &str, value: &str| writeln!(text, "{name:<11}{}", harmless(value)).ok();
        line("what", &action.label);
        line("when", &local_time(action.timestamp));
        line("session", action.session_id.as_ref().map_or("-", |id| id.as_str()));
        line("decides", who(action.resolver));
        if let Some(reason) = &action.reason {
            line("why", reason);
        }
        text
    }

    /// What it would do, in a few lines.
    pub(in crate::mode) fn summary(&self) -> String {
        let Some(Ok((changes, contents))) = &self.files else { return self.head() + &self.effect() };
        if let Some(facts) = self.rehearsal() {
            return self.head() + &facts;
        }
        let mut text = self.head() + "\n";
        for change in changes.iter() {
            let name = self.staged.memory.shown(&change.path);
            let what = match sides(change, contents).lines() {
                Some(lines) => lines.painted(self.style),
                None => sizes(&change.before, &change.after),
            };
            let became = transition(&change.before, &change.after).map(|what| format!("  {}", harmless(&what)));
            writeln!(text, "  {}  {what}{}", harmless(&name), became.unwrap_or_default()).ok();
        }
        text
    }

    /// All of what it would do.
    pub(in crate::mode) fn effect(&self) -> String {
        let preview = &self.action.preview;
        let told = || match preview.text.is_empty() {
            true => format!("\nwould touch {}\n", harmless(&preview.would_affect)),
            false => format!("\n{}\n", harmless(preview.text.trim_end())),
        };
        match (&self.action.body, &self.files) {
            (ActionBody::Files { .. }, Some(Ok((changes, contents)))) => {
                let one = |change: &Change| {
                    let name = self.staged.memory.shown(&change.path);
                    sides(change, contents).difference(&name, change, self.style)
                };
                let facts = self.rehearsal().unwrap_or_default();
                changes.iter().map(one).fold(facts, |text, difference| text + &difference)
            }
            (ActionBody::Files { .. }, Some(Err(error))) => format!("{}\ncannot be applied: {error}\n", told()),
            (ActionBody::Callback { process }, _) => {
                let lives = if is_running(*process) { "alone can apply it" } else { "would apply it, and is gone" };
                format!("{}process {process} {lives}\n", told())
            }
            (ActionBody::Files { .. } | ActionBody::Command { .. } | ActionBody::Foreign { .. }, _) => told(),
        }
    }

    /// What is known of the command whose rehearsal waits, besides the differences.
    fn rehearsal(&self) -> Option<String> {
        let preview = &self.action.preview;
        preview.estimated_impact.get("rung")?;
        Some(format!("\n{}\n", harmless(without_difference(&preview.text).trim_end())))
    }

    /// The plan for programs, with the differences of its files.
    pub(in crate::mode) fn json(&self) -> Value {
        let mut value = listed(self.action);
        match &self.files {
            Some(Ok((changes, contents))) => {
                value["changes"] = changes.iter().map(|change| sides(change, contents).json(change)).collect();
            }
            Some(Err(error)) => value["damaged"] = json!(error.to_string()),
            None => {}
        }
        value
    }
}

/// Both sides of a change, as far as they were kept.
fn sides(change: &Change, contents: &Contents) -> Sides {
    let content = |image: &Image| match image {
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => Content::None,
        Image::File(file) if file.size > LARGEST => Content::Bytes { size: file.size },
        Image::File(file) => {
            let here = contents.get(file.blob).map(|bytes| bytes.to_vec());
            let in_file = || contents.file(file.blob).and_then(|place| from_tree(&FilePath::new(place), file));
            let lost = || Content::Lost { size: file.size, why: "it was not kept".to_owned() };
            here.or_else(in_file).or_else(|| from_tree(&change.path, file)).map_or_else(lost, Content::of_bytes)
        }
    };
    Sides { before: content(&change.before), after: content(&change.after) }
}

/// A plan as a list tells it to programs: everything but what is carried out, which may hold secrets.
pub(in crate::mode) fn listed(action: &PendingAction) -> Value {
    let mut value = json!(action);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("body");
    }
    let (kind, process) = match &action.body {
        ActionBody::Files { .. } => ("files", None),
        ActionBody::Command { .. } => ("command", None),
        ActionBody::Foreign { .. } => ("foreign", None),
        ActionBody::Callback { process } => ("callback", Some(*process)),
    };
    value["kind"] = json!(kind);
    if let Some(process) = process {
        value["process"] = json!(process);
    }
    value
}

/// Who may decide.
pub(in crate::mode) fn who(resolver: Resolver) -> &'static str {
    match resolver {
        Resolver::Agent => "you or the agent",
        Resolver::User => "you alone",
    }
}

/// The label without the tool's name, which stands beside it.
pub(in crate::mode) fn plain_label(action: &PendingAction) -> String {
    let PendingAction { label, source_tool_name, .. } = action;
    let plain = label.strip_prefix(source_tool_name.as_str()).and_then(|rest| rest.strip_prefix(": "));
    harmless(&plain.unwrap_or(label).replace('\n', " ")).into_owned()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes the file that holds a content")]
mod tests {
    use super::*;
    use dryad_effects::fingerprint::image_at;

    #[test]
    fn a_text_that_was_left_in_its_file_is_drawn_as_a_text() {
        let root = tempfile::tempdir().unwrap();
        let kept = root.path().join("kept");
        std::fs::write(&kept, "new\n").unwrap();
        let after = image_at(&kept).unwrap();
        let mut contents = Contents::default();
        contents.lies_at(after.blob().unwrap(), kept);
        let change = Change { path: FilePath::new(root.path().join("a")), before: Image::Absent, after };
        assert_eq!(sides(&change, &contents).after, Content::Text("new\n".to_owned()));
    }
}
