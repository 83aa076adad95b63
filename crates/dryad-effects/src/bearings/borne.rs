//! What is borne at the paths of one change, before it and after it.

use super::{LENDING, Listed};
use crate::bearing::{Bearing, Kind, NotGiven, Owner, Return, own};
use crate::contents::Contents;
use crate::parallel::in_parts;
use crate::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::path::FilePath;
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;

/// More attributes than this are not named one by one.
const NAMED: usize = 4;

/// How something comes to a path.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// It stands there already, and will bear what is noted here, if anything is.
    Stays(&'a Contents),
    /// It is made.
    Anew,
    /// The vault has it, under this name or in a slot that it was exchanged with.
    Kept(BlobId, &'a Vault, &'a Contents),
}

/// What is borne at paths.
#[derive(Clone, Debug)]
pub struct Borne {
    /// Whose everything else is.
    usual: Owner,
    listed: HashMap<FilePath, Sides>,
}

/// What is borne at a path before a change and, if that is known, after it.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) before: Bearing,
    pub(super) after: Option<Bearing>,
}

/// What an operation has changed of what is borne at a path, taken back.
#[derive(Clone, Debug)]
pub struct Back {
    back: Return,
    reached: Bearing,
    missing: Option<NotGiven>,
}

/// A change of what is borne at a path, for people and programs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rebearing {
    /// User and group, before and after, if they differ.
    pub owners: Option<(Owner, Owner)>,
    /// The names of attributes that differ.
    pub attributes: Vec<String>,
}

impl Borne {
    pub(super) fn new(usual: Owner, listed: HashMap<FilePath, Sides>) -> Self {
        Self { usual, listed }
    }

    /// What a change of this user's own is about to take away bears.
    pub fn of(changes: &ChangeSet, contents: &Contents) -> Self {
        Self::before(changes, contents, own())
    }

    pub(super) fn before(changes: &ChangeSet, contents: &Contents, usual: Owner) -> Self {
        let rebears = |change: &Change| stays(change) && contents.bearing(&change.path).is_some();
        let is_looked_at = |change: &&Change| goes(change) || lends(&change.before) || rebears(change);
        let looked_at: Vec<&Change> = changes.iter().filter(is_looked_at).collect();
        let plain = Bearing::plain(usual);
        let look = |part: &[&Change]| {
            let special = part.iter().filter_map(|change| {
                let before = Bearing::behind(change.path.as_path()).ok()?;
                let comes = contents.bearing(&change.path);
                let is_listed = before != plain || lends(&change.before) || comes.is_some();
                // What is put in the place of something else may have to come without some of it.
                let after = comes.filter(|_| stays(change)).cloned();
                is_listed.then(|| (change.path.clone(), Sides { before, after }))
            });
            Ok::<_, Infallible>(special.collect::<Vec<_>>())
        };
        let Ok(listed) = in_parts(&looked_at, look);
        Self { usual, listed: listed.into_iter().flatten().collect() }
    }

    /// Everything that is known.
    pub(super) fn listed(&self) -> impl Iterator<Item = Listed> {
        self.listed.iter().map(|(path, sides)| Listed(path.clone(), sides.before.clone(), sides.after.clone()))
    }

    /// What is to be given in place to what stays at the paths of a change.
    pub(crate) fn in_place(&self, changes: &ChangeSet) -> Vec<Listed> {
        let listed = |change: &Change| {
            let sides = self.listed.get(&change.path).filter(|_| stays(change))?;
            sides.after.is_some().then(|| Listed(change.path.clone(), sides.before.clone(), sides.after.clone()))
        };
        changes.iter().filter_map(listed).collect()
    }

