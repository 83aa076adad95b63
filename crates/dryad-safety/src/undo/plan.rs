//! Decides, path by path, what taking a change back comes to.
//!
//! The rule above all others: what the user has written since is never overwritten. A file that changed
//! is merged if that can be done without guessing; otherwise it stays, and ours is put beside it. What programs
//! write by the way is not the user's: it gets its former content back, and the present one goes to the vault.

mod borne;
mod managed;

use super::UndoError;
use super::foreseen::Foreseen;
use super::home::{Homes, house};
use super::keep::{Kept, handed_out};
use super::look::{Look, look};
use super::parts::Parts;
use super::returned::Returned;
use crate::merge::{Merge, merge};
use crate::workspace::Workspace;
use dryad_effects::bearings::Borne;
use dryad_effects::beside::free_beside;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::Sighting;
use dryad_effects::opened;
use dryad_effects::texts::Texts;
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use managed::is_machine_managed;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What was done about one path, or would be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathReport {
    /// Which path.
    pub path: FilePath,
    /// What was done.
    pub verdict: Verdict,
}

/// What was done about a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is as it was before.
    Restored,
    /// It is as it was before but for this, which could not be given back.
    RestoredBut(String),
    /// It was so already.
    AlreadySo,
    /// It has both: what stood there before, and what the user has written since.
    Merged,
    /// Nothing of the operation is left there to be taken back, and the user has changed it since: it is left alone.
    KeptYours,
    /// The user's is kept; ours lies beside it, if there is any.
    Conflict {
        /// Where ours lies.
        ours_at: Option<FilePath>,
    },
    /// Nothing could be done, for this reason.
    Cannot(String),
}

impl Verdict {
    /// Whether the operation's change is gone from this path.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Restored | Self::AlreadySo | Self::Merged | Self::KeptYours => true,
            Self::RestoredBut(_) | Self::Conflict { .. } | Self::Cannot(_) => false,
        }
    }

    /// Where ours lies, if it was put beside.
    fn place(&self) -> Option<&FilePath> {
        match self {
            Self::Conflict { ours_at } => ours_at.as_ref(),
            Self::Restored | Self::RestoredBut(_) | Self::AlreadySo | Self::Merged => None,
            Self::KeptYours | Self::Cannot(_) => None,
        }
    }
}

/// The change that takes another one back, with a word on every path.
pub(super) struct UndoPlan {
    pub(super) changes: ChangeSet,
    pub(super) contents: Contents,
    pub(super) paths: Vec<PathReport>,
    /// What is handed out of the vault, and is to stay there as well.
    pub(super) kept: Vec<Kept>,
    /// What was borne by that which comes back.
    pub(super) borne: Borne,
}

/// Works out how to take `changes` back, where some paths are not as they are but as they would be.
pub(super) fn plan(
    workspace: &Workspace,
    changes: &ChangeSet,
    target: &OperationHead,
    parts: &Parts,
    foreseen: &Foreseen,
) -> Result<UndoPlan, UndoError> {
    let id = &target.id;
    let (vault, mut texts) = (workspace.vault()?, workspace.texts()?);
    foreseen.add_to(&mut texts);
    let texts = &texts;
    let (contents, homes) = (Contents::default(), Homes::new(foreseen));
    let borne = workspace.borne_before(id)?;
    let (taken, planned, going, paths) = (HashMap::new(), Vec::new(), HashSet::new(), Vec::new());
    let returned = Returned::since(workspace.log()?, id, foreseen);
    let mut planner =
        Planner { vault, texts, id, parts, foreseen, returned, borne, contents, homes, taken, planned, going, paths };
    let mut sorted: Vec<&Change> = changes.iter().collect();
    sorted.sort_by(|a, b| b.path.cmp(&a.path));
    let looks = look(&sorted, foreseen, vault);
    // The deepest first: whether a directory can go depends on what is left in it.
    for (change, look) in sorted.into_iter().zip(looks) {
        let verdict = planner.judge(change, look);
        planner.paths.push(PathReport { path: change.path.clone(), verdict });
    }
    planner.paths.reverse();
    let Planner { borne, mut contents, mut homes, planned, mut paths, .. } = planner;
    let (housed, refused) = house(planned, &mut homes);
    for report in paths.iter_mut().filter(|_| !refused.is_empty()) {
        let place = report.verdict.place().unwrap_or(&report.path).clone();
        if let Some(why) = refused.get(&place) {
            report.verdict = Verdict::Cannot((*why).to_owned());
            contents.bears_nothing(&place);
        }
    }
    let kept = handed_out(&housed, &contents, texts, target, (vault, workspace.home()));
    Ok(UndoPlan { changes: ChangeSet::new(housed), contents, paths, kept, borne })
}

struct Planner<'a> {
    vault: &'a Vault,
    texts: &'a Texts,
    id: &'a OperationId,
    parts: &'a Parts,
    foreseen: &'a Foreseen,
    returned: Returned<'a>,
    borne: Borne,
    contents: Contents,
    homes: Homes<'a>,
    taken: HashMap<BlobId, Taken>,
    planned: Vec<Change>,
    /// The paths that the plan removes.
    going: HashSet<PathBuf>,
    paths: Vec<PathReport>,
}

