//! All replacements of a call as one plan, with the text that shows it.
//!
//! A plan names the files' contents before and after; of a large one they lie in a file, and not in memory
//! ([`ChangeBuilder`]). Of everything else it holds no more than its text shows.

use super::arguments::AstEditQuery;
use super::file::{FileRewrite, Replacement};
use super::report::{self, List};
use super::run::rewrite_each;
use crate::AstSettings;
use crate::issues::count;
use crate::totals::{Details, Totals};
use dryad_protocol::call::ToolResult;
use dryad_safety::plan::{self, FilesEffect, Plan};
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// A rewrite that is worked out and not done.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// How much it is.
    pub totals: Totals,
    /// The change itself; none when there is nothing to replace.
    pub effect: Option<FilesEffect>,
    /// The replacements, as far as they are shown.
    pub(super) list: String,
}

/// What is kept of a file.
struct Planned {
    shown: String,
    seen: Snapshot,
    after: String,
    count: usize,
    replacements: Vec<Replacement>,
}

/// Works out a rewrite.
///
/// # Errors
///
/// When the arguments lead nowhere, or replacements overlap.
pub fn propose(query: &AstEditQuery, settings: &AstSettings, context: &PlanContext) -> Result<Proposal, ToolError> {
    let (mut builder, mut list) = (ChangeBuilder::in_context(context), List::default());
    let totals = rewrite_each(query, settings, context, Planned::of, |planned| {
        list.file(&planned.shown, planned.count, &planned.replacements);
        builder.write(&planned.seen, planned.after.into_bytes());
        ControlFlow::Continue(())
    })?;
    let effect = (totals.count > 0).then(|| effect(builder, &totals));
    Ok(Proposal { totals, effect, list: list.finish() })
}

/// The change of files that a rewrite is.
fn effect(builder: ChangeBuilder, totals: &Totals) -> FilesEffect {
    let (changes, contents) = builder.finish();
    FilesEffect { changes, contents, result: report::applied(totals) }
}

/// `2 replacements in 1 file`.
pub fn summary(totals: &Totals) -> String {
    let replacements = count(totals.count, "replacement", "replacements");
    format!("{replacements} in {}", count(totals.file_count, "file", "files"))
}

impl Planned {
    fn of(file: FileRewrite) -> Self {
        let (after, count, replacements) = (file.after(), file.count(), file.replacements().collect());
        Self { shown: file.shown, seen: file.seen, after, count, replacements }
    }
}

impl Proposal {
    /// What it would do, in a few words.
    pub fn label(&self) -> String {
        format!("AST Edit: {}", summary(&self.totals))
    }

    /// The text that shows it before it is done.
    pub fn text(&self) -> String {
        report::text(&self.totals, &self.list)
    }

    /// The facts for programs.
    pub fn details(&self, applied: bool) -> Value {
        json!(Details::of_rewrite(&self.totals, applied).limited())
    }

    /// The plan: the change, to be looked at first, or the answer that there is none.
    pub fn into_plan(mut self) -> Plan {
        let preview = ToolResult::text(self.text()).with_details(self.details(false));
        match self.effect.take() {
            Some(files) => Plan::Propose(plan::Proposal { files, preview, label: self.label() }),
            None => Plan::Answer(preview),
        }
    }
}
