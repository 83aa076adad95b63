//! What dryad and the helper process say to each other: one line of JSON each.
//!
//! ```text
//! dryad ── Task (with up to two descriptors) ─► helper, which makes the namespaces
//! dryad ◄── Layer (tmpfs: with a descriptor) ── first process inside
//! dryad ◄── Failed | Ended ──────────────────── first process inside, or the helper
//! dryad ── one byte: stop ────────────────────► first process inside
//! ```

use super::permit::Permit;
use super::{RehearsalRequest, Streams};
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The byte that asks for the command's end. A closed channel asks for it at once.
pub(super) const STOP: u8 = b'S';

/// What the helper shall do.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) enum Task {
    /// Run a command in namespaces.
    Run {
        /// The place it runs in.
        stage: Stage,
        /// The command.
        play: Play,
        /// Whether a descriptor of layers in memory comes along that an earlier command filled.
        goes_on: bool,
    },
    /// Make the namespaces and find out whether layers behave; the first overlay's root is a tree for that.
    Probe(Stage),
    /// Run a command as it is, and save what it changes before it does.
    Journal {
        /// Where changes are expected.
        roots: Vec<FilePath>,
        /// Where else files may be deleted.
        deletable: Vec<FilePath>,
        /// The directory for what is saved, with the list of it.
        store: FilePath,
        /// Bytes that copies may take.
        room: u64,
        /// Where it is noted what is open for a moment.
        notes: Option<FilePath>,
        /// Whether it may use the network.
        network: bool,
        /// The command.
        play: Play,
    },
    /// Find out whether a process may watch the system calls of another.
    ProbeNotifier,
}

/// Namespaces and what is mounted in them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Stage {
    /// An empty directory that nobody else uses: the new root is mounted there for a moment.
    pub(super) mount_point: FilePath,
    /// Trees whose writes are kept apart; an outer one comes before those inside it.
    pub(super) overlays: Vec<Overlay>,
    /// Trees among these that are seen as they are, and can only be read.
    pub(super) unlayered: Vec<FilePath>,
    /// Directories that shall be empty inside.
    pub(super) hidden: Vec<FilePath>,
    /// Sockets that shall refuse everybody.
    pub(super) silenced: Vec<FilePath>,
    /// Files of the outside that keep their meaning inside, such as the socket of a key agent.
    pub(super) passed: Vec<FilePath>,
    /// Whether there is a network besides an own loopback.
    pub(super) network: bool,
    /// Bytes that all layers together may take.
    pub(super) quota: u64,
    /// Processes and threads at most.
    pub(super) processes: u32,
}

/// One tree whose writes are kept apart.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Overlay {
    /// The tree.
    pub(super) root: FilePath,
    /// The directory that holds `upper` and `work`; without one they are made in memory.
    pub(super) layer: Option<FilePath>,
    /// Whether nothing can be rehearsed without it.
    pub(super) needed: bool,
    /// What may be done to the names in its root.
    pub(super) permit: Permit,
}

/// What is run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Play {
    /// The program that interprets the command.
    pub(super) shell: String,
    /// The text handed to it after `-c`.
    pub(super) command: String,
    /// Where.
    pub(super) cwd: FilePath,
    /// Whether it keeps the terminal; its standard input comes along as a descriptor.
    pub(super) terminal: bool,
}

/// What comes back.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) enum Answer {
    /// The directory in memory that holds the layers, as a descriptor; overlay `n` has `n/upper` there.
    Layer,
    /// Nothing was run.
    Failed(Failure),
    /// It is over, and everybody inside is gone.
    Ended(Ended),
}

/// Why nothing was run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Failure {
    /// What was being done.
    pub(super) step: String,
    /// What the system said.
    pub(super) reason: String,
    /// Whether it was the command's own shell that did not start.
    pub(super) shell: bool,
}

/// How it ended.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Ended {
    /// The exit code; 128 + the signal's number when a signal ended it.
    pub(super) code: i32,
    /// The names of processes that were still there when the command was over.
    pub(super) left_running: Vec<String>,
    /// Where connections were tried to.
    pub(super) connects: Vec<Connect>,
    /// The bytes in the layers when they had become too many.
    pub(super) over_quota: Option<u64>,
    /// Trees that could only be read, and why.
    pub(super) read_only: Vec<(FilePath, String)>,
    /// What was written outside the roots, as far as it was seen.
    pub(super) written: Vec<Written>,
    /// Why directories could not be renamed and connections not be seen.
    pub(super) unwatched: Option<String>,
    /// Whether connections went unseen although other calls were watched.
    pub(super) deaf: bool,
}

/// Something written outside the roots.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Written {
    /// Where.
    pub(super) path: FilePath,
    /// Whether nothing stood there before.
    pub(super) created: bool,
}

/// Connections that a command tried.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Connect {
    /// `address:port`, or the path of a socket.
    pub(super) to: String,
    /// Whether it lies on the network rather than on this machine.
    pub(super) remote: bool,
    /// How often.
    pub(super) count: u64,
}

impl Task {
    /// Whether the command keeps the terminal.
    pub(super) fn has_terminal(&self) -> bool {
        match self {
            Self::Run { play, .. } | Self::Journal { play, .. } => play.terminal,
            Self::Probe(_) | Self::ProbeNotifier => false,
        }
    }

    /// Whether the layers in memory of an earlier command come along.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Self::Run { goes_on: true, .. })
    }
}

impl Stage {
    /// Whether what is written at a path goes to a layer.
    pub(super) fn has_layer_over(&self, path: &Path) -> bool {
        let is_below = |root: &FilePath| path.starts_with(root.as_path());
        self.overlays.iter().any(|overlay| is_below(&overlay.root)) && !self.unlayered.iter().any(is_below)
    }
}

impl Play {
    /// What a request wants to be run.
    pub(super) fn of(request: &RehearsalRequest) -> Self {
        let command = &request.command;
        Self {
            shell: command.shell.clone(),
            command: command.command.clone(),
            cwd: command.cwd.clone(),
            terminal: request.streams == Streams::Own,
        }
    }
}

impl Failure {
    /// A step of ours that failed.
    pub(super) fn of(step: impl Into<String>, reason: impl ToString) -> Self {
        Self { step: step.into(), reason: reason.to_string(), shell: false }
    }
}
