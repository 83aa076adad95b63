//! What an entry of a tree bears besides content and bits: owner, group and the user's extended attributes.
//!
//! A change set does not know of them. What is moved into its place has them with it; what has to be made anew there gets
//! them from here, as far as this user may give them.

use crate::disk;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How the names of attributes begin that any owner may set.
const USER: &[u8] = b"user.";

/// Owner, group and attributes of something.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Bearing {
    owner: (u32, u32),
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Bearing {
    /// That of something with these facts and these attributes; nothing if anything new would have the same.
    pub(crate) fn new(facts: &Metadata, mut attributes: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        attributes.retain(|(name, _)| name.starts_with(USER));
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let owner = (facts.uid(), facts.gid());
        (owner != own || !attributes.is_empty()).then_some(Self { owner, attributes })
    }

    /// Gives it to what stands at `place`, links not followed. Who may not give something away keeps it, and what the
    /// file system does not take is left out: as it would be without this. Bits may have to be set again.
    pub(crate) fn give(&self, place: &Path) {
        for (name, value) in &self.attributes {
            rustix::fs::lsetxattr(place, name.as_slice(), value, rustix::fs::XattrFlags::empty()).ok();
        }
        let stands = place.symlink_metadata().map(|facts| (facts.uid(), facts.gid()));
        if !stands.is_ok_and(|owner| owner == self.owner) {
            disk::set_owner(place, self.owner).ok();
        }
    }
}
