//! How commands are rehearsed: where they may change files, what they get to see, which rungs are tried.
//!
//! The settings are the embedder's; the pipeline makes a request of them for each command. A pipeline without them
//! runs commands directly, and nothing can be said about what they change.

mod recover;

pub use dryad_protocol::one_line::one_line;
pub use recover::recover_commands;

pub use dryad_effects::rehearse::{
    Footing, Helper, Hold, Ladder, Limit, Network, NetworkAttempt, NotCarried, OutsideKind, OutsideWrite, Rehearsal,
    RehearsalError, RehearsalRequest, Rehearsed, Rung, Streams,
};

use crate::permission::is_proven_to_read;
use crate::spec::SafetyLevel;
use dryad_effects::landlock::{Floor, FloorError};
use dryad_effects::rehearse::ProbeRequest;
use dryad_protocol::command::CommandSpec;
use std::path::{Path, PathBuf};

/// Bytes that a command may write if nobody says otherwise: 4 GiB.
pub const USUAL_QUOTA: u64 = 4 << 30;

/// Processes and threads that a command may have at once.
const PROCESSES: u32 = 4096;

/// Places besides the home directory that commands expect to write to.
const EVERYBODYS: [&str; 2] = ["/tmp", "/var/tmp"];

/// How commands are rehearsed.
#[derive(Clone, Debug)]
pub struct RehearsalSettings {
    /// What changes below these directories becomes the change set.
    pub roots: Vec<PathBuf>,
    /// What changes below these is told and dropped. Everything else can only be read.
    pub watched: Vec<PathBuf>,
    /// Directories that shall seem empty.
    pub hidden: Vec<PathBuf>,
    /// Where, besides the roots, a command that really runs may delete files.
    pub deletable: Vec<PathBuf>,
    /// Where layers are kept.
    pub state: PathBuf,
    /// The file that remembers which rungs work.
    pub cache: Option<PathBuf>,
    /// Whether a command that needs no further permission may use the network.
    pub network: Network,
    /// Bytes that a command may write.
    pub quota: u64,
    /// The best rung to use.
    pub highest: Rung,
    /// The program that acts as the helper.
    pub helper: Helper,
}

/// How one command is rehearsed.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Whether it may use the network.
    pub network: Network,
    /// What its standard streams are.
    pub streams: Streams,
    /// The worst rung to accept: below a dry run the command really runs.
    pub lowest: Rung,
}

impl RehearsalSettings {
    /// The usual ones: state in the user's `home`, changes below `roots`, the best rung there is, the environment's
    /// switch respected.
    pub fn new(home: &Path, roots: Vec<PathBuf>) -> Self {
        let state = home.join("rehearsals");
        let own = std::env::home_dir().filter(|home| home.is_absolute() && home != Path::new("/"));
        Self {
            roots,
            watched: own.into_iter().chain(EVERYBODYS.map(PathBuf::from)).collect(),
            hidden: vec![home.to_owned()],
            deletable: Vec::new(),
            cache: Some(state.join("ladder.json")),
            state,
            network: Network::Allow,
            quota: USUAL_QUOTA,
            highest: Rung::from_environment(),
            helper: Helper::ThisProgram,
        }
    }

    /// What is asked of the hands for one command.
    pub fn request(&self, command: CommandSpec, manner: Manner) -> RehearsalRequest {
        let there = |path: &&PathBuf| path.is_dir();
        let roots: Vec<PathBuf> = self.roots.iter().filter(there).cloned().collect();
        RehearsalRequest {
            unlayered: self.unlayered(&roots, &command),
            command,
            roots,
            watched: self.watched.clone(),
            hidden: self.hidden.clone(),
            deletable: self.deletable.clone(),
            state: self.state.clone(),
            cache: self.cache.clone(),
            network: manner.network,
            streams: manner.streams,
            quota: self.quota,
            processes: PROCESSES,
            highest: self.highest,
            lowest: manner.lowest,
            helper: self.helper.clone(),
        }
    }

    /// The roots that need no layer, because the command is proven to only read. Where programs leave their temporary
    /// files, or what they remember, they may do so all the same.
    fn unlayered(&self, roots: &[PathBuf], command: &CommandSpec) -> Vec<PathBuf> {
        if !roots.first().is_some_and(|work| is_proven_to_read(command, work)) {
            return Vec::new();
        }
        let temporary = [std::env::temp_dir()];
        let kept = self.watched.iter().chain(&temporary).filter_map(|place| place.canonicalize().ok());
        let kept: Vec<PathBuf> = kept.collect();
        let real = roots.iter().filter_map(|root| root.canonicalize().ok());
        real.filter(|root| !kept.iter().any(|place| place.starts_with(root))).collect()
    }

