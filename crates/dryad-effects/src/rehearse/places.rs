//! Puts a rehearsal in namespaces together: trees, layers, masks; runs it; reads what it left.

use super::capture::{self, Captured, Covered};
use super::layers::{Base, Claim, renew, sweep};
use super::message::{Ended, Overlay, Play, Stage, Task};
use super::permit::Permit;
use super::roots::{self, TooMany, Tree};
use super::run::{self, Performance, Summoned};
use super::{Limit, Network, RehearsalError, RehearsalRequest, Rehearsed, Rung, attempts, mounts, own};
use crate::permitted::require_entries;
use crate::process::Surroundings;
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Sockets through which a daemon could be made to do what the command cannot.
const CONTROL: [&str; 9] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/snapd.socket",
    "/run/libvirt/libvirt-sock",
    "/run/lxd.socket",
];

/// The same, in the directory each user has for such things.
const OWN_CONTROL: [&str; 4] = ["bus", "systemd/private", "podman/podman.sock", "docker.sock"];

/// Why a root has no layer.
const LEFT_OUT: &str = "mounts lie in it, beside too many directories";
const ONLY_READ: &str = "the command is proven to only read";

/// Where a rehearsal takes place, as long as its directories are there.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    trees: Vec<Tree>,
    unlayered: Vec<PathBuf>,
    split: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
    stage: Stage,
    begun: FileTime,
}

/// What was found in the layers, and what hindered the command.
type Seen = (Captured, Vec<Limit>);

/// Runs a command in namespaces and reads what it changed.
pub(super) async fn rehearse(
    request: &RehearsalRequest,
    rung: Rung,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<Rehearsed, RehearsalError> {
    if cancel.is_cancelled() {
        return Ok(Rehearsed::nothing(rung));
    }
    let helper = Summoned::new(request).map_err(RehearsalError::Helper)?;
    let (scene, claims) = build(request, rung)?;
    let performance = scene.play(request, helper, None, surroundings, cancel, on_update).await?;
    let Performance { outcome, mut ended, memory, curtain } = performance;
    let (connects, left_running) = (std::mem::take(&mut ended.connects), std::mem::take(&mut ended.left_running));
    let (seen, memory) = scene.clone().look(ended, memory).await?;
    drop(curtain);
    let (captured, limits) = seen;
    let Captured { changes, contents, bearings, outside_writes, not_carried, changed_meanwhile, .. } = captured;
    Ok(Rehearsed {
        outcome,
        changes,
        contents,
        bearings,
        borne: Vec::new(),
        outside_writes,
        not_carried,
        changed_meanwhile,
        network_attempts: attempts(connects),
        left_running,
        limits,
        rung,
        scene: Some(scene),
        _claims: claims,
        memory,
    })
}

impl Rehearsed {
    /// Whether another command can be run on top of this one.
    pub fn can_go_on(&self) -> bool {
        self.scene.as_ref().is_some_and(Scene::is_layered)
    }

    /// Runs another command where this one has left off. What both have changed is one change set afterwards; the
    /// outcome stays that of the first. Layers in memory are copied for it: both take room meanwhile.
    ///
    /// # Errors
    ///
    /// When it cannot be started; then everything is as before, unless what it changed cannot be read.
    pub async fn go_on(
        &mut self,
        request: &RehearsalRequest,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
        on_update: &(dyn Fn(String) + Send + Sync),
    ) -> Result<(), RehearsalError> {
        let Some(scene) = self.scene.clone().filter(Scene::is_layered) else {
            let reason = "it did not take place in layers".to_owned();
            return Err(RehearsalError::Refused { step: "go on with the rehearsal".to_owned(), reason });
        };
        let helper = Summoned::new(request).map_err(RehearsalError::Helper)?;
        scene.renew_work().map_err(RehearsalError::Layers)?;
        let performance = scene.play(request, helper, self.memory.as_ref(), surroundings, cancel, on_update).await?;
        let Performance { mut ended, memory, curtain, .. } = performance;
        self.network_attempts.extend(attempts(std::mem::take(&mut ended.connects)));
        self.left_running.extend(std::mem::take(&mut ended.left_running));
        let ((captured, limits), memory) = scene.look(ended, memory).await?;
        drop(curtain);
        self.memory = memory;
        (self.changes, self.contents, self.limits) = (captured.changes, captured.contents, limits);
        self.bearings = captured.bearings;
        self.outside_writes = captured.outside_writes;
        self.not_carried = captured.not_carried;
        self.changed_meanwhile = captured.changed_meanwhile;
        own::spare_in(self);
        Ok(())
    }
}

/// Makes the directories.
fn build(request: &RehearsalRequest, rung: Rung) -> Result<(Scene, Vec<Claim>), RehearsalError> {
    sweep(&request.state);
    let unlayered: Vec<PathBuf> = request.unlayered.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let is_layered =
        |root: &&PathBuf| root.canonicalize().is_ok_and(|root| !unlayered.iter().any(|bare| root.starts_with(bare)));
    let layered = |roots: &[PathBuf]| roots.iter().filter(is_layered).cloned().collect::<Vec<_>>();
    let plan = roots::plan(&layered(&request.roots), &layered(&request.watched)).map_err(unplanned)?;
    let layers = || -> io::Result<(Scene, Vec<Claim>)> {
        let mut claims = vec![Claim::new(&request.state, Base::Given)?];
        let mut overlays = Vec::new();
        for (index, tree) in plan.trees.iter().enumerate() {
            let facts = tree.root.metadata()?;
            let layer = match rung {
                Rung::Overlay => claim_for(&tree.root, &mut claims)
                    .map(|claim| claim.layer(index, &facts))
                    .transpose()?
                    .map(FilePath::new),
                Rung::Tmpfs | Rung::Journal | Rung::Snapshot | Rung::Direct => None,
            };
            // Elsewhere everything is dropped anyway.
            let permit = if tree.granted { Permit::of(&tree.root, &facts) } else { Permit::All };
            overlays.push(Overlay { root: FilePath::new(&tree.root), layer, needed: tree.granted, permit });
        }
        let hidden = hidden(request, &claims, &plan.trees, &unlayered);
        let mount_point = claims.first().map(Claim::mount_point).unwrap_or_default();
        let stage = Stage {
            mount_point: FilePath::new(&mount_point),
            overlays,
            unlayered: covered(&unlayered, &plan.trees),
            hidden,
            silenced: silenced(),
            passed: passed(request),
            network: request.network == Network::Allow,
            quota: request.quota,
            processes: request.processes,
        };
        // The file system's own clock says when what follows began.
        let facts = fs::metadata(&mount_point)?;
        let begun = u32::try_from(facts.ctime_nsec()).ok().and_then(|rest| FileTime::new(facts.ctime(), rest));
        let begun = begun.ok_or(io::ErrorKind::InvalidData)?;
        let (trees, split, left_out) = (plan.trees.clone(), plan.split.clone(), plan.left_out.clone());
        Ok((Scene { trees, unlayered: unlayered.clone(), split, left_out, stage, begun }, claims))
    };
    layers().map_err(RehearsalError::Layers)
}

/// Too many layers are a matter of this rung: the next one has its turn.
fn unplanned(error: io::Error) -> RehearsalError {
    match error.get_ref().filter(|inner| inner.is::<TooMany>()) {
        Some(reason) => RehearsalError::Refused { step: "lay layers".to_owned(), reason: reason.to_string() },
        None => RehearsalError::Roots(error),
    }
}

/// A claim whose directory may hold the layer over `root`: nothing can lie below its own layer. Without any, the
/// layer has to be in memory.
fn claim_for<'c>(root: &Path, claims: &'c mut Vec<Claim>) -> Option<&'c Claim> {
    let fits = |directory: &Path| {
        directory
            .canonicalize()
            .or_else(|_| directory.parent().unwrap_or(directory).canonicalize())
            .is_ok_and(|directory| !directory.starts_with(root))
    };
    if let Some(known) = claims.iter().position(|claim| fits(claim.directory())) {
        return claims.get(known);
    }
    let name = format!(".dryad-{}", rustix::process::geteuid().as_raw());
    let base = ["/var/tmp", "/tmp"].iter().map(|place| Path::new(place).join(&name)).find(|base| fits(base))?;
    sweep(&base);
    claims.push(Claim::new(&base, Base::Borrowed).ok()?);
    claims.last()
}

