//! `dryad rewrite`: rewrites code that has the shape of a pattern.
//!
//! ```text
//! each file, on any thread: rewrite, gate, difference ─► in the order of the files: show it, and put it into the plan
//!     ─► --apply, or a yes on the terminal ─► Workspace::apply ─► one operation
//! ```
//!
//! What is written is the plan that was shown: a file that changed in between makes apply refuse everything. The
//! contents of a large plan lie in a file meanwhile. Where nobody can say yes there is no plan, and nothing is kept of
//! a file once its difference is printed.

mod show;

use super::changes::{from_workspace, print_notices};
use super::grep_ast::refused;
use crate::args::{RewriteArguments, SyntaxArguments};
use crate::home::Home;
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::Style;
use dryad_ast::ast_edit::{AstEditArguments, AstEditOperation, AstEditQuery, FileRewrite, rewrite_each, summary};
use dryad_ast::{AstSettings, Totals};
use dryad_protocol::path::FilePath;
use dryad_safety::gate::{GrantedRoots, Verdict};
use dryad_safety::oplog::users_own;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::tool::PlanContext;
use dryad_safety::workspace::Workspace;
use show::{Form, Printer};
use std::io::{self, BufRead as _, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Works out the rewrite, shows it, and does it if that is wanted.
///
/// # Errors
///
/// When the arguments make no sense, or the change is refused.
pub(super) fn run(arguments: RewriteArguments) -> Result<Exit, Failure> {
    let workdir = options::workdir(arguments.place.cwd.as_deref())?;
    let (apply, json) = (arguments.apply, arguments.json);
    let can_ask = !json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let granted = GrantedRoots::new(roots(&workdir, &arguments.scope));
    let form = if json { Form::Json } else { Form::Difference(Style::of(&io::stdout())) };
    let mut printer = Printer::new(form, apply);
    let worked_out = work_out(arguments, &workdir, &granted, form, apply || can_ask, &mut printer);
    let (totals, builder) = match worked_out {
        Ok(worked_out) => worked_out,
        Err(failure) => return printer.give_up().and(Err(failure)),
    };
    if !apply && !can_ask && printer.is_over() {
        return printer.give_up().map(|()| Exit::Done);
    }
    if totals.count == 0 {
        printer.nothing(&totals)?;
        return Ok(Exit::Failed);
    }
    printer.end_of_files(&totals)?;
    let operation = if apply || (can_ask && is_wanted(&totals)?) {
        match carry_out(builder, &totals, &workdir) {
            Ok(operation) => Some(operation),
            Err(failure) => return printer.give_up().and(Err(failure)),
        }
    } else {
        None
    };
    printer.finish(&totals, operation.as_deref())?;
    Ok(Exit::Done)
}

/// Shows file by file; the plan holds them if it is to be kept.
fn work_out(
    arguments: RewriteArguments,
    workdir: &Path,
    granted: &GrantedRoots,
    form: Form,
    is_kept: bool,
    printer: &mut Printer,
) -> Result<(Totals, ChangeBuilder), Failure> {
    let query = query(arguments)?;
    let mut context = PlanContext::new(workdir);
    context.scratch = Home::find(workdir).ok().map(|home| home.root().to_owned());
    let (mut builder, mut refusal) = (ChangeBuilder::in_context(&context), None);
    let look = |file: FileRewrite| -> Result<Looked, Failure> {
        check_granted(&file.seen, granted)?;
        let after = file.after();
        let text = form.render(&file, &after);
        Ok(Looked { text, kept: is_kept.then_some((file.seen, after)) })
    };
    let take = |looked: Result<Looked, Failure>| match looked {
        Ok(Looked { text, kept: None }) => printer.add(&text),
        Ok(Looked { text, kept: Some((seen, after)) }) => {
            builder.write(&seen, after.into_bytes());
            // Who does not read on may still want it done.
            match printer.add(&text) {
                ControlFlow::Continue(()) | ControlFlow::Break(()) => ControlFlow::Continue(()),
            }
        }
        Err(failure) => {
            refusal = Some(failure);
            ControlFlow::Break(())
        }
    };
    let totals = rewrite_each(&query, &AstSettings { max_files: None }, &context, look, take);
    let totals = totals.map_err(|error| refused(&error))?;
    refusal.map_or(Ok((totals, builder)), Err)
}

/// What is made of a file.
struct Looked {
    text: String,
    /// The file as it was seen, and as it would be.
    kept: Option<(Snapshot, String)>,
}

/// What a person may rewrite: below the working directory, and what the command names itself.
fn roots(workdir: &Path, scope: &SyntaxArguments) -> Vec<PathBuf> {
    let named = scope.path.as_ref().map(|path| workdir.join(path));
    let named = named.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(workdir).to_owned() });
    std::iter::once(workdir.to_owned()).chain(named.filter(|path| path.exists())).collect()
}

fn query(arguments: RewriteArguments) -> Result<AstEditQuery, Failure> {
    let RewriteArguments { pattern, replacement, scope, limit, .. } = arguments;
    let strictness = scope.strictness.into();
    let checked = AstEditQuery::try_from(AstEditArguments {
        ops: vec![AstEditOperation { pat: pattern, out: replacement }],
        lang: scope.lang,
        path: scope.path,
        glob: scope.glob,
        sel: scope.selector,
        limit: None,
    });
    let mut query = checked.map_err(|error| Failure::usage(error.to_string()))?;
    (query.limit, query.target.strictness) = (limit, strictness);
    Ok(query)
}

/// Refuses a change that would leave the places where it may be made.
fn check_granted(seen: &Snapshot, granted: &GrantedRoots) -> Result<(), Failure> {
    match granted.judge_path(&FilePath::new(&seen.path)).unwrap_or_else(Verdict::Deny) {
        Verdict::Allow => Ok(()),
        Verdict::Ask(reason) | Verdict::Deny(reason) => Err(Failure::failed(reason).hint("Nothing was changed.")),
    }
}

/// Asks on the terminal.
fn is_wanted(totals: &Totals) -> Result<bool, Failure> {
    output::print(&format!("Apply {}? [y/N] ", summary(totals)))?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::failed(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Applies the change and gives back the id of its operation.
fn carry_out(builder: ChangeBuilder, totals: &Totals, workdir: &Path) -> Result<String, Failure> {
    let workspace = Workspace::around(Home::find(workdir)?.root(), workdir);
    let head = users_own("rewrite", format!("rewrite: {}", summary(totals)));
    let (changes, contents) = builder.finish();
    let applied = workspace.apply(&head, &changes, &contents);
    print_notices(&workspace);
    applied.map_err(|error| from_workspace(&error))?;
    Ok(head.id.to_string())
}
