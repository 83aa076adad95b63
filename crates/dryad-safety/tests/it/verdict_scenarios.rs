//! Runs the scenario folders in `tests/verdicts`: what dryad did, what the user did since, and what an undo makes
//! of it.
//!
//! ```text
//! merged_…/before/        the workspace at the start; absent = empty
//!          before.json    steps that make what version control cannot hold: links, empty directories
//!          agent.json     what dryad does: a list of operations, {"message": …, "session": …, "steps": […]}
//!          user.json      what the user does afterwards: a list of steps; absent = nothing
//!          undo.json      {"last": 2}, {"path": …}, {"message": …} or {"session": …}; absent = {"last": 1}
//!          verdicts.txt   what the undo says, operation by operation, path by path; the dry run says the same
//!          after/         the workspace after the undo; absent, with after.json, = the undo changed nothing
//!          after.json     steps as in before.json
//! ```
//!
//! A step is one of those in [`step`]. The n-th operation has the id `0000000n`. Trees are compared to the byte:
//! kinds, contents, modes, link targets, empty directories. After every undo comes a redo, which must bring back
//! what stood there before the undo, and then the same undo again, which must end as the first one did.
//! With `UPDATE_EXPECT=1` in the environment `verdicts.txt` is rewritten instead of compared.

mod images;
mod step;

use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::undo::{Mode, Report, Selection, UndoError, Verdict, redo, undo};
use dryad_safety::workspace::Workspace;
use dryad_testkit::workspace::{Tree, Workspace as Directory};
use images::Images;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use step::Step;

/// One change that dryad makes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentOperation {
    message: Option<String>,
    session: Option<String>,
    steps: Vec<Step>,
}

/// What is to be undone, as a scenario says it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Undo {
    Last(usize),
    Path(PathBuf),
    Message(String),
    Session(String),
}

struct Scenario {
    folder: PathBuf,
    directory: Directory,
    workspace: Workspace,
    selection: Selection,
}

#[test]
fn every_scenario_ends_as_its_folder_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts");
    let mut folders: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty(), "there are scenarios");
    let failures: Vec<String> = folders.iter().filter_map(|folder| run(folder).err()).collect();
    assert!(failures.is_empty(), "{} of {} failed\n\n{}", failures.len(), folders.len(), failures.join("\n\n"));
}

fn run(folder: &Path) -> Result<(), String> {
    let scenario = Scenario::prepare(folder);
    scenario.check().map_err(|why| format!("{}: {why}", folder.file_name().unwrap().display()))
}

impl Scenario {
    /// Dryad has acted, and the user after it.
    fn prepare(folder: &Path) -> Self {
        let directory = tree(folder, "before").unwrap_or_else(|| Directory::new(&Tree::default()).unwrap());
        let root = directory.path();
        let workspace = Workspace::with_id(root.with_file_name("home"), "scenario");
        let operations: Vec<AgentOperation> = json(folder, "agent.json").expect("dryad does something");
        for (index, operation) in operations.into_iter().enumerate() {
            let (changes, contents) = images::changes_by(root, &operation.steps);
            workspace.apply(&operation.head(index + 1), &changes, &contents).unwrap();
        }
        json(folder, "user.json").unwrap_or_else(Vec::<Step>::new).iter().for_each(|step| step.take(root));
        let selection = match json(folder, "undo.json").unwrap_or(Undo::Last(1)) {
            Undo::Last(count) => Selection::Last(count),
            Undo::Path(path) => Selection::Path(FilePath::new(root.join(path))),
            Undo::Message(id) => Selection::Message(id),
            Undo::Session(id) => Selection::Session(id),
        };
        Self { folder: folder.to_owned(), directory, workspace, selection }
    }