/// Those of these roots that the layer of a tree would cover.
fn covered(unlayered: &[PathBuf], trees: &[Tree]) -> Vec<FilePath> {
    let is_covered = |root: &&PathBuf| trees.iter().any(|tree| root.starts_with(&tree.root));
    unlayered.iter().filter(is_covered).map(FilePath::new).collect()
}

/// What shall seem empty: dryad's own, unless a tree lies in it.
fn hidden(request: &RehearsalRequest, claims: &[Claim], trees: &[Tree], unlayered: &[PathBuf]) -> Vec<FilePath> {
    let shown = || trees.iter().map(|tree| &tree.root).chain(unlayered);
    let bases = claims.iter().filter_map(|claim| claim.directory().parent().map(Path::to_owned));
    let mut hidden: Vec<PathBuf> = request
        .hidden
        .iter()
        .cloned()
        .chain(bases)
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.is_dir() && !shown().any(|root| root.starts_with(path)))
        .collect();
    hidden.sort();
    hidden.dedup();
    let inner: Vec<PathBuf> = hidden.clone();
    hidden.retain(|path| !inner.iter().any(|above| above != path && path.starts_with(above)));
    hidden.into_iter().map(FilePath::new).collect()
}

/// The control sockets there are.
fn silenced() -> Vec<FilePath> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let own = own.iter().flat_map(|place| OWN_CONTROL.iter().map(|name| place.join(name)));
    let is_socket = |path: &PathBuf| path.metadata().is_ok_and(|facts| facts.file_type().is_socket());
    let mut sockets: Vec<PathBuf> = CONTROL
        .iter()
        .map(PathBuf::from)
        .chain(own)
        .filter(is_socket)
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    sockets.sort();
    sockets.dedup();
    sockets.into_iter().map(FilePath::new).collect()
}

