//! A work tree to rehearse in, with everything a rehearsal needs.

use dryad_effects::apply::{Applier, ApplyError, Request};
use dryad_effects::artifact::Artifacts;
use dryad_effects::bearings::Borne;
use dryad_effects::contents::Contents;
use dryad_effects::mask::Mask;
use dryad_effects::process::Surroundings;
use dryad_effects::record_file::RecordFile;
use dryad_effects::rehearse::{Helper, Network, Rehearsal, RehearsalError, RehearsalRequest, Rehearsed, Rung, Streams};
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::path::FilePath;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What a tree holds: path → kind, bits, and the length and hash of bytes or target.
pub(crate) type Print = BTreeMap<PathBuf, (char, u32, (usize, u64))>;

pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) cancel: CancellationToken,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// In memory where that can hold layers: many small files are made there in no time.
    pub(crate) fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        let attempt = || -> std::io::Result<()> {
            let file = tempfile::NamedTempFile::new_in(memory)?;
            let flags = rustix::fs::XattrFlags::empty();
            Ok(rustix::fs::setxattr(file.path(), "user.dryad", b"x", flags)?)
        };
        if attempt().is_ok() { Self::within(memory) } else { Self::new() }
    }

    pub(crate) fn within(parent: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("rehearse-").tempdir_in(parent).unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        Self { directory, cancel: CancellationToken::new() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    pub(crate) fn spec(&self, command: &str) -> CommandSpec {
        CommandSpec {
            command: command.to_owned(),
            cwd: FilePath::new(self.work()),
            env: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
            shell: "/bin/bash".to_owned(),
            timeout_seconds: 60,
        }
    }

    pub(crate) fn request(&self, command: &str) -> RehearsalRequest {
        RehearsalRequest {
            command: self.spec(command),
            roots: vec![self.work()],
            unlayered: Vec::new(),
            watched: Vec::new(),
            hidden: Vec::new(),
            deletable: Vec::new(),
            state: self.state(),
            cache: None,
            network: Network::Allow,
            streams: Streams::Kept,
            quota: 1 << 30,
            processes: 2048,
            highest: Rung::Overlay,
            lowest: Rung::Tmpfs,
            helper: Helper::At(helper()),
        }
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { mask: Mask::new([]), artifacts: Artifacts::new(self.root().join("artifacts")) }
    }

    pub(crate) async fn start(&self, request: &RehearsalRequest) -> Result<Rehearsed, RehearsalError> {
        Rehearsal::start(request, &self.surroundings(), &self.cancel, &|_| {}).await
    }

    pub(crate) async fn rehearse(&self, command: &str) -> Rehearsed {
        self.start(&self.request(command)).await.unwrap()
    }

    /// Runs a command without any of this.
    pub(crate) fn run_directly(&self, command: &str, work: &Path) -> (i32, String) {
        let output = std::process::Command::new("/bin/bash")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .env("LC_ALL", "C")
            .current_dir(work)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn vault(&self) -> Vault {
        Vault::open(self.root().join("vault")).unwrap()
    }

    /// Applies what was rehearsed.
    pub(crate) fn apply(&self, rehearsed: &Rehearsed) -> Result<(), ApplyError> {
        self.apply_changes(&rehearsed.changes, &rehearsed.gifts())
    }

    /// Takes back what was applied.
    pub(crate) fn undo(&self, rehearsed: &Rehearsed) -> Result<(), ApplyError> {
        self.apply_changes(&rehearsed.changes.inverse(), &Contents::default())
    }

    fn apply_changes(&self, changes: &ChangeSet, contents: &Contents) -> Result<(), ApplyError> {
        let log = self.root().join("log");
        let applier = Applier::new(self.root().join("journal"), log.clone(), self.vault());
        let borne = Borne::of(changes, contents);
        let request = Request { changes, contents, borne: &borne, record: "rehearsed" };
        applier.apply(&request, &mut |_| RecordFile::new(log.clone()).append(b"rehearsed\n").map(drop)).map(drop)
    }

    /// What the work tree holds.
    pub(crate) fn print(&self) -> Print {
        print_of(&self.work())
    }

    /// Whether the rehearsal left nothing in its state directory.
    pub(crate) fn state_is_empty(&self) -> bool {
        fs::read_dir(self.state()).is_ok_and(|mut entries| entries.next().is_none())
    }
}

/// When every file of a tree was modified.
pub(crate) fn times_of(root: &Path) -> BTreeMap<PathBuf, (i64, i64)> {
    let entries = fs::read_dir(root).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut times = BTreeMap::new();
    for path in entries {
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            times.extend(times_of(&path));
        } else if facts.is_file() {
            times.insert(path, (facts.mtime(), facts.mtime_nsec()));
        }
    }
    times
}

/// What a tree holds; its own bits under the empty path.
pub(crate) fn print_of(root: &Path) -> Print {
    let mut print = Print::new();
    let mut todo = vec![root.to_owned()];
    while let Some(path) = todo.pop() {
        let facts = fs::symlink_metadata(&path).unwrap();
        let kind = facts.file_type();
        let (mark, bytes) = if kind.is_dir() {
            let mode = facts.permissions().mode();
            let is_closed = mode & 0o500 != 0o500;
            if is_closed {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            }
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            ('d', Vec::new())
        } else if kind.is_symlink() {
            use std::os::unix::ffi::OsStrExt as _;
            ('l', fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
        } else if kind.is_file() {
            if facts.mode() & 0o400 == 0 {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
                let bytes = fs::read(&path).unwrap();
                fs::set_permissions(&path, facts.permissions()).unwrap();
                ('f', bytes)
            } else {
                ('f', fs::read(&path).unwrap())
            }
        } else {
            ('?', Vec::new())
        };
        let mode = if kind.is_symlink() { 0 } else { facts.mode() & 0o7777 };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        print.insert(path.strip_prefix(root).unwrap().to_owned(), (mark, mode, (bytes.len(), hasher.finish())));
    }
    restore_bits(root, &print);
    print
}

fn restore_bits(root: &Path, print: &Print) {
    for (path, (mark, mode, _)) in print.iter().rev() {
        if *mark == 'd' {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode)).unwrap();
        }
    }
}