    fn check(&self) -> Result<(), String> {
        let before = self.images();
        let after = tree(&self.folder, "after").map_or_else(|| before.clone(), |tree| Images::of(tree.path()));
        let foretold = self.told(&self.undo(Mode::DryRun));
        self.images().check("after the dry run", &before)?;
        let undone = self.undo(Mode::Apply);
        let told = self.told(&undone);
        same("what the dry run had said", &foretold, &told)?;
        self.check_verdicts(&told)?;
        self.images().check("after the undo", &after)?;
        self.redo(&undone)?;
        self.images().check("after the redo", &before)?;
        same("what the undo after the redo said", &self.told(&self.undo(Mode::Apply)), &told)?;
        self.images().check("after the undo that followed the redo", &after)
    }

    fn undo(&self, mode: Mode) -> Vec<Report> {
        undo(&self.workspace, &self.selection, mode, &Clock::System).unwrap()
    }

    fn redo(&self, undone: &[Report]) -> Result<(), String> {
        let count = undone.iter().filter(|report| report.operation.is_some()).count();
        match redo(&self.workspace, count.max(1), Mode::Apply, &Clock::System) {
            Err(UndoError::Nothing { .. }) if count == 0 => Ok(()),
            Ok(reports) if reports.len() == count && reports.iter().all(Report::is_complete) => Ok(()),
            other => Err(format!("the redo of {count} undos came to {other:?}")),
        }
    }

    fn images(&self) -> Images {
        Images::of(self.directory.path())
    }

    fn check_verdicts(&self, told: &str) -> Result<(), String> {
        let path = self.folder.join("verdicts.txt");
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            fs::write(&path, told).unwrap();
        }
        same("verdicts.txt", &fs::read_to_string(path).map_err(|error| format!("verdicts.txt: {error}"))?, told)
    }

    /// Reports as people read them.
    fn told(&self, reports: &[Report]) -> String {
        let mut text = String::new();
        for report in reports {
            let ending = if report.is_complete() { "taken back" } else { "not taken back altogether" };
            writeln!(text, "operation {}: {ending}", report.target.id).unwrap();
            for path in &report.paths {
                writeln!(text, "  {}: {}", self.short(&path.path), self.in_words(&path.verdict)).unwrap();
            }
        }
        text
    }

    fn in_words(&self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Restored => "restored".to_owned(),
            Verdict::RestoredBut(why) => format!("restored, but ({why})"),
            Verdict::AlreadySo => "already so".to_owned(),
            Verdict::Merged => "merged".to_owned(),
            Verdict::KeptYours => "kept yours (nothing of it is left to take back)".to_owned(),
            Verdict::Conflict { ours_at: Some(place) } => {
                format!("conflict (kept yours, ours at {})", self.short(place))
            }
            Verdict::Conflict { ours_at: None } => "conflict (kept yours)".to_owned(),
            Verdict::Cannot(why) => format!("cannot ({why})"),
        }
    }

    fn short(&self, path: &FilePath) -> String {
        path.as_path().strip_prefix(self.directory.path()).unwrap().display().to_string()
    }
}

impl AgentOperation {
    fn head(&self, number: usize) -> OperationHead {
        OperationHead {
            id: format!("{number:08}").into(),
            message_id: self.message.clone(),
            session_id: self.session.as_deref().map(Into::into),
            ..crate::new_head("Scenario")
        }
    }
}

/// The tree that a scenario calls by this name; nothing if it has none.
fn tree(folder: &Path, name: &str) -> Option<Directory> {
    let (files, steps) = (folder.join(name), json::<Vec<Step>>(folder, &format!("{name}.json")));
    if !files.exists() && steps.is_none() {
        return None;
    }
    let tree = if files.exists() { Tree::read(&files).unwrap().with_plain_modes() } else { Tree::default() };
    let directory = Directory::new(&tree).unwrap();
    steps.unwrap_or_default().iter().for_each(|step| step.take(directory.path()));
    Some(directory)
}

/// What a file of a scenario says; nothing if it is not there.
fn json<T: DeserializeOwned>(folder: &Path, name: &str) -> Option<T> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}/{name}: {error}", folder.display())))
}

fn same(what: &str, expected: &str, found: &str) -> Result<(), String> {
    let differs = || format!("{what} differs\n--- expected\n{expected}\n--- found\n{found}---");
    if expected == found { Ok(()) } else { Err(differs()) }
}
