//! Sees to it that what comes back finds a directory to lie in, and that whoever asks may put it there.
//!
//! A directory may have gone since. Then it comes back, too; but where something else stands in its place, that
//! is somebody's, and what wanted to lie there cannot come. What may not be written is found here, before anything is
//! tried: applying is all or nothing, and one closed directory would keep everything else from coming back.
//!
//! Limitation: an immutable or append-only file among thousands is found by trying.

use super::foreseen::Foreseen;
use dryad_effects::permitted::{self, Ground, bearing_refused, bits_refused, refused_itself};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Permission bits of a directory that comes back although the change does not know it.
const MODE: u32 = 0o755;

/// What an owner needs to change what is in a directory.
const CHANGE: u32 = 0o300;

/// What its owner may do with a directory that is open.
const OPENED: u32 = 0o700;

/// Of so many paths each is asked for itself; of more, only the directories are.
const LOOKED_AT_CLOSELY: usize = 1000;

/// Why a change cannot be made.
pub(super) type Why = &'static str;

const OCCUPIED: Why = "something else stands where its directory was";

/// What is known of the directories above the paths of a plan, by their names as the paths of changes have them.
#[derive(Debug)]
pub(super) struct Homes<'a> {
    /// What would stand at paths by now.
    foreseen: &'a Foreseen,
    /// Whether a path, or one above it, is a link, or would not be the directory that it is.
    linked: HashMap<OsString, bool>,
    /// Whether a path will be a directory when the plan has been carried out.
    directories: HashMap<OsString, Result<(), Why>>,
    /// What directories allow.
    grounds: HashMap<OsString, Ground>,
    /// Directories that the plan opens.
    opened: HashSet<OsString>,
    /// Whether every path is asked for itself.
    looks_closely: bool,
    /// Directories that come or go as a whole, with everything in them.
    moved: HashSet<OsString>,
}

impl<'a> Homes<'a> {
    /// Knows nothing yet but what is foreseen.
    pub(super) fn new(foreseen: &'a Foreseen) -> Self {
        let (linked, directories, grounds) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (opened, moved) = (HashSet::new(), HashSet::new());
        Self { foreseen, linked, directories, grounds, opened, looks_closely: true, moved }
    }