/// How often the plan takes a content out of the vault.
struct Taken {
    count: usize,
    /// How often it can be taken; looked up for the second time, since most are taken once.
    references: Option<usize>,
}

impl Planner<'_> {
    fn judge(&mut self, change: &Change, look: Look) -> Verdict {
        let is_in_vault = look.is_in_vault;
        let (seen, now) = match self.see(change, look) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
        let first = self.planned.len();
        let verdict = self.judge_image(change, now.clone(), seen, is_in_vault);
        self.judge_bearing(change, now, first, verdict)
    }

    /// What stands at a path, or would by now; a verdict where that cannot be seen.
    fn see(&mut self, change: &Change, look: Look) -> Result<(Option<Sighting>, Image), Verdict> {
        // What is seen behind a link lies elsewhere.
        let seen = match look.now.filter(|_| !self.homes.is_behind_link(change.path.as_path())).transpose() {
            Ok(seen) => seen,
            // What was deleted may have given way to a pipe, a socket or a device: such is never replaced.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput && change.after == Image::Absent => {
                return Err(self.put_beside(change, &Image::Absent));
            }
            // Whatever it is, it is the user's, and the other paths do not have to wait for it.
            Err(error) => return Err(Verdict::Cannot(format!("it cannot be read: {error}"))),
        };
        let now = match (&seen, self.foreseen.get(&change.path)) {
            (_, Some(image)) => image.clone(),
            (Some(seen), None) => seen.image().clone(),
            (None, None) => Image::Absent,
        };
        Ok((seen, now))
    }

    /// Content, kind, bits and time.
    fn judge_image(&mut self, change: &Change, now: Image, seen: Option<Sighting>, is_in_vault: bool) -> Verdict {
        let (wrote, want) = (&change.after, &change.before);
        if change.is_door() && wrote.same_content(want) {
            // What lies in it is taken back through it, if it is closed still.
            self.planned.push(Change { path: change.path.clone(), before: now.clone(), after: now });
            return Verdict::AlreadySo;
        }
        if wrote.same_content(want) {
            return self.judge_time(change, now);
        }
        if now.same_content(want) {
            return Verdict::AlreadySo;
        }
        let is_nobodys = matches!(now, Image::File(_) | Image::Absent) && is_machine_managed(change.path.as_path());
        if now.same_content(wrote) || is_nobodys {
            if let Some(seen) = seen {
                self.contents.saw(change.path.clone(), seen);
            }
            return self.restore(change, now, is_in_vault);
        }
        if let Some(left) = self.parts.left(change, self.id) {
            return if now.same_content(left) { Verdict::AlreadySo } else { Verdict::KeptYours };
        }
        match (&now, wrote, want) {
            (Image::File(now_file), Image::File(wrote_file), Image::File(want_file)) => {
                self.merge(change, &now, now_file, wrote_file, want_file)
            }
            _ => self.put_beside(change, &now),
        }
    }

    /// Content and bits were left alone, so that at most a time has to be taken back. Another one than the operation has
    /// left was set since, and stays.
    fn judge_time(&mut self, change: &Change, now: Image) -> Verdict {
        if change.before == change.after && self.borne.change(&change.path).is_none() {
            return Verdict::Cannot(borne::UNKNOWN.to_owned());
        }
        if change.ends_as_it_began() {
            // Nothing was changed, so there is nothing to take back, whatever has happened since.
            return Verdict::AlreadySo;
        }
        if !now.same_content(&change.before) {
            return Verdict::KeptYours;
        }
        if now.modified() != change.after.modified() {
            return Verdict::AlreadySo;
        }
        self.planned.push(Change { path: change.path.clone(), before: now, after: change.before.clone() });
        Verdict::Restored
    }

    /// The path is as dryad left it, or nobody's: it gets back what it had.
    fn restore(&mut self, change: &Change, now: Image, is_in_vault: bool) -> Verdict {
        if let Some(blob) = change.before.blob()
            && now.blob() != Some(blob)
            && !self.can_take(blob, is_in_vault)
        {
            match self.content(blob) {
                Some(bytes) => drop(self.contents.insert(bytes)),
                None => return self.without(&change.path, blob),
            }
        }
        let is_directory = |image: &Image| matches!(image, Image::Directory { .. });
        if is_directory(&now) && !is_directory(&change.before) && self.holds_others(change.path.as_path()) {
            return self.put_beside(change, &now);
        }
        if matches!(change.before, Image::Absent) {
            self.going.insert(change.path.as_path().to_owned());
        }
        let (after, verdict) = self.with_bearing(change, &now);
        self.planned.push(Change { path: change.path.clone(), before: now, after });
        verdict
    }

    /// Whether a directory holds something that this plan does not remove.
    fn holds_others(&mut self, directory: &Path) -> bool {
        // What would be a directory by now may be something else yet, even a link to another one.
        let is_there = !self.homes.is_linked(directory);
        let going = &self.going;
        let entries = opened::entries(directory).into_iter().filter(|_| is_there).flatten();
        let is_gone = |path: &Path| matches!(self.foreseen.get(&FilePath::new(path)), Some(Image::Absent));
        entries.map(|(entry, _)| entry).any(|entry| !going.contains(entry.as_path()) && !is_gone(&entry))
            || self.foreseen.comers(directory).any(|path| !going.contains(path))
    }

    /// The user has changed the file since: both changes are kept if they do not touch each other.
    fn merge(
        &mut self,
        change: &Change,
        now: &Image,
        now_file: &FileImage,
        wrote: &FileImage,
        want: &FileImage,
    ) -> Verdict {
        let mode = if now_file.mode == wrote.mode { want.mode } else { now_file.mode };
        let (mode, verdict) = self.lent_to_merged(change, now_file.mode, mode);
        if wrote.blob == want.blob || now_file.blob == want.blob {
            // What the file holds is right: only its bits are in question.
            let after = Image::File(FileImage { mode, modified: None, ..now_file.clone() });
            self.planned.push(Change { path: change.path.clone(), before: now.clone(), after });
            return verdict;
        }
        let theirs = match self.foreseen.get(&change.path) {
            Some(_) => self.foreseen.find_at(&change.path, now_file.blob, self.vault),
            None => fs::read(change.path.as_path()).ok(),
        };
        let sides = (self.content(wrote.blob), self.content(want.blob), theirs);
        let (Some(base), Some(ours), Some(theirs)) = sides else { return self.put_beside(change, now) };
        match merge(&base, &ours, &theirs) {
            Merge::Clean(merged) => {
                let size = merged.len() as u64;
                // Both are kept as texts: the user may edit again before this undo is taken back.
                self.contents.insert(theirs);
                let blob = self.contents.insert(merged);
                let after = Image::File(FileImage { blob, size, mode, modified: None });
                if !after.same_content(now) {
                    self.bear_back(&change.path);
                    self.planned.push(Change { path: change.path.clone(), before: now.clone(), after });
                }
                verdict
            }
            Merge::Conflict { .. } | Merge::NotText => self.put_beside(change, now),
        }
    }

    fn content(&self, blob: BlobId) -> Option<Vec<u8>> {
        let kept = |blob: BlobId| self.foreseen.read(blob, self.vault);
        kept(blob).or_else(|| self.texts.read(blob, self.id, &kept))
    }

    /// Whether one more path can have this content from the vault. Each takes a reference with it; those that find
    /// none any more share the bytes.
    fn can_take(&mut self, blob: BlobId, is_in_vault: bool) -> bool {
        if !(if self.foreseen.is_empty() { is_in_vault } else { self.is_foreseen_kept(blob, is_in_vault) }) {
            return false;
        }
        match self.taken.entry(blob) {
            Entry::Vacant(first) => {
                first.insert(Taken { count: 1, references: None });
                true
            }
            Entry::Occupied(mut again) => {
                let taken = again.get_mut();
                taken.count += 1;
                let references = || self.foreseen.references(blob, self.vault);
                taken.count <= *taken.references.get_or_insert_with(references)
            }
        }
    }

    /// Whether the vault would have this content whole.
    fn is_foreseen_kept(&self, blob: BlobId, is_in_vault: bool) -> bool {
        self.foreseen.is_kept(blob, self.vault) && (is_in_vault || self.foreseen.find(blob, self.vault).is_some())
    }

    /// Nothing can be done without this content.
    fn without(&self, path: &FilePath, blob: BlobId) -> Verdict {
        let why = match self.foreseen.is_kept(blob, self.vault) {
            true => "its former content is damaged in the vault",
            false if self.returned.has(path, blob) => {
                "its former content was brought back once and written over since; the vault has no copy of it"
            }
            false => "its former content is not in the vault any more",
        };
        Verdict::Cannot(why.to_owned())
    }

    /// The user's stays where it is; a file that stood there before is put beside it.
    fn put_beside(&mut self, change: &Change, now: &Image) -> Verdict {
        let Image::File(want) = &change.before else { return Verdict::Conflict { ours_at: None } };
        if now.blob() == Some(want.blob) {
            // Ours is what stands there, but for its bits.
            return Verdict::Conflict { ours_at: None };
        }
        let Some(bytes) = self.content(want.blob) else {
            return match change.after.blob() == Some(want.blob) {
                // It was never ours to keep: only its bits were changed.
                true => Verdict::Conflict { ours_at: None },
                false => self.without(&change.path, want.blob),
            };
        };
        let place = FilePath::new(self.free_place(change.path.as_path()));
        self.contents.insert(bytes);
        let after = self.put_with_bearing(change, &place, want);
        self.planned.push(Change { path: place.clone(), before: Image::Absent, after });
        Verdict::Conflict { ours_at: Some(place) }
    }

    /// `<file>.before-<operation>`, or the next free name.
    fn free_place(&self, path: &Path) -> PathBuf {
        let short: String = self.id.as_str().chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
        free_beside(path, &format!(".before-{short}"), |place| !self.foreseen.is_taken(place))
    }
}
