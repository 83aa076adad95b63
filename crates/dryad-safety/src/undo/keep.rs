//! Keeps what an undo hands out of the vault, so that the same can be brought back once more.
//!
//! What comes back is the kept content itself, moved. The user may write over it, and an undo of the same operation
//! would find nothing. Of a text the difference to what it took the place of is kept already, and that is in the vault
//! now; of all else a copy goes back into the vault once everything is done, so that a full disk stops no undo.
//!
//! Limitations: copies cost room and time, so that large contents and great numbers of them are kept only where the
//! file system lets two files share their blocks.

use super::foreseen::moves_content;
use dryad_effects::contents::Contents;
use dryad_effects::parallel::in_parts;
use dryad_effects::shared_blocks::can_share_blocks;
use dryad_effects::texts::Texts;
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;

/// Larger contents are not copied.
const LARGEST: u64 = 4 * 1024 * 1024;

/// So many bytes are copied for one undo.
const ALL: u64 = 64 * 1024 * 1024;

/// So many files are looked at for one undo.
const MOST: usize = 2000;

/// A content that is to stay in the vault, and the file that will have it.
pub(super) type Kept = (FilePath, BlobId);

/// What the changes of an undo hand out of the vault that could not be had again.
pub(super) fn handed_out(
    changes: &[Change],
    contents: &Contents,
    texts: &Texts,
    target: &OperationHead,
    (vault, home): (&Vault, &Path),
) -> Vec<Kept> {
    std::iter::once(&target.id).chain(&target.undoes).for_each(|operation| texts.load(operation));
    let is_rebuilt = |change: &Change, blob| change.before.blob().is_some_and(|other| texts.has(blob, other));
    let shares = OnceCell::new();
    let shares_blocks = |path: &Path| *shares.get_or_init(|| can_share_blocks(home)) && vault.is_beside(path);
    let (mut kept, mut known, mut copied) = (Vec::new(), HashSet::new(), 0);
    for change in changes.iter().filter(|change| moves_content(change)) {
        let Image::File(file) = &change.after else { continue };
        if contents.has(file.blob) || known.contains(&file.blob) || is_rebuilt(change, file.blob) {
            continue;
        }
        let is_small = file.size <= LARGEST && copied + file.size <= ALL;
        if is_small || shares_blocks(change.path.as_path()) {
            copied += if is_small { file.size } else { 0 };
            known.insert(file.blob);
            kept.push((change.path.clone(), file.blob));
        }
        if kept.len() == MOST {
            break;
        }
    }
    kept
}

/// Copies them into the vault. What fails there, or was written to already, is as lost as it was without.
pub(super) fn keep(kept: &[Kept], vault: &Vault) {
    let keep_part = |part: &[Kept]| {
        for (path, blob) in part {
            let is_left = vault.contains(*blob).unwrap_or(false);
            if !is_left && let Err(error) = vault.put_file(path.as_path(), *blob) {
                tracing::debug!(%path, %error, "what was brought back is not kept besides");
            }
        }
        Ok::<(), Infallible>(())
    };
    let Ok(_) = in_parts(kept, keep_part);
}
