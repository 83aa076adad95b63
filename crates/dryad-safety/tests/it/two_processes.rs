//! Two processes work in one tree at once, on shared paths and on their own, and undo what they did.
//!
//! Each child tells in a diary of its own what succeeded, as soon as it knows. Afterwards the log must have every told
//! operation once, and every child's own file must hold what the child wrote last.

use dryad_effects::aside::has_unfinished;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::undo::{Mode, Selection, UndoError, undo};
use dryad_safety::workspace::{Workspace, WorkspaceError};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the children work.
const WORK: Duration = Duration::from_secs(3);

const TASK: &str = "DRYAD_TEST_WORKER";
const BASE: &str = "DRYAD_TEST_BASE";

/// One child's view of the common tree.
struct Worker {
    name: String,
    tree: PathBuf,
    workspace: Workspace,
    diary: File,
    /// The state of a small generator of numbers.
    random: u64,
    /// Operations that can still be undone, and what the own file held before each of them.
    done: Vec<(String, Option<String>)>,
    count: usize,
}

impl Worker {
    fn new(base: &Path, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tree: base.join("tree"),
            workspace: workspace(base),
            diary: File::create(base.join(format!("diary-{name}"))).unwrap(),
            random: name.bytes().map(u64::from).sum::<u64>() | 1,
            done: Vec::new(),
            count: 0,
        }
    }

    fn work(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < WORK {
            match self.pick(4) {
                0 => self.undo(),
                1 => self.write_shared(),
                _ => self.write_own(),
            }
        }
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Writes the own file, and sometimes a shared one in the same operation.
    fn write_own(&mut self) {
        let own = self.tree.join(format!("own-{}", self.name));
        let before = fs::read_to_string(&own).ok();
        self.count += 1;
        let text = format!("{} wrote {}\n", self.name, self.count);
        self.tell(&format!("try {text}"));
        let mut paths = vec![own];
        if self.pick(3) == 0 {
            paths.push(self.shared());
        }
        if let Some(id) = self.write(&paths, &text) {
            self.tell(&format!("own {id} {text}"));
            self.done.push((id, before));
        }
    }

    fn write_shared(&mut self) {
        let shared = self.shared();
        self.count += 1;
        let text = format!("shared, {} wrote {}\n", self.name, self.count);
        if let Some(id) = self.write(&[shared], &text) {
            self.tell(&format!("shared {id} {text}"));
        }
    }

    fn shared(&mut self) -> PathBuf {
        let number = self.pick(3);
        self.tree.join(format!("shared-{number}"))
    }

    /// The id of the operation, or nothing if the other one was faster.
    fn write(&self, paths: &[PathBuf], text: &str) -> Option<String> {
        let mut contents = Contents::default();
        let change = |path: &PathBuf| {
            let blob = contents.insert(text.as_bytes());
            let after = Image::File(FileImage { blob, size: text.len() as u64, mode: 0o644, modified: None });
            Change { before: image_at(path).unwrap(), path: FilePath::new(path), after }
        };
        let changes = ChangeSet::new(paths.iter().map(change).collect::<Vec<_>>());
        let head = crate::new_head(&self.name);
        match self.workspace.apply(&head, &changes, &contents) {
            Ok(()) => Some(head.id.as_str().to_owned()),
            Err(WorkspaceError::Apply(dryad_effects::apply::ApplyError::Stale { .. })) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Undoes the newest own write.
    fn undo(&mut self) {
        let Some((id, before)) = self.done.pop() else { return };
        let back = before.unwrap_or_else(|| "nothing\n".to_owned());
        self.tell(&format!("try {back}"));
        let selection = Selection::Ids(vec![id.clone()]);
        for _ in 0..1000 {
            match undo(&self.workspace, &selection, Mode::Apply, &Clock::System) {
                Ok(reports) => {
                    let by = reports.first().and_then(|report| report.operation.clone()).unwrap();
                    self.tell(&format!("own {} {back}", by.as_str()));
                    return;
                }
                // The other one has written to a shared file between planning and applying.
                Err(UndoError::Workspace(WorkspaceError::Apply(dryad_effects::apply::ApplyError::Stale {
                    ..
                }))) => {}
                Err(error) => panic!("undo of {id}: {error}"),
            }
        }
        panic!("undo of {id} never found its moment");
    }

    /// One line at a time, so that a killed child leaves whole lines.
    fn tell(&mut self, line: &str) {
        self.diary.write_all(line.as_bytes()).unwrap();
    }
}

fn workspace(base: &Path) -> Workspace {
    Workspace::around(base.join("home"), base.join("tree"))
}

/// Works in a process of its own: not a test by itself, but what the tests start.
#[test]
fn child() {
    let Ok(name) = std::env::var(TASK) else { return };
    let base = PathBuf::from(std::env::var(BASE).unwrap());
    Worker::new(&base, &name).work();
}

fn start(base: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "two_processes::child", "--nocapture"])
        .env(TASK, name)
        .env(BASE, base)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child told.
struct Diary {
    /// Operations that succeeded.
    operations: Vec<String>,
    /// What the own file may hold: what was written last, and what was about to be written.
    own: Vec<String>,
}

fn diary(base: &Path, name: &str) -> Diary {
    let mut diary = Diary { operations: Vec::new(), own: vec!["nothing".to_owned()] };
    for line in fs::read_to_string(base.join(format!("diary-{name}"))).unwrap().lines() {
        match line.split_once(' ').unwrap() {
            ("try", text) => {
                diary.own.truncate(1);
                diary.own.push(text.to_owned());
            }
            ("own", rest) => {
                let (id, text) = rest.split_once(' ').unwrap();
                diary.operations.push(id.to_owned());
                diary.own = vec![text.to_owned()];
            }
            (_, rest) => diary.operations.push(rest.split_once(' ').unwrap().0.to_owned()),
        }
    }
    diary
}

/// Fails unless everything that was told is so.
fn assert_whole(base: &Path, killed: Option<&str>) {
    let workspace = workspace(base);
    workspace.recover().unwrap();
    let log = workspace.log().unwrap();
    assert_eq!(log.verify(|_, _| {}).unwrap().first_damage, None);
    let problems = workspace.vault().unwrap().verify(&|_, _| {});
    assert!(problems.is_empty(), "{problems:?}");
    let mut recorded: HashMap<String, usize> = HashMap::new();
    for entry in log.newest_first() {
        *recorded.entry(entry.unwrap().head.id.as_str().to_owned()).or_default() += 1;
    }
    let mut told = 0;
    for name in ["left", "right"] {
        let diary = diary(base, name);
        assert!(diary.operations.len() > 10, "{name} did only {} operations", diary.operations.len());
        told += diary.operations.len();
        for id in &diary.operations {
            assert_eq!(recorded.get(id), Some(&1), "operation {id} of {name} in the log");
        }
        let own = fs::read_to_string(base.join(format!("tree/own-{name}"))).unwrap_or_else(|_| "nothing\n".to_owned());
        let may_be = if killed == Some(name) { diary.own.as_slice() } else { diary.own.get(..1).unwrap() };
        assert!(may_be.iter().any(|text| *text == own.trim_end()), "{name}'s own file holds {own:?}, not {may_be:?}");
    }
    // A killed child may have died between success and telling, once.
    let untold = recorded.len() - told;
    assert!(untold <= usize::from(killed.is_some()), "{untold} operations that nobody told");
    assert_no_strays(base);
}

fn assert_no_strays(base: &Path) {
    for entry in fs::read_dir(base.join("tree")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_known = name == ".dryad" || name.starts_with("own-") || name.starts_with("shared-");
        assert!(is_known && !name.contains(".edit.tmp"), "{name} was left behind");
    }
    let states = fs::read_dir(base.join("home/workspaces")).unwrap();
    let journals = states.filter(|state| has_unfinished(&state.as_ref().unwrap().path())).count();
    assert_eq!(journals, 0);
}

fn base() -> tempfile::TempDir {
    let directory = crate::fast_directory();
    fs::create_dir(directory.path().join("tree")).unwrap();
    directory
}

#[test]
fn nothing_is_lost_between_two_processes() {
    let directory = base();
    let base = directory.path().canonicalize().unwrap();
    let mut children = ["left", "right"].map(|name| start(&base, name));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_whole(&base, None);
}

#[test]
fn one_goes_on_when_the_other_is_killed() {
    let directory = base();
    let base = directory.path().canonicalize().unwrap();
    let [mut left, mut right] = ["left", "right"].map(|name| start(&base, name));
    let told = || fs::read_to_string(base.join("diary-left")).map_or(0, |diary| diary.lines().count());
    let begun = Instant::now();
    while told() < 60 && begun.elapsed() < WORK {
        std::thread::yield_now();
    }
    left.kill().unwrap();
    assert!(!left.wait().unwrap().success(), "it was killed while it worked");
    assert!(right.wait().unwrap().success(), "the other one has finished its work");
    assert_whole(&base, Some("left"));
}