/// Waits until `look` finds something.
pub(crate) async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(std::time::Instant::now() < deadline, "it never happened");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// The program that acts as the helper.
pub(crate) fn helper() -> PathBuf {
    std::env::var_os("DRYAD_TEST_HELPER")
        .map_or_else(|| env!("CARGO_BIN_EXE_dryad-rehearsal-helper").into(), PathBuf::from)
}

/// Says hello when it can be asked to end, and bye when it is. A child that has not become `sleep` yet would still hear
/// the request as the shell that it was, and sleep on. The child may hear it first, and waiting for it be over before
/// the shell hears anything.
pub(crate) const LAST_WORDS: &str = "trap 'echo bye; exit 0' TERM; sleep 600 & \
                                     until grep -q sleep /proc/$!/comm; do :; done; echo hello; \
                                     while :; do wait; done";

/// What a rehearsal tried to connect to: where, whether that is beyond this machine, how often.
pub(crate) fn attempts(rehearsed: &Rehearsed) -> Vec<(&str, bool, u64)> {
    let attempts = rehearsed.network_attempts.iter();
    attempts.map(|attempt| (attempt.to.as_str(), attempt.remote, attempt.count)).collect()
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// What differs between two trees, in words.
pub(crate) fn difference(left: &Print, right: &Print) -> String {
    let only = |a: &Print, b: &Print| {
        let facts = a.iter().filter(|(path, facts)| b.get(*path) != Some(facts));
        facts.map(|(path, (mark, mode, _))| format!("{} {mark} {mode:o}", path.display())).collect::<Vec<_>>()
    };
    format!("{:?} but {:?}", only(left, right), only(right, left))
}
