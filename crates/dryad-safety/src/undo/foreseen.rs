//! What a dry run of several undos would have left by now: nothing of it is on the disk.
//!
//! The next step of the dry run is planned against it exactly as it would be planned against the disk. So it
//! also knows what would have come into the vault and gone from it, and which texts would have been kept.

use super::plan::UndoPlan;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::blob_id;
use dryad_effects::texts::{Pack, Texts};
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// What would be there by now. Empty when things are done and not only told.
#[derive(Debug, Default)]
pub(super) struct Foreseen {
    images: HashMap<FilePath, Image>,
    /// Paths that would not hold any more what they hold.
    replaced: HashSet<FilePath>,
    contents: Vec<Contents>,
    packs: Vec<Rc<Pack>>,
    moves: HashMap<BlobId, Moves>,
}

/// How often a content would have come into the vault, and gone from it.
#[derive(Debug, Default)]
struct Moves {
    came: usize,
    went: usize,
    /// A file that has it, as long as nothing is done.
    lies_at: Option<FilePath>,
}

impl Foreseen {
    /// Whether nothing is foreseen: everything is as it is.
    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// What would stand at a path, if it would have been touched.
    pub(super) fn get(&self, path: &FilePath) -> Option<&Image> {
        self.images.get(path)
    }

    /// Where it is noted what would be borne at a path, if that would have been changed.
    pub(super) fn bearing(&self, path: &FilePath) -> Option<&Contents> {
        self.contents.iter().rev().find(|contents| contents.has_bearing(path))
    }

    /// Whether something would stand at a path.
    pub(super) fn is_taken(&self, path: &Path) -> bool {
        match self.get(&FilePath::new(path)) {
            Some(image) => !matches!(image, Image::Absent),
            None => path.symlink_metadata().is_ok(),
        }
    }

    /// The paths directly below a directory where something would have come.
    pub(super) fn comers<'f>(&'f self, directory: &'f Path) -> impl Iterator<Item = &'f Path> {
        let stands = self.images.iter().filter(|(_, image)| !matches!(image, Image::Absent));
        stands.map(|(path, _)| path.as_path()).filter(move |path| path.parent() == Some(directory))
    }

    /// Takes a plan for done.
    pub(super) fn add(&mut self, plan: UndoPlan) {
        self.packs.push(Rc::new(Pack::of(&plan.changes, &plan.contents)));
        for change in plan.changes.iter().filter(|change| moves_content(change)) {
            let (goes, comes) = (change.before.blob(), change.after.blob());
            if let Some(blob) = comes.filter(|blob| !plan.contents.has(*blob)) {
                self.moves.entry(blob).or_default().went += 1;
            }
            if let Some(blob) = goes {
                let is_untouched = !self.replaced.contains(&change.path);
                let moves = self.moves.entry(blob).or_default();
                moves.came += 1;
                moves.lies_at = moves.lies_at.take().or_else(|| is_untouched.then(|| change.path.clone()));
            }
            self.replaced.insert(change.path.clone());
        }
        for (_, blob) in &plan.kept {
            self.moves.entry(*blob).or_default().came += 1;
        }
        for change in plan.changes.iter() {
            self.images.insert(change.path.clone(), after(change));
        }
        self.contents.push(plan.contents);
    }

    /// Has texts looked up in what would have been kept, too.
    pub(super) fn add_to(&self, texts: &mut Texts) {
        self.packs.iter().for_each(|pack| texts.foresee(Rc::clone(pack)));
    }

    /// Whether the vault would have this content.
    pub(super) fn is_kept(&self, blob: BlobId, vault: &Vault) -> bool {
        match self.moves.get(&blob) {
            None => vault.contains(blob).unwrap_or(false),
            Some(_) => self.references(blob, vault) > 0,
        }
    }

    /// How many paths could have this content from the vault.
    pub(super) fn references(&self, blob: BlobId, vault: &Vault) -> usize {
        let (came, went) = self.moves.get(&blob).map_or((0, 0), |moves| (moves.came, moves.went));
        (vault.references(blob).unwrap_or(0) + came).saturating_sub(went)
    }

    /// Whether this content would have been handed out.
    pub(super) fn went(&self, blob: BlobId) -> bool {
        self.moves.get(&blob).is_some_and(|moves| moves.went > 0)
    }

    /// The content, if the vault would have it.
    pub(super) fn read(&self, blob: BlobId, vault: &Vault) -> Option<Vec<u8>> {
        self.is_kept(blob, vault).then(|| self.find(blob, vault)).flatten()
    }

    /// The content that would stand at a path. It may stand there already: steps that set only bits move nothing.
    pub(super) fn find_at(&self, path: &FilePath, blob: BlobId, vault: &Vault) -> Option<Vec<u8>> {
        self.find(blob, vault).or_else(|| read(path, blob))
    }

    /// The content, wherever it would be.
    pub(super) fn find(&self, blob: BlobId, vault: &Vault) -> Option<Vec<u8>> {
        let in_memory = || self.contents.iter().find_map(|contents| contents.get(blob).map(|bytes| bytes.to_vec()));
        let on_disk = || {
            let path = self.moves.get(&blob)?.lies_at.as_ref()?;
            read(path, blob)
        };
        vault.read(blob).ok().or_else(in_memory).or_else(on_disk)
    }
}

/// The content of a file, if it is this one.
fn read(path: &FilePath, blob: BlobId) -> Option<Vec<u8>> {
    fs::read(path.as_path()).ok().filter(|bytes| blob_id(bytes) == blob)
}

/// What a change leaves: who only sets bits leaves the time alone.
fn after(change: &Change) -> Image {
    match (&change.before, &change.after) {
        (Image::File(before), Image::File(after)) if before.blob == after.blob => {
            Image::File(FileImage { modified: after.modified.or(before.modified), ..after.clone() })
        }
        (_, after) => after.clone(),
    }
}

/// Whether something is put in the place of what stands there, and not only its bits are set.
pub(super) fn moves_content(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Image::File(before), Image::File(after)) => before.blob != after.blob,
        (_, _) => true,
    }
}
