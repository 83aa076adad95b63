//! `dryad rewrite`: rewrites code that has the shape of a pattern.
//!
//! ```text
//! propose ─► show the difference ─► --apply, or a yes on the terminal ─► gate ─► Workspace::apply ─► one operation
//! ```
//!
//! What is written is the plan that was shown: a file that changed in between makes apply refuse everything.

use super::changes::{count, from_workspace, print_notices, unified};
use super::grep_ast::refused;
use crate::args::{RewriteArguments, SyntaxArguments};
use crate::home::Home;
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::{Style, harmless};
use dryad_ast::AstSettings;
use dryad_ast::ast_edit::{AstEditArguments, AstEditOperation, AstEditQuery, FileReplacements, Proposal, propose};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use dryad_protocol::operation::{OperationHead, Outcome};
use dryad_safety::clock::Clock;
use dryad_safety::gate::{GrantedRoots, Verdict};
use dryad_safety::plan::FilesEffect;
use dryad_safety::tool::PlanContext;
use dryad_safety::workspace::Workspace;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Works out the rewrite, shows it, and does it if that is wanted.
///
/// # Errors
///
/// When the arguments make no sense, or the change is refused.
pub(super) fn run(arguments: RewriteArguments) -> Result<Exit, Failure> {
    let workdir = options::workdir(arguments.place.cwd.as_deref())?;
    let (apply, json) = (arguments.apply, arguments.json);
    let roots = roots(&workdir, &arguments.scope);
    let query = query(arguments)?;
    let proposal = propose(&query, &AstSettings { max_files: None }, &PlanContext::new(&workdir));
    let mut proposal = proposal.map_err(|error| refused(&error))?;
    let Some(effect) = proposal.effect.take() else { return nothing(&proposal, json) };
    check_granted(&effect, roots)?;
    let view = View::of(&proposal, &effect);
    if !json {
        view.print(apply)?;
    }
    let is_wanted = apply || (!json && asked(&proposal)?);
    let operation = if is_wanted { Some(carry_out(&view, &workdir)?) } else { None };
    match (json, operation) {
        (true, operation) => output::print_json(&view.json(operation.as_deref()))?,
        (false, Some(_)) => {
            let line = format!("applied: {}, every path verified on disk", proposal.summary());
            output::print(&format!("{}\n", Style::of(&io::stdout()).green(&line)))?;
            output::note_on_terminal("`dryad undo` takes it back");
        }
        (false, None) => output::note(&format!("nothing was written: {}; --apply writes them", proposal.summary())),
    }
    Ok(Exit::Done)
}

/// What a person may rewrite: below the working directory, and what the command names itself.
fn roots(workdir: &Path, scope: &SyntaxArguments) -> Vec<PathBuf> {
    let named = scope.path.as_ref().map(|path| workdir.join(path));
    let named = named.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(workdir).to_owned() });
    std::iter::once(workdir.to_owned()).chain(named.filter(|path| path.exists())).collect()
}

fn query(arguments: RewriteArguments) -> Result<AstEditQuery, Failure> {
    let RewriteArguments { pattern, replacement, scope, limit, .. } = arguments;
    let checked = AstEditQuery::try_from(AstEditArguments {
        ops: vec![AstEditOperation { pat: pattern, out: replacement }],
        lang: scope.lang,
        path: scope.path,
        glob: scope.glob,
        sel: scope.selector,
        limit: None,
    });
    let checked = checked.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(AstEditQuery { limit, strictness: scope.strictness.into(), ..checked })
}

fn nothing(proposal: &Proposal, json: bool) -> Result<Exit, Failure> {
    if json {
        output::print_json(&proposal.details(false))?;
    } else {
        output::note(&harmless(&proposal.text()));
    }
    Ok(Exit::Failed)
}

/// Refuses a change that would leave the places where it may be made.
fn check_granted(effect: &FilesEffect, roots: Vec<PathBuf>) -> Result<(), Failure> {
    match GrantedRoots::new(roots).judge_changes(&effect.changes).unwrap_or_else(Verdict::Deny) {
        Verdict::Allow => Ok(()),
        Verdict::Ask(reason) | Verdict::Deny(reason) => Err(Failure::failed(reason).hint("Nothing was changed.")),
    }
}

/// Asks on the terminal; where there is none nobody says yes.
fn asked(proposal: &Proposal) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(false);
    }
    output::print(&format!("Apply {}? [y/N] ", proposal.summary()))?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::failed(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Applies the change and gives back the id of its operation.
fn carry_out(view: &View<'_>, workdir: &Path) -> Result<String, Failure> {
    let workspace = Workspace::around(Home::find(workdir)?.root(), workdir);
    let head = OperationHead {
        id: dryad_safety::oplog::new_id(),
        timestamp: Clock::System.now(),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "rewrite".to_owned(),
        label: format!("rewrite: {}", view.proposal.summary()),
        permission: "user".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    };
    let applied = workspace.apply(&head, &view.effect.changes, &view.effect.contents);
    print_notices(&workspace);
    applied.map_err(|error| from_workspace(&error))?;
    Ok(head.id.to_string())
}

/// A rewrite as people and programs see it.
struct View<'a> {
    proposal: &'a Proposal,
    effect: &'a FilesEffect,
    changes: HashMap<&'a Path, &'a Change>,
}

impl<'a> View<'a> {
    fn of(proposal: &'a Proposal, effect: &'a FilesEffect) -> Self {
        let changes = effect.changes.iter().map(|change| (change.path.as_path(), change)).collect();
        Self { proposal, effect, changes }
    }

    /// Prints the differences and what is wrong with single files. To a person all at once, through the
    /// pager if they are long and nothing is asked afterwards; else file by file.
    fn print(&self, apply: bool) -> Result<(), Failure> {
        let style = Style::of(&io::stdout());
        let is_paged = apply && io::stdout().is_terminal();
        let mut text = String::new();
        for (file, change) in self.changed() {
            let name = harmless(&file.shown).into_owned();
            writeln!(text, "{}", style.bold(&format!("--- a/{name}\n+++ b/{name}"))).ok();
            let (before, after) = self.sides(change);
            text.push_str(&unified(&before, &after, style));
            if !is_paged {
                output::print(&std::mem::take(&mut text))?;
            }
        }
        if is_paged {
            output::print_paged(&text)?;
        }
        for issue in self.proposal.issues() {
            output::note(&harmless(issue));
        }
        if let Some(limit) = self.proposal.limit_reached {
            output::note(&format!("stopped at {limit} replacements"));
        }
        Ok(())
    }

    fn json(&self, operation: Option<&str>) -> Value {
        let mut value = self.proposal.details(operation.is_some());
        let change = |(file, change): (&FileReplacements, &Change)| {
            let (before, after) = self.sides(change);
            json!({
                "path": file.shown,
                "lines": count(&before, &after),
                "diff": unified(&before, &after, Style::PLAIN),
            })
        };
        value["changes"] = self.changed().map(change).collect();
        if let Some(operation) = operation {
            value["operation"] = json!(operation);
        }
        value
    }

    /// The files with their changes.
    fn changed(&self) -> impl Iterator<Item = (&FileReplacements, &Change)> {
        self.proposal.files.iter().filter_map(|file| Some((file, *self.changes.get(file.path.as_path())?)))
    }

    /// The text before and after.
    fn sides(&self, change: &Change) -> (Cow<'_, str>, Cow<'_, str>) {
        let text = |image: &Image| {
            let bytes = image.blob().and_then(|blob| self.effect.contents.get(blob));
            bytes.map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default()
        };
        (text(&change.before), text(&change.after))
    }
}
