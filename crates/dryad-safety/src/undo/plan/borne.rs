//! Gives back what was borne by that which comes back or stays, and says so where that cannot be done.
//!
//! Owner, group and every attribute are taken back each by itself: what the user has changed of them since is his.
//! Bits that lend the rights of an owner or group come back only together with those.

use super::super::foreseen::moves_content;
use super::{Planner, Verdict};
use dryad_effects::bearings::{Arrival, Back, BackKind, LENDING};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;

/// Why nothing can be done about what is borne where that cannot be read.
const UNSEEN: &str = "its owner, group and attributes cannot be read";

/// Why nothing can be done about a change of owner, group or attributes of which nothing is known any more.
pub(super) const UNKNOWN: &str = "its former owner, group and attributes are not known any more";

impl Planner<'_> {
    /// What a path gets back in the place of what stands there now.
    pub(super) fn with_bearing(&mut self, change: &Change, now: &Image) -> (Image, Verdict) {
        let (path, before) = (&change.path, &change.before);
        let comes = match (now, before) {
            (_, Image::Absent) | (Image::Directory { .. }, Image::Directory { .. }) => false,
            _ => moves_content(&Change { path: path.clone(), before: now.clone(), after: before.clone() }),
        };
        let is_merged = self.bear(path, comes, matches!((now, before), (Image::File(_), Image::File(_))));
        let arrival = match before.blob().filter(|blob| !self.contents.has(*blob)) {
            _ if !comes => Arrival::Stays(&self.contents),
            Some(blob) => Arrival::Kept(blob, self.vault, &self.contents),
            None => Arrival::Anew,
        };
        if let Image::File(file) = before
            && file.mode & LENDING != 0
            && let Some(why) = self.borne.refuses_lending(path, arrival)
        {
            return (without_lending(file), Verdict::RestoredBut(dropped(why)));
        }
        let verdict = match self.borne.ungivable(path, arrival) {
            None if is_merged => Verdict::Merged,
            None => Verdict::Restored,
            Some(missing) => Verdict::RestoredBut(missing.words().to_owned()),
        };
        (before.clone(), verdict)
    }

    /// Notes what is to be borne at a path by that which comes there, or stays; whether something of the user's is in it.
    fn bear(&mut self, path: &FilePath, comes: bool, replaces: bool) -> bool {
        match self.back(path).filter(|_| replaces || !comes) {
            Some(back) if comes => {
                let is_merged = matches!(back.kind(), BackKind::Merged | BackKind::KeptYours);
                back.give_anew(path, &mut self.contents);
                is_merged
            }
            // The verdict on this comes with what else is decided.
            Some(back) if back.is_within_reach() => {
                back.give_in_place(path, &mut self.contents);
                false
            }
            Some(_) => false,
            None => {
                if comes {
                    self.borne.give_back(path, path, replaces, &mut self.contents);
                }
                false
            }
        }
    }

    /// What the operation has changed of that which is borne at a path, taken back.
    fn back(&self, path: &FilePath) -> Option<Back> {
        self.borne.back(path, self.foreseen.bearing(path))
    }

    /// Has what comes to a path in the place of the user's bear what both of them say.
    pub(super) fn bear_back(&mut self, path: &FilePath) {
        if let Some(back) = self.back(path) {
            back.give_anew(path, &mut self.contents);
        }
    }

    /// The verdict on a path with owner, group and attributes of what stays there; they are given back if they can be.
    /// What else is planned for it stands behind the `first` changes.
    pub(super) fn judge_bearing(&mut self, change: &Change, now: Image, first: usize, verdict: Verdict) -> Verdict {
        let was_changed = is_same_kind(&change.before, &change.after) && self.borne.change(&change.path).is_some();
        let planned = self.planned.iter().skip(first).find(|planned| planned.path == change.path);
        let is_decided = matches!(verdict, Verdict::Conflict { .. } | Verdict::Cannot(_));
        if !was_changed || is_decided || planned.is_some_and(brings) {
            return verdict;
        }
        if !is_same_kind(&now, &change.after) {
            return both(verdict, Verdict::KeptYours);
        }
        let is_planned = planned.is_some();
        let Some(back) = self.back(&change.path) else { return both(verdict, Verdict::Cannot(UNSEEN.to_owned())) };
        let judged = match judged(&back) {
            Verdict::Restored if !now.same_content(&change.after) && !now.same_content(&change.before) => {
                Verdict::Merged
            }
            other => other,
        };
        if back.is_within_reach() {
            back.give_in_place(&change.path, &mut self.contents);
            if !is_planned {
                self.planned.push(Change { path: change.path.clone(), before: now.clone(), after: now });
            }
        }
        both(verdict, judged)
    }

    /// What is put beside a path that is the user's.
    pub(super) fn put_with_bearing(&mut self, change: &Change, place: &FilePath, want: &FileImage) -> Image {
        self.borne.give_back(&change.path, place, false, &mut self.contents);
        match self.borne.refuses_lending(&change.path, Arrival::Anew).filter(|_| want.mode & LENDING != 0) {
            Some(_) => without_lending(want),
            None => Image::File(want.clone()),
        }
    }

    /// The bits of a file that is merged, which has some now and would get others; and the verdict on that.
    pub(super) fn lent_to_merged(&self, change: &Change, now: u32, mode: u32) -> (u32, Verdict) {
        if mode & LENDING & !now == 0 {
            return (mode, Verdict::Merged);
        }
        match self.borne.refuses_lending(&change.path, Arrival::Stays(&self.contents)) {
            None => (mode, Verdict::Merged),
            Some(why) => (mode & !LENDING | now & LENDING, Verdict::RestoredBut(format!("merged; {}", dropped(why)))),
        }
    }
}