    /// What is borne at a path, if anything new would bear something else.
    pub(crate) fn at(&self, path: &FilePath) -> Option<Cow<'_, Bearing>> {
        let bearing = match self.listed.get(path) {
            Some(sides) => Cow::Borrowed(&sides.before),
            None => Cow::Owned(Bearing::plain(self.usual)),
        };
        bearing.is_special().then_some(bearing)
    }

    /// Has what comes to `place` bear what stood at `path`. Where something takes the place of something else that is
    /// not listed, nothing was changed about that: it stays as it is.
    pub fn give_back(&self, path: &FilePath, place: &FilePath, replaces: bool, contents: &mut Contents) {
        match self.listed.get(path) {
            Some(sides) => contents.bears(place.clone(), sides.before.clone()),
            None if replaces || self.usual == own() => {}
            None => contents.bears(place.clone(), Bearing::plain(self.usual)),
        }
    }

    /// What the operation has changed of that which is borne at a path, taken back; nothing if it has changed nothing, or
    /// nobody knows. What would be borne there by now may be noted in `foreseen`.
    pub fn back(&self, path: &FilePath, foreseen: Option<&Contents>) -> Option<Back> {
        let Sides { before, after } = self.listed.get(path)?;
        let after = after.as_ref().filter(|after| *after != before)?;
        let now = match foreseen.and_then(|contents| contents.bearing(path)) {
            Some(bearing) => bearing.clone(),
            None => Bearing::behind(path.as_path()).ok()?,
        };
        let back = Return::new(before, after, now);
        let (reached, missing) = back.within_reach();
        Some(Back { back, reached, missing })
    }

    /// Why the file at `path` must not get bits that lend rights; nothing if it may.
    pub fn refuses_lending(&self, path: &FilePath, arrival: Arrival<'_>) -> Option<&'static str> {
        let Some(Sides { before, .. }) = self.listed.get(path) else { return Some("since nobody knows whose it was") };
        let is_right = match arrival {
            Arrival::Stays(contents) => match contents.bearing(path) {
                Some(comes) => comes.owner() == before.owner(),
                None => Bearing::at(path.as_path()).is_ok_and(|stands| stands.owner() == before.owner()),
            },
            Arrival::Anew | Arrival::Kept(..) => self.ungivable(path, arrival).is_none(),
        };
        (!is_right).then_some("since they would lend the rights of another owner or group")
    }

    /// What of that which stood at a path cannot be given back to what comes there.
    pub fn ungivable(&self, path: &FilePath, arrival: Arrival<'_>) -> Option<NotGiven> {
        let Sides { before, .. } = self.listed.get(path)?;
        let not_given = before.ungivable()?;
        let comes_so = match arrival {
            Arrival::Stays(_) => true,
            Arrival::Anew => false,
            Arrival::Kept(blob, vault, contents) => contents.exchanges(path) || vault.holds_with(blob, before),
        };
        (!comes_so).then_some(not_given)
    }

    /// What is missing at the path of a change that was carried out: of what was to be borne there, or else of what stood
    /// there before the operation that was taken back.
    pub fn missing(&self, change: &Change, contents: &Contents) -> Option<NotGiven> {
        let stands = Bearing::behind(change.path.as_path()).ok()?;
        match contents.bearing(&change.path) {
            // It was had by looking at what stands there, so nothing can be missing.
            Some(wanted) if stays(change) => {
                let missing = || wanted.missing_in(&stands).unwrap_or(NotGiven::Attributes);
                (*wanted != stands).then(missing)
            }
            Some(wanted) => wanted.missing_in(&stands),
            None => self.listed.get(&change.path)?.before.missing_in(&stands),
        }
    }

    /// What was changed of that which is borne at a path.
    pub fn change(&self, path: &FilePath) -> Option<Rebearing> {
        let Sides { before, after } = self.listed.get(path)?;
        Rebearing::new(before, after.as_ref()?)
    }

    /// Whether nothing special is known.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

impl Default for Borne {
    fn default() -> Self {
        Self { usual: own(), listed: HashMap::new() }
    }
}

impl Back {
    /// What it comes to.
    pub fn kind(&self) -> Kind {
        self.back.kind
    }

    /// What of it this user cannot give to what stays where it is.
    pub fn missing(&self) -> Option<NotGiven> {
        self.missing
    }

    /// Whether there is something that this user can give to what stays where it is.
    pub fn is_within_reach(&self) -> bool {
        self.reached != self.back.now
    }

    /// Has what stays at a path bear it, as far as this user can give it.
    pub fn give_in_place(self, path: &FilePath, contents: &mut Contents) {
        contents.bears(path.clone(), self.reached);
    }

    /// Has what comes to a path bear it.
    pub fn give_anew(self, path: &FilePath, contents: &mut Contents) {
        contents.bears(path.clone(), self.back.wanted);
    }
}

impl Rebearing {
    pub(super) fn new(before: &Bearing, after: &Bearing) -> Option<Self> {
        let owners = (before.owner() != after.owner()).then(|| (before.owner(), after.owner()));
        let attributes = before.differing(after);
        (owners.is_some() || !attributes.is_empty()).then_some(Self { owners, attributes })
    }
}

impl fmt::Display for Rebearing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(((user, group), (later_user, later_group))) = self.owners {
            write!(formatter, "owner {user}:{group} became {later_user}:{later_group}")?;
        }
        let between = if self.owners.is_some() { ", " } else { "" };
        match self.attributes.as_slice() {
            [] => Ok(()),
            [one] => write!(formatter, "{between}attribute {one}"),
            several if several.len() <= NAMED => write!(formatter, "{between}attributes {}", several.join(" ")),
            [one, more @ ..] => write!(formatter, "{between}attribute {one} and {} more", more.len()),
        }
    }
}

/// Whether what stands at a path is taken away, and not only its bits are set.
fn goes(change: &Change) -> bool {
    !matches!(change.before, Image::Absent) && !stays(change)
}

/// Whether what stands at a path stays there, whatever bits it gets.
pub(crate) fn stays(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Image::Absent, _) | (_, Image::Absent) => false,
        (Image::Directory { .. }, Image::Directory { .. }) => true,
        (Image::File(before), Image::File(after)) => before.blob == after.blob,
        (before, after) => before.same_content(after),
    }
}

pub(super) fn lends(image: &Image) -> bool {
    matches!(image, Image::File(file) if file.mode & LENDING != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_in_a_few_words() {
        let words = |owners, count: usize| {
            let attributes = (0..count).map(|number| format!("user.{number}")).collect();
            Rebearing { owners, attributes }.to_string()
        };
        assert_eq!(words(Some(((0, 0), (1, 2))), 0), "owner 0:0 became 1:2");
        assert_eq!(words(Some(((0, 0), (1, 2))), 1), "owner 0:0 became 1:2, attribute user.0");
        assert_eq!(
            (words(None, 2), words(None, 6)),
            ("attributes user.0 user.1".into(), "attribute user.0 and 5 more".into())
        );
    }
}
