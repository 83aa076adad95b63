//! A real workspace and its reference, going through the same steps.

use super::judge::promised;
use super::step::{Step, Want, places};
use super::tree::{Node, Record, Saving, Tree, act, assert_like, difference, image, is_same, read};
use dryad_effects::aside::has_unfinished;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::undo::{Mode, PathReport, Report, Selection, UndoError, Verdict, redo, undo};
use dryad_safety::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What the reference remembers of an operation.
#[derive(Debug)]
struct Known {
    id: OperationId,
    tool: &'static str,
    undoes: Option<OperationId>,
    record: Record,
}

/// A workspace on disk and what must be in it.
pub(super) struct World {
    _home: TempDir,
    root: PathBuf,
    state: PathBuf,
    workspace: Workspace,
    pub(super) tree: Tree,
    log: Vec<Known>,
    /// Files whose bytes a person wrote.
    persons: BTreeSet<PathBuf>,
    /// How often each verdict was given.
    pub(super) verdicts: Tally,
}

/// How often each verdict was given.
pub(super) type Tally = BTreeMap<&'static str, usize>;

impl World {
    pub(super) fn new(beginning: &[(usize, Want)]) -> Self {
        let home = crate::fast_directory();
        let base = home.path().canonicalize().unwrap();
        let root = base.join("tree");
        std::fs::create_dir(&root).unwrap();
        let mut tree = Tree::new();
        beginning.iter().for_each(|(place, want)| want.apply(&mut tree, &places()[*place]));
        act(&root, &difference(&Tree::new(), &tree), Saving::Anew);
        let tree = read(&root);
        let workspace = Workspace::with_id(base.join("home"), "model");
        let state = base.join("home/workspaces/model");
        Self {
            _home: home,
            root,
            state,
            workspace,
            tree,
            log: Vec::new(),
            persons: BTreeSet::new(),
            verdicts: Tally::new(),
        }
    }

    pub(super) fn run(&mut self, step: &Step) {
        match step {
            Step::Dryad(wants) => self.dryad(wants),
            Step::Person(place, want, saving) => self.person(*place, want, *saving),
            Step::Undo(back) => self.undo_one(*back),
            Step::UndoLast(count) => drop(self.undo_last(*count)),
            Step::Redo(count) => drop(self.redo(*count)),
        }
    }

    /// One operation by dryad, as a tool would plan it.
    pub(super) fn dryad(&mut self, wants: &[(usize, Want)]) {
        let mut wanted = self.tree.clone();
        wants.iter().for_each(|(place, want)| want.apply(&mut wanted, &places()[*place]));
        let mut contents = Contents::default();
        let changes = difference(&self.tree, &wanted).into_iter().map(|(path, (before, after))| Change {
            before: if before.is_some() { image_at(&self.root.join(&path)).unwrap() } else { Image::Absent },
            path: FilePath::new(self.root.join(&path)),
            after: image(after.as_ref(), &mut contents),
        });
        let changes = ChangeSet::new(changes.collect::<Vec<_>>());
        let head = crate::new_head("Write");
        self.workspace.apply(&head, &changes, &contents).unwrap();
        let record = self.settle(&wanted, "after an operation");
        self.persons.retain(|path| !record.contains_key(path));
        self.log.push(Known { id: head.id, tool: "write", undoes: None, record });
    }

    fn person(&mut self, place: usize, want: &Want, saving: Saving) {
        let mut wanted = self.tree.clone();
        want.apply(&mut wanted, &places()[place]);
        act(&self.root, &difference(&self.tree, &wanted), saving);
        let record = self.settle(&wanted, "after a person's change");
        self.persons.extend(record.into_keys());
    }

