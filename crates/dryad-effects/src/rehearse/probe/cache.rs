//! What a probe found, kept for as long as nothing it depends on changes.
//!
//! The key holds everything that is known to matter: the boot, the kernel, the user, the two file systems, and the
//! switches by which an administrator allows or forbids namespaces.

use super::{Ladder, ProbeRequest, beside};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Changes when the probe tries something else, or the form of what it tells does.
const VERSION: u32 = 1;

/// So many file systems are remembered in a file.
const MOST: usize = 16;

/// What the result depends on besides the file systems.
const SWITCHES: [&str; 6] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
];

static KNOWN: Mutex<Option<HashMap<String, Ladder>>> = Mutex::new(None);

/// What this probe's result depends on.
pub(super) fn key(request: &ProbeRequest<'_>) -> String {
    let device = |path: &Path| path.ancestors().find_map(|above| Some(fs::metadata(above).ok()?.dev())).unwrap_or(0);
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut key = format!("{VERSION} {} {user}:{group}", request.highest);
    let program = request.helper.program();
    for path in [request.state, request.root] {
        write!(key, " {:x}", device(path)).ok();
    }
    write!(key, " {}", program.display()).ok();
    for switch in SWITCHES {
        write!(key, " {}", fs::read_to_string(switch).unwrap_or_default().trim()).ok();
    }
    key
}

pub(super) fn find(key: &str, file: Option<&Path>) -> Option<Ladder> {
    if let Some(ladder) = known().get_or_insert_default().get(key) {
        return Some(ladder.clone());
    }
    let ladder = read(file?).remove(key)?;
    known().get_or_insert_default().insert(key.to_owned(), ladder.clone());
    Some(ladder)
}

pub(super) fn keep(key: &str, ladder: &Ladder, file: Option<&Path>) {
    known().get_or_insert_default().insert(key.to_owned(), ladder.clone());
    let Some(file) = file else { return };
    let mut kept = read(file);
    if kept.len() >= MOST {
        kept.clear();
    }
    kept.insert(key.to_owned(), ladder.clone());
    write_whole(file, &kept);
}

pub(super) fn forget(key: &str, file: Option<&Path>) {
    known().get_or_insert_default().remove(key);
    if let Some(file) = file {
        let mut kept = read(file);
        if kept.remove(key).is_some() {
            write_whole(file, &kept);
        }
    }
}

/// What the file says; nothing if it cannot be read, for then it is as if nobody had probed.
fn read(file: &Path) -> BTreeMap<String, Ladder> {
    fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// A cache that cannot be written costs a probe, nothing else.
fn write_whole(file: &Path, kept: &BTreeMap<String, Ladder>) {
    let beside = beside(file);
    let written = serde_json::to_vec(kept).map_err(std::io::Error::from).and_then(|bytes| fs::write(&beside, bytes));
    if written.and_then(|()| fs::rename(&beside, file)).is_err() {
        fs::remove_file(&beside).ok();
    }
}

fn known() -> MutexGuard<'static, Option<HashMap<String, Ladder>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
