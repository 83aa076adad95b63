//! Gives back what was borne by that which comes back, and says so where that cannot be done.
//!
//! Bits that lend the rights of an owner or group come back only together with those.

use super::super::foreseen::moves_content;
use super::{Planner, Verdict};
use dryad_effects::bearings::{Arrival, LENDING};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;

impl Planner<'_> {
    /// What a path gets back in the place of what stands there now.
    pub(super) fn with_bearing(&mut self, change: &Change, now: &Image) -> (Image, Verdict) {
        let (path, before) = (&change.path, &change.before);
        let comes = match (now, before) {
            (_, Image::Absent) | (Image::Directory { .. }, Image::Directory { .. }) => false,
            _ => moves_content(&Change { path: path.clone(), before: now.clone(), after: before.clone() }),
        };
        if comes {
            let replaces = matches!((now, before), (Image::File(_), Image::File(_)));
            self.borne.give_back(path, path, replaces, &mut self.contents);
        }
        let arrival = match before.blob().filter(|blob| !self.contents.has(*blob)) {
            _ if !comes => Arrival::Stays,
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
            None => Verdict::Restored,
            Some(missing) => Verdict::RestoredBut(missing.words().to_owned()),
        };
        (before.clone(), verdict)
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
        match self.borne.refuses_lending(&change.path, Arrival::Stays) {
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