    fn undo_one(&mut self, back: usize) {
        let Some(newest) = self.log.len().checked_sub(1) else { return };
        let index = newest - back % self.log.len();
        let id = self.log[index].id.clone();
        let selection = Selection::Ids(vec![id.as_str().to_owned()]);
        let result = self.twice(|mode| undo(&self.workspace, &selection, mode, &Clock::System));
        match (result, self.is_effective(index)) {
            (Ok(reports), true) => {
                let tool = if self.log[index].tool == "undo" { "redo" } else { "undo" };
                self.follow(&reports, &[index], tool);
            }
            (Err(UndoError::AlreadyUndone { id: refused, .. }), false) => {
                assert_eq!(refused, id);
                assert_like(&self.tree, &read(&self.root), "after a refused undo");
            }
            (result, counts) => panic!("undo of an operation that counts ({counts}): {result:?}"),
        }
    }

    /// Undoes the newest operations that count, and tells whether all of it went well.
    pub(super) fn undo_last(&mut self, count: usize) -> bool {
        let targets = self.newest(count, |known| known.tool == "write");
        let result = self.twice(|mode| undo(&self.workspace, &Selection::Last(count), mode, &Clock::System));
        self.follow_all(result, &targets, "undo")
    }

    pub(super) fn redo(&mut self, count: usize) -> bool {
        let targets = self.newest(count, |known| known.tool == "undo");
        let result = self.twice(|mode| redo(&self.workspace, count, mode, &Clock::System));
        self.follow_all(result, &targets, "redo")
    }

    /// First as a dry run, which must change nothing, and foretell what is then done, path by path.
    fn twice(&self, run: impl Fn(Mode) -> Result<Vec<Report>, UndoError>) -> Result<Vec<Report>, UndoError> {
        let verdicts = |result: &Result<Vec<Report>, UndoError>| -> Option<Vec<Vec<PathReport>>> {
            Some(result.as_ref().ok()?.iter().map(|report| report.paths.clone()).collect())
        };
        let foretold = verdicts(&run(Mode::DryRun));
        assert_like(&self.tree, &read(&self.root), "after a dry run");
        let result = run(Mode::Apply);
        assert_eq!(verdicts(&result), foretold, "what was done, and what was foretold");
        result
    }

    fn follow_all(&mut self, result: Result<Vec<Report>, UndoError>, targets: &[usize], tool: &'static str) -> bool {
        match result {
            Ok(reports) => self.follow(&reports, targets, tool),
            Err(UndoError::Nothing { .. }) if targets.is_empty() => false,
            Err(error) => panic!("{tool} failed: {error}"),
        }
    }

    /// Checks what was reported against the reference, and the disk against the report.
    fn follow(&mut self, reports: &[Report], targets: &[usize], tool: &'static str) -> bool {
        let told: Vec<&OperationId> = reports.iter().map(|report| &report.target.id).collect();
        let meant: Vec<&OperationId> = targets.iter().map(|index| &self.log[*index].id).collect();
        assert_eq!(told, meant, "{tool} of other operations than were meant");
        let before = self.tree.clone();
        for (report, index) in reports.iter().zip(targets) {
            let newer = self.log[*index + 1..].iter();
            let is_part = |known: &&Known| known.tool != "write" && known.undoes.is_none();
            let parts: Vec<&Record> = newer.filter(is_part).map(|known| &known.record).collect();
            let promised = promised(&self.tree, &self.log[*index].record, &parts, &report.paths, &self.root);
            self.assert_kept(report, *index, &promised);
            for told in &report.paths {
                *self.verdicts.entry(name(&told.verdict)).or_default() += 1;
            }
            let record = difference(&self.tree, &promised);
            self.persons.retain(|path| !record.contains_key(path));
            self.remember(report, *index, tool, record);
            self.tree = promised;
        }
        let found = read(&self.root);
        assert_like(&self.tree, &found, &format!("after {tool}, from {before:#?}, as told: {reports:#?}"));
        self.tree = found;
        reports.iter().all(Report::is_complete)
    }