    /// Which rungs work. Blocking; some milliseconds if nobody has tried before.
    pub fn ladder(&self) -> Ladder {
        Ladder::find(&self.probe())
    }

    /// Which rungs work, whatever was found before. Blocking, and leaves nothing behind but the state's directory.
    pub fn probe_ladder(&self) -> Ladder {
        Ladder::probe(&self.probe())
    }

    /// How safe commands are: by what is known of the ladder, else by the rung that is tried first. What is recorded
    /// of a command goes by the rung that it was really run on.
    pub fn foreseen_level(&self) -> SafetyLevel {
        level_of(Ladder::known(&self.probe()).map_or(self.highest, |ladder| ladder.best()))
    }

    fn probe(&self) -> ProbeRequest<'_> {
        ProbeRequest {
            helper: &self.helper,
            state: &self.state,
            root: self.roots.iter().find(|root| root.is_dir()).map_or(Path::new("/"), PathBuf::as_path),
            cache: self.cache.as_deref(),
            highest: self.highest,
        }
    }

    /// What keeps a command that runs directly from deleting files outside the roots.
    ///
    /// # Errors
    ///
    /// When the kernel cannot do that.
    pub fn floor(&self) -> Result<Floor, FloorError> {
        let there = |path: &&PathBuf| path.exists();
        let places: Vec<PathBuf> = self.roots.iter().chain(&self.deletable).filter(there).cloned().collect();
        Floor::new(&places)
    }

    /// What keeps a command from writing that is taken for one that only reads. Temporary files it may have, unless work is
    /// done among them.
    ///
    /// # Errors
    ///
    /// When the kernel cannot do that.
    pub fn floor_for_reading(&self) -> Result<Floor, FloorError> {
        let temporary = std::env::temp_dir();
        let is_work = |root: &PathBuf| *root != temporary && root.starts_with(&temporary);
        let scratch = (!self.roots.iter().any(is_work) && temporary.is_dir()).then_some(temporary.clone());
        Floor::for_reading(&Vec::from_iter(scratch))
    }
}

/// How safe a command is on a rung.
pub fn level_of(rung: Rung) -> SafetyLevel {
    match (rung.is_dry_run(), rung.can_undo()) {
        (true, _) => SafetyLevel::Previewable,
        (false, true) => SafetyLevel::Reversible,
        (false, false) => SafetyLevel::Unprotected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::path::FilePath;
    use std::collections::BTreeMap;
    use std::fs;

    /// Which of the roots get no layer for a command in the first of them.
    fn unlayered(settings: &RehearsalSettings, command: &str, cwd: &Path) -> Vec<PathBuf> {
        let (command, shell) = (command.to_owned(), "sh".to_owned());
        let spec = CommandSpec { command, cwd: FilePath::new(cwd), env: BTreeMap::new(), shell, timeout_seconds: 1 };
        let manner = Manner { network: Network::None, streams: Streams::Kept, lowest: Rung::Tmpfs };
        settings.request(spec, manner).unlayered
    }

    #[test]
    fn roots_that_are_only_read_need_no_layer() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (work, other, home) = (root.join("work"), root.join("other"), root.join("other/home"));
        [&work, &home].into_iter().for_each(|directory| fs::create_dir_all(directory).unwrap());
        let roots = vec![work.clone(), root.join("nowhere"), other.clone(), std::env::temp_dir()];
        let settings = RehearsalSettings::new(&root.join("state"), roots);
        let settings = RehearsalSettings { watched: vec![home], ..settings };
        for command in ["grep -r x . | wc -l", "git status --short >/dev/null", "ls; cat a b 2>/dev/null || true"] {
            // What holds a home or temporary files can be written to all the same.
            assert_eq!(unlayered(&settings, command, &work), std::slice::from_ref(&work), "{command}");
        }
        for command in ["sed -i s/a/b/ x", "grep -r x . > found", "git commit -m x", "cat a && ./script", "$it"] {
            assert_eq!(unlayered(&settings, command, &work), [] as [PathBuf; 0], "{command}");
        }
        assert_eq!(unlayered(&settings, "git status", &other), [] as [PathBuf; 0], "another repository is not trusted");
        assert_eq!(unlayered(&settings, "ls", &other), std::slice::from_ref(&work));
    }
}