fn without_lending(file: &FileImage) -> Image {
    Image::File(FileImage { mode: file.mode & !LENDING, ..file.clone() })
}

fn dropped(why: &str) -> String {
    format!("its setuid and setgid bits were dropped, {why}")
}

/// The verdict on owner, group and attributes of what stays.
fn judged(back: &Back) -> Verdict {
    match (back.kind(), back.missing()) {
        (_, Some(missing)) if back.is_within_reach() => Verdict::RestoredBut(missing.words().to_owned()),
        (_, Some(missing)) => Verdict::Cannot(missing.words().to_owned()),
        (BackKind::Restored, None) => Verdict::Restored,
        (BackKind::Merged, None) => Verdict::Merged,
        (BackKind::AlreadySo, None) => Verdict::AlreadySo,
        (BackKind::KeptYours, None) => Verdict::KeptYours,
    }
}

/// One verdict on a path of which some was judged by itself: what it holds, and what that bears.
fn both(image: Verdict, bearing: Verdict) -> Verdict {
    use Verdict::{AlreadySo, Cannot, Conflict, KeptYours, Merged, Restored, RestoredBut};
    match (image, bearing) {
        (verdict @ (Conflict { .. } | Cannot(_) | RestoredBut(_)), _) => verdict,
        (_, verdict @ (Conflict { .. } | RestoredBut(_))) => verdict,
        (AlreadySo | KeptYours, Cannot(why)) => Cannot(why),
        (Restored | Merged, Cannot(why)) => RestoredBut(why),
        (Merged, _) | (_, Merged) | (Restored, KeptYours) | (KeptYours, Restored) => Merged,
        (Restored, _) | (_, Restored) => Restored,
        (KeptYours, _) | (_, KeptYours) => KeptYours,
        (AlreadySo, AlreadySo) => AlreadySo,
    }
}

/// Whether something is put in the place of what stands at a path, or nothing.
fn brings(change: &Change) -> bool {
    !matches!((&change.before, &change.after), (Image::Directory { .. }, Image::Directory { .. }))
        && change.before != change.after
        && moves_content(change)
}

fn is_same_kind(one: &Image, other: &Image) -> bool {
    matches!(
        (one, other),
        (Image::File(_), Image::File(_))
            | (Image::Symlink { .. }, Image::Symlink { .. })
            | (Image::Directory { .. }, Image::Directory { .. })
    )
}