    /// An undo that could not do everything takes nothing back; one that could do nothing is none.
    fn remember(&mut self, report: &Report, index: usize, tool: &'static str, record: Record) {
        let is_whole = !report.paths.iter().any(|told| matches!(told.verdict, Verdict::Cannot(_)));
        let undoes = is_whole.then(|| self.log[index].id.clone());
        match &report.operation {
            Some(id) => self.log.push(Known { id: id.clone(), tool, undoes, record }),
            None => assert!(!is_whole && record.is_empty(), "not recorded: {report:#?}"),
        }
    }

    /// Nothing that a person wrote goes, unless it is what dryad had written, or both are in it.
    fn assert_kept(&self, report: &Report, index: usize, promised: &Tree) {
        for path in &self.persons {
            let now = self.tree.get(path);
            if !matches!(now, Some(Node::File { .. })) || is_same(now, promised.get(path)) {
                continue;
            }
            let verdict = report.paths.iter().find(|told| told.path.as_path() == self.root.join(path));
            let is_merged = verdict.is_some_and(|told| told.verdict == Verdict::Merged);
            let wrote = self.log[index].record.get(path).and_then(|(_, after)| after.as_ref());
            assert!(is_merged || is_same(now, wrote), "{path:?}: what a person wrote is lost: {report:#?}");
        }
        let is_lost = |verdict: &Verdict| matches!(verdict, Verdict::Cannot(why) if why.contains("vault"));
        let lost = report.paths.iter().any(|told| is_lost(&told.verdict));
        assert!(!lost, "a before-image is lost: {report:#?}");
    }

    /// Fails unless the disk holds `wanted`, and takes it over; gives back what has changed.
    fn settle(&mut self, wanted: &Tree, when: &str) -> Record {
        let found = read(&self.root);
        assert_like(wanted, &found, when);
        let record = difference(&self.tree, &found);
        self.tree = found;
        record
    }

    fn is_effective(&self, index: usize) -> bool {
        let id = &self.log[index].id;
        let takes_back = |later: usize| self.log[later].undoes.as_ref() == Some(id) && self.is_effective(later);
        !(index + 1..self.log.len()).any(takes_back)
    }

    fn newest(&self, count: usize, wanted: impl Fn(&Known) -> bool) -> Vec<usize> {
        let fits = |index: &usize| wanted(&self.log[*index]) && self.is_effective(*index);
        (0..self.log.len()).rev().filter(fits).take(count).collect()
    }

    /// Looks at everything once more when it is over.
    pub(super) fn finish(&self) {
        let log = self.workspace.log().unwrap();
        let verification = log.verify(|_, _| {}).unwrap();
        assert_eq!(verification.first_damage, None);
        assert_eq!(verification.entries, self.log.len() as u64);
        let recorded: Vec<OperationId> = log.newest_first().map(|entry| entry.unwrap().head.id).collect();
        let known: Vec<OperationId> = self.log.iter().rev().map(|known| known.id.clone()).collect();
        assert_eq!(recorded, known);
        let problems = self.workspace.vault().unwrap().verify(&|_, _| {});
        assert!(problems.is_empty(), "{problems:?}");
        assert!(!has_unfinished(&self.state), "no change is left half-done");
        assert_eq!(strays(&self.root), Vec::<PathBuf>::new());
    }
}

/// What a finished change must not leave.
pub(super) fn strays(root: &Path) -> Vec<PathBuf> {
    read(root).into_keys().filter(|path| path.to_string_lossy().contains(".edit.tmp")).collect()
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Restored => "restored",
        Verdict::RestoredBut(_) => "restored but",
        Verdict::AlreadySo => "already so",
        Verdict::Merged => "merged",
        Verdict::KeptYours => "kept yours",
        Verdict::Conflict { ours_at: Some(_) } => "conflict with ours beside",
        Verdict::Conflict { ours_at: None } => "conflict",
        Verdict::Cannot(_) => "cannot",
    }
}