    /// Whether one of the directories above a path is a link, or would not be the one that stands there.
    pub(super) fn is_behind_link(&mut self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.is_linked(parent))
    }

    /// The same of a path itself.
    pub(super) fn is_linked(&mut self, path: &Path) -> bool {
        if let Some(known) = self.linked.get(path.as_os_str()) {
            return *known;
        }
        let is_link = match self.foreseen.get(&FilePath::new(path)) {
            // Nothing lies in what would be no directory, and in a new one only what is foreseen itself.
            Some(Image::Directory { .. }) => !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()),
            Some(Image::Absent | Image::File(_) | Image::Symlink { .. }) => true,
            None => fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()),
        };
        let is_linked = is_link || self.is_behind_link(path);
        self.linked.insert(path.into(), is_linked);
        is_linked
    }

    /// Whether a directory stands there now; nothing where nothing stands.
    fn is_directory(&mut self, path: &Path) -> Option<bool> {
        match self.foreseen.get(&FilePath::new(path)) {
            Some(Image::Absent) => None,
            Some(image) => Some(matches!(image, Image::Directory { .. })),
            None if self.is_behind_link(path) => None,
            None => permitted::is_directory(path),
        }
    }

    /// Sees to it that `path` will be a directory; one that is gone is added to `housed`.
    fn provide(&mut self, path: &Path, housed: &mut Vec<Change>) -> Result<(), Why> {
        if let Some(known) = self.directories.get(path.as_os_str()) {
            return *known;
        }
        let provided = match self.is_directory(path) {
            Some(true) => Ok(()),
            Some(false) => Err(OCCUPIED),
            None => self.provide_new(path, housed),
        };
        self.directories.insert(path.into(), provided);
        provided
    }

    fn provide_new(&mut self, path: &Path, housed: &mut Vec<Change>) -> Result<(), Why> {
        let parent = path.parent().ok_or(OCCUPIED)?;
        self.provide(parent, housed)?;
        self.let_entry(parent, path)?;
        let (before, after) = (Image::Absent, Image::Directory { mode: MODE });
        housed.push(Change { path: FilePath::new(path), before, after });
        self.moved.insert(path.into());
        Ok(())
    }

    /// Whether a change can be made: it has a directory to lie in, and whoever asks may make it.
    fn admit(&mut self, change: &Change, housed: &mut Vec<Change>) -> Result<(), Why> {
        let path = change.path.as_path();
        let parent = path.parent().ok_or(OCCUPIED)?;
        if !matches!(change.after, Image::Absent) {
            self.provide(parent, housed)?;
        }
        match only_bits(change) {
            Some(mode) => self.let_bits(path, mode),
            None => self.let_entry(parent, path),
        }
    }

    /// Whether an entry of a directory may come, be replaced or go. Inside of what is moved as a whole it may.
    fn let_entry(&mut self, directory: &Path, path: &Path) -> Result<(), Why> {
        if self.moved.contains(directory.as_os_str()) {
            return Ok(());
        }
        let refusal = self.ground(directory).refusal(path);
        let refusal = refusal.or_else(|| if self.looks_closely { refused_itself(path) } else { None });
        refusal.map_or(Ok(()), |refusal| Err(refusal.words()))
    }

    fn ground(&mut self, directory: &Path) -> Ground {
        if let Some(known) = self.grounds.get(directory.as_os_str()) {
            return *known;
        }
        let ground = match self.foreseen.get(&FilePath::new(directory)) {
            Some(Image::Directory { mode }) => Ground::own(*mode),
            Some(Image::Absent | Image::File(_) | Image::Symlink { .. }) | None if self.is_behind_opened(directory) => {
                Ground::behind_doors(directory)
            }
            Some(Image::Absent | Image::File(_) | Image::Symlink { .. }) | None => Ground::of(directory),
        };
        self.grounds.insert(directory.into(), ground);
        ground
    }

    /// Whether the plan opens a directory above this one.
    fn is_behind_opened(&self, directory: &Path) -> bool {
        directory.ancestors().skip(1).any(|above| self.opened.contains(above.as_os_str()))
    }

    /// Whether mode and time, or owner, group and attributes, may be set. A directory that is opened is open before anything is put into it.
    fn let_bits(&mut self, path: &Path, mode: Bits) -> Result<(), Why> {
        let is_foreseen = self.foreseen.get(&FilePath::new(path)).is_some();
        let refused = if mode == Bits::None { bearing_refused(path) } else { bits_refused(path) };
        if let Some(refusal) = refused.filter(|_| !is_foreseen) {
            return Err(refusal.words());
        }
        if let Bits::Opening { after } = mode {
            self.grounds.insert(path.into(), Ground::own(after));
            self.opened.insert(path.into());
        }
        Ok(())
    }

    /// Takes down what a path will be.
    fn note(&mut self, change: &Change, admitted: Result<(), Why>) {
        let is_directory = |image: &Image| matches!(image, Image::Directory { .. });
        let (was, becomes) = (is_directory(&change.before), is_directory(&change.after));
        let will_be = match admitted {
            Ok(()) if becomes => Ok(()),
            Ok(()) => Err(OCCUPIED),
            Err(_) if was => Ok(()),
            Err(why) => Err(why),
        };
        self.directories.insert(change.path.as_path().into(), will_be);
        if admitted.is_ok() && was != becomes {
            self.moved.insert(change.path.as_path().into());
        }
    }
}

/// What a change does that moves nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Bits {
    /// A directory gives its owner more than before.
    Opening {
        after: u32,
    },
    Other,
    /// All stays but owner, group or attributes.
    None,
}

/// What a change does to bits and time, if it does nothing else.
fn only_bits(change: &Change) -> Option<Bits> {
    match (&change.before, &change.after) {
        (Image::Directory { mode: before }, Image::Directory { mode: after }) => {
            let (opens, was_closed) = (before & !after & OPENED == 0, before & CHANGE != CHANGE);
            Some(if opens && !change.is_door() {
                Bits::Opening { after: *after }
            } else if was_closed {
                // It is open while something is changed behind it, whatever bits it gets in the end.
                Bits::Opening { after: after | OPENED }
            } else {
                Bits::Other
            })
        }
        (before, after) if before == after => Some(Bits::None),
        (Image::File(before), Image::File(after)) if before.blob == after.blob => Some(Bits::Other),
        _ => None,
    }
}

/// Parts a plan into what can be done, with the directories that it needs, and the paths of which it cannot, with the
/// reason.
pub(super) fn house(mut planned: Vec<Change>, homes: &mut Homes<'_>) -> (Vec<Change>, HashMap<FilePath, Why>) {
    // From the top down: what lies in a directory that cannot come cannot come either, and what lies in one that goes
    // as a whole goes with it.
    planned.sort_by(|a, b| a.path.cmp(&b.path));
    homes.looks_closely = planned.len() <= LOOKED_AT_CLOSELY;
    let (mut housed, mut refused) = (Vec::with_capacity(planned.len()), HashMap::new());
    for change in planned {
        let admitted = homes.admit(&change, &mut housed);
        homes.note(&change, admitted);
        match admitted {
            Ok(()) => housed.push(change),
            Err(why) => drop(refused.insert(change.path, why)),
        }
    }
    (housed, refused)
}
