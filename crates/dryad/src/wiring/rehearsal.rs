//! How commands are rehearsed, by the user's settings and the environment's switch.

use crate::home::Home;
use crate::settings::{NetworkUse, Settings};
use dryad_effects::landlock::Floor;
use dryad_safety::rehearsal::{Network, RehearsalSettings, Rung};
use std::path::{Path, PathBuf};

/// The environment variable that wins over the setting.
const SWITCH: &str = dryad_effects::rehearse::SWITCH;

/// How commands in `workdir` are rehearsed, with changes below `roots`.
pub(crate) fn rehearsal(settings: &Settings, home: &Home, workdir: &Path, roots: Vec<PathBuf>) -> RehearsalSettings {
    let usual = RehearsalSettings::new(home.root(), roots);
    let keys = &settings.rehearsal;
    let is_switched = std::env::var_os(SWITCH).is_some_and(|name| Rung::named(&name).is_some());
    RehearsalSettings {
        highest: if is_switched { usual.highest } else { keys.rung.unwrap_or(usual.highest) },
        network: network(keys.network),
        quota: keys.quota_bytes.unwrap_or(usual.quota),
        deletable: keys.deletable.iter().map(|place| workdir.join(place)).collect(),
        ..usual
    }
}

/// What keeps a command that the user runs directly from deleting files elsewhere; nothing where the kernel cannot.
pub(crate) fn floor(settings: &Settings, workdir: &Path) -> Option<Floor> {
    let granted = settings.roots.iter().chain(&settings.rehearsal.deletable).map(|place| workdir.join(place));
    let places: Vec<PathBuf> = [workdir.to_owned(), std::env::temp_dir()].into_iter().chain(granted).collect();
    Floor::new(&places.into_iter().filter(|place| place.exists()).collect::<Vec<_>>()).ok()
}

fn network(wanted: NetworkUse) -> Network {
    match wanted {
        NetworkUse::Allow => Network::Allow,
        NetworkUse::None => Network::None,
    }
}