/// The key agent keeps answering whoever may use the network.
fn passed(request: &RehearsalRequest) -> Vec<FilePath> {
    let named = request.command.env.get("SSH_AUTH_SOCK").map(PathBuf::from);
    let agent = named.or_else(|| std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from));
    let agent = agent.filter(|_| request.network == Network::Allow).and_then(|path| path.canonicalize().ok());
    agent.into_iter().map(FilePath::new).collect()
}

impl Scene {
    /// Whether all that is granted can be written to.
    fn is_layered(&self) -> bool {
        self.unlayered.is_empty()
    }

    /// Runs the command of `request` here, on top of what an earlier one left in memory.
    async fn play(
        &self,
        request: &RehearsalRequest,
        helper: Summoned,
        earlier: Option<&OwnedFd>,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
        on_update: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Performance, RehearsalError> {
        let task = Task::Run { stage: self.stage.clone(), play: Play::of(request), goes_on: earlier.is_some() };
        let earlier = earlier.map(OwnedFd::as_fd);
        let performance =
            run::perform(helper, &task, earlier, &request.command, surroundings, cancel, on_update).await?;
        match performance.ended.over_quota {
            Some(held) => {
                let outcome = Box::new(performance.outcome);
                Err(RehearsalError::Quota { held, limit: request.quota, outcome })
            }
            None => Ok(performance),
        }
    }

    /// Gives every layer an empty work directory: a used one cannot be mounted again.
    fn renew_work(&self) -> io::Result<()> {
        for layer in self.stage.overlays.iter().filter_map(|overlay| overlay.layer.as_ref()) {
            renew(&layer.as_path().join("work"))?;
        }
        Ok(())
    }

    /// Reads the layers of a command that is over, on a thread where blocking is allowed.
    async fn look(self, ended: Ended, memory: Option<OwnedFd>) -> Result<(Seen, Option<OwnedFd>), RehearsalError> {
        tokio::task::spawn_blocking(move || {
            let seen = self.read(ended, memory.as_ref())?;
            Ok((seen, memory))
        })
        .await
        .map_err(|error| RehearsalError::Capture(io::Error::other(error)))?
    }

    fn read(self, ended: Ended, memory: Option<&OwnedFd>) -> Result<Seen, RehearsalError> {
        let read_only: Vec<&Path> = ended.read_only.iter().map(|(path, _)| path.as_path()).collect();
        let covered: Vec<Covered> = self
            .trees
            .iter()
            .zip(&self.stage.overlays)
            .enumerate()
            .filter(|(_, (tree, _))| !read_only.contains(&tree.root.as_path()))
            .map(|(index, (tree, overlay))| Covered {
                root: tree.root.clone(),
                upper: upper(index, overlay, memory),
                granted: tree.granted,
            })
            .collect();
        let captured = capture::capture(&covered, self.begun).map_err(RehearsalError::Capture)?;
        let foreign: Vec<Limit> =
            self.trees.iter().filter(|tree| tree.granted).filter_map(|tree| foreign_in(&tree.root)).collect();
        let split = self.split.into_iter().map(Limit::Split);
        let left_out = self.left_out.into_iter().map(|root| Limit::ReadOnly(root, LEFT_OUT.to_owned()));
        let unlayered = self.unlayered.into_iter().map(|root| Limit::ReadOnly(root, ONLY_READ.to_owned()));
        let read_only = ended.read_only.into_iter().map(|(path, why)| Limit::ReadOnly(path.as_path().to_owned(), why));
        let unseen = ended.unwatched.map(Limit::Unwatched).or(ended.deaf.then_some(Limit::Deaf));
        Ok((captured, split.chain(left_out).chain(unlayered).chain(read_only).chain(foreign).chain(unseen).collect()))
    }
}

/// An entry at the top of a tree that an ordinary user cannot change in a layer, because its owner or group have no
/// meaning there. Only the top is looked at: who keeps a tree with others mostly shows there.
fn foreign_in(root: &Path) -> Option<Limit> {
    // Where everybody may make files, such as among the temporary ones, others' are no surprise.
    let is_everybodys = root.metadata().is_ok_and(|facts| facts.mode() & 0o1002 == 0o1002);
    if is_everybodys || rustix::process::geteuid().is_root() {
        return None;
    }
    let entries = fs::read_dir(root).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_foreign = |path: &PathBuf| path.symlink_metadata().is_ok_and(|facts| roots::is_foreign(&facts));
    // The tree's own directory is one's own in a layer: what may be made in it outside may be made in it there.
    let itself = Some(root.to_owned()).filter(|root| require_entries(root).is_err());
    itself.into_iter().chain(entries).find(is_foreign).map(Limit::Foreign)
}

/// Where the layer of overlay `index` lies.
fn upper(index: usize, overlay: &Overlay, memory: Option<&OwnedFd>) -> PathBuf {
    let layer = match (&overlay.layer, memory) {
        (Some(layer), _) => layer.as_path().to_owned(),
        (None, memory) => {
            let base = memory.map(|memory| mounts::path_of(memory.as_fd())).unwrap_or_default();
            Path::new(&base).join(index.to_string())
        }
    };
    layer.join("upper")
}
