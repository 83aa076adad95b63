//! Where commands are run, plainly and in a rehearsal.

use dryad_effects::artifact::Artifacts;
use dryad_effects::mask::Mask;
use dryad_effects::process::{self, Surroundings};
use dryad_protocol::command::{CommandEnd, CommandSpec};
use dryad_protocol::path::FilePath;
use dryad_safety::rehearsal::{
    Manner, Network, Rehearsal, RehearsalRequest, RehearsalSettings, Rehearsed, Rung, Streams,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Mounts a layer over a tree and runs a command there.
const BARE: &str = r#"mount -t overlay overlay "$TREE" \
    -o "lowerdir=$TREE,upperdir=$LAYER/upper,workdir=$LAYER/work,volatile,userxattr" \
    && cd "$TREE" && eval "$COMMAND""#;

/// A directory with a work tree and a home.
pub(crate) struct Place {
    pub(crate) work: PathBuf,
    pub(crate) home: PathBuf,
    /// What stays for the next time.
    pub(crate) kept: PathBuf,
    pub(crate) settings: RehearsalSettings,
    surroundings: Surroundings,
}

impl Place {
    /// An empty one, but for what was kept.
    pub(crate) fn new(directory: &Path) -> Self {
        let (work, home, kept) = (directory.join("work"), directory.join("home"), directory.join("kept"));
        for place in [&work, &home] {
            if place.exists() {
                fs::remove_dir_all(place).unwrap();
            }
            fs::create_dir_all(place).unwrap();
        }
        fs::create_dir_all(&kept).unwrap();
        let settings = RehearsalSettings::new(&home, vec![work.clone()]);
        let surroundings = Surroundings { mask: Mask::default(), artifacts: Artifacts::new(home.join("artifacts")) };
        Self { work, home, kept, settings, surroundings }
    }

    /// A command in this directory, whose changes count.
    pub(crate) fn request(&self, command: &str, root: &Path) -> RehearsalRequest {
        let spec = CommandSpec {
            command: command.to_owned(),
            cwd: FilePath::new(root),
            env: BTreeMap::new(),
            shell: "/bin/bash".to_owned(),
            timeout_seconds: 600,
        };
        let manner = Manner { network: Network::Allow, streams: Streams::Kept, lowest: Rung::Tmpfs };
        let settings = RehearsalSettings { roots: vec![root.to_owned()], ..self.settings.clone() };
        settings.request(spec, manner)
    }

    /// Runs it plainly; the milliseconds.
    pub(crate) async fn plain(&self, request: &RehearsalRequest) -> f64 {
        let started = Instant::now();
        let outcome = process::run(&request.command, &self.surroundings, &CancellationToken::new(), &|_| {}).await;
        let elapsed = milliseconds(started);
        assert_eq!(outcome.unwrap().end, CommandEnd::Exited { code: 0 }, "{}", request.command.command);
        elapsed
    }

    /// Runs it in a layer with nothing around it; the milliseconds.
    pub(crate) async fn in_bare_layer(&self, request: &RehearsalRequest) -> f64 {
        let layer = self.home.join("layer");
        for part in ["upper", "work"] {
            fs::create_dir_all(layer.join(part)).unwrap();
        }
        let named = [("TREE", request.command.cwd.as_path()), ("LAYER", &layer)];
        let mut env: BTreeMap<_, _> =
            named.map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned())).into();
        env.insert("BARE".to_owned(), BARE.to_owned());
        env.insert("COMMAND".to_owned(), request.command.command.clone());
        let command = r#"unshare --user --map-root-user --mount bash -c "$BARE""#.to_owned();
        let spec = CommandSpec { command, env, ..request.command.clone() };
        let elapsed = self.plain(&RehearsalRequest { command: spec, ..request.clone() }).await;
        fs::remove_dir_all(layer).unwrap();
        elapsed
    }

    /// Rehearses it; the milliseconds until its changes are known, and what came of it.
    pub(crate) async fn rehearse(&self, request: &RehearsalRequest) -> (f64, Rehearsed) {
        let started = Instant::now();
        let rehearsed =
            Rehearsal::start(request, &self.surroundings, &CancellationToken::new(), &|_| {}).await.unwrap();
        let elapsed = milliseconds(started);
        assert_eq!(rehearsed.outcome.end, CommandEnd::Exited { code: 0 }, "{}", rehearsed.outcome.output.text);
        (elapsed, rehearsed)
    }
}

/// Since then.
pub(crate) fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// The value below which this share of them lies.
pub(crate) fn share(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a small index"
    )]
    let index = ((values.len() - 1) as f64 * share) as usize;
    values[index]
}
