//! What an entry of a tree bears besides content and bits: owner, group, extended attributes.
//!
//! A change set does not know of them. What is moved into its place has them with it; what has to be made anew there gets
//! them from here, as far as this user may give them: from what a command made, or from the file whose place it takes.

use crate::disk;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How the names of attributes begin that any owner may set.
const USER: &[u8] = b"user.";

/// Attributes by which access is granted: what replaces a file is open to those to whom it was.
const ACCESS: [&[u8]; 2] = [b"system.posix_acl_access", b"security.selinux"];

/// How the names of attributes begin that a layer puts on what lies in it.
pub(crate) const OVERLAY: &[u8] = b"user.overlay.";

/// Owner, group and attributes of something.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Bearing {
    owner: (u32, u32),
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Bearing {
    /// That of something with these facts and these attributes; nothing if anything new would have the same.
    pub(crate) fn new(facts: &Metadata, mut attributes: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        attributes.retain(|(name, _)| name.starts_with(USER) || ACCESS.contains(&name.as_slice()));
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let owner = (facts.uid(), facts.gid());
        (owner != own || !attributes.is_empty()).then_some(Self { owner, attributes })
    }

    /// That of what stands at `path`, links not followed; nothing if anything new would have the same.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::new(&path.symlink_metadata().ok()?, attributes(path))
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

/// Names and values of the attributes of what stands at `path`, but for those of a layer.
pub(crate) fn attributes(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = |name: Vec<u8>| {
        let mut value = vec![0; 64 * 1024];
        let length = rustix::fs::lgetxattr(path, name.as_slice(), value.as_mut_slice()).unwrap_or(0);
        value.truncate(length);
        (name, value)
    };
    let names = attribute_names(path).into_iter().filter(|name| !name.starts_with(OVERLAY));
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = names.map(value).collect();
    found.sort();
    found
}

/// The names of all attributes of what stands at `path`.
pub(crate) fn attribute_names(path: &Path) -> Vec<Vec<u8>> {
    let mut names = [0; 4096];
    let length = rustix::fs::llistxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default();
    names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}
