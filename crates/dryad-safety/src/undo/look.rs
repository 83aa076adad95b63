//! Looks at everything that a change left, before it is judged path by path.
//!
//! Judging depends on what was judged before; looking does not, and is what takes the time. So it comes first, for
//! all paths, by several threads when there are many.

use super::foreseen::Foreseen;
use dryad_effects::fingerprint::{Sighting, see};
use dryad_effects::parallel::in_parts;
use dryad_effects::vault::{Exchanged, Vault};
use dryad_protocol::change_set::Change;
use std::convert::Infallible;
use std::io;

/// What was seen of one path of a change.
#[derive(Debug)]
pub(super) struct Look {
    /// What stands there; nothing where it is foreseen what would.
    pub(super) now: Option<io::Result<Sighting>>,
    /// Whether the vault has the content that stood there before the change, whole.
    pub(super) is_in_vault: bool,
}

/// Looks at every path of these changes.
pub(super) fn look(changes: &[&Change], foreseen: &Foreseen, vault: &Vault) -> Vec<Look> {
    let changes: Vec<_> = changes.iter().map(|change| (*change, foreseen.get(&change.path).is_some())).collect();
    let look_part = |part: &[(&Change, bool)]| {
        let mut exchanges = vault.exchanges();
        let looks = part.iter().map(|(change, is_foreseen)| match as_exchanged(change, &mut exchanges) {
            Some(now) if !is_foreseen => Look { now: Some(Ok(now)), is_in_vault: true },
            _ => Look {
                now: (!is_foreseen).then(|| see(change.path.as_path(), &change.after)),
                is_in_vault: is_in_vault(change, vault),
            },
        });
        Ok::<Vec<Look>, Infallible>(looks.collect())
    };
    let Ok(parts) = in_parts(&changes, look_part);
    parts.into_iter().flatten().collect()
}

/// What stands where an exchange left one file, if nobody has touched it or what it was exchanged for since.
fn as_exchanged(change: &Change, exchanges: &mut Exchanged<'_>) -> Option<Sighting> {
    let (before, after) = change.before.blob().zip(change.after.blob()).filter(|(before, after)| before != after)?;
    exchanges.find(change.path.as_path(), after, before)
}

/// Reads all of the content that a change has replaced: what is damaged is not there. Where a path has kept its
/// content nothing is read, since nothing is needed.
fn is_in_vault(change: &Change, vault: &Vault) -> bool {
    let replaced = change.before.blob().filter(|blob| change.after.blob() != Some(*blob));
    replaced.is_some_and(|blob| vault.has_whole(blob))
}
