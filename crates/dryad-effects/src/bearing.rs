//! What an entry of a tree bears besides content and bits: owner, group, extended attributes.
//!
//! A change set does not know of them. What is moved into its place has them with it; what has to be made anew there gets
//! them from here, as far as this user may give them: from what a command made, from the file whose place it takes, or, if
//! an undo brings it back, from what was [kept](crate::bearings) when it was taken away.

use crate::disk;
use rustix::fs::{XattrFlags, lremovexattr, lsetxattr};
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How the names of attributes begin that any owner may set.
const USER: &[u8] = b"user.";

/// Attributes by which access is granted: what replaces a file is open to those to whom it was.
const ACCESS: [&[u8]; 2] = [b"system.posix_acl_access", LABEL];

/// What a security policy calls a file. It is for the policy to say whether that can be set.
const LABEL: &[u8] = b"security.selinux";

/// Rights that a program lends to whoever runs it: they belong to its content, and nothing else may inherit them.
const CAPABILITY: &[u8] = b"security.capability";

/// How the names of attributes begin that a layer puts on what lies in it.
pub(crate) const OVERLAY: &[u8] = b"user.overlay.";

/// A user and a group.
pub(crate) type Owner = (u32, u32);

/// Owner, group and attributes of something.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Bearing {
    owner: Owner,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What of a bearing could not be given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotGiven {
    /// Owner or group.
    Owner,
    /// Attributes.
    Attributes,
}

impl Bearing {
    /// That of something with these facts and these attributes; nothing if anything new would have the same.
    pub(crate) fn new(facts: &Metadata, attributes: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        Some(Self::whole(facts, attributes)).filter(Self::is_special)
    }

    /// That of what stands at `path`, links not followed; nothing if anything new would have the same.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::at(path).ok().filter(Self::is_special)
    }

    /// That of what stands at `path`, links not followed.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::whole(&path.symlink_metadata()?, attributes(path)))
    }

    /// That of something of this owner without attributes.
    pub(crate) fn plain(owner: Owner) -> Self {
        Self { owner, attributes: Vec::new() }
    }

    fn whole(facts: &Metadata, mut attributes: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        attributes.retain(|(name, _)| is_borne(name));
        Self { owner: (facts.uid(), facts.gid()), attributes }
    }

    /// Whether anything new would have another one.
    pub(crate) fn is_special(&self) -> bool {
        *self != Self::plain(own())
    }

    /// Whose it is.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// The same for something else that takes the place.
    pub(crate) fn inherited(mut self) -> Self {
        self.attributes.retain(|(name, _)| name != CAPABILITY);
        self
    }

    /// Gives it to what stands at `place`, links not followed, and takes off what is not part of it. Who may not give
    /// something away keeps it, and what the file system does not take is left out. Bits may have to be set again.
    pub(crate) fn give(&self, place: &Path) {
        let Ok(stands) = Self::at(place) else { return };
        // The owner first: a change of his takes capabilities off.
        if stands.owner != self.owner {
            disk::set_owner(place, self.owner).ok();
        }
        for (name, _) in
            stands.attributes.iter().filter(|(name, _)| !self.attributes.iter().any(|(own, _)| own == name))
        {
            lremovexattr(place, name.as_slice()).ok();
        }
        for (name, value) in &self.attributes {
            lsetxattr(place, name.as_slice(), value, XattrFlags::empty()).ok();
        }
    }

    /// What of it this user could not give to something of his own.
    pub(crate) fn ungivable(&self) -> Option<NotGiven> {
        if rustix::process::geteuid().is_root() {
            return None;
        }
        let (user, group) = self.owner;
        let is_ours = |group: u32| {
            let groups = rustix::process::getgroups().unwrap_or_default();
            group == own().1 || groups.iter().any(|member| member.as_raw() == group)
        };
        match user == own().0 && is_ours(group) {
            false => Some(NotGiven::Owner),
            true => self.attributes.iter().any(|(name, _)| name == CAPABILITY).then_some(NotGiven::Attributes),
        }
    }

    /// What of it something else does not have.
    pub(crate) fn missing_in(&self, other: &Self) -> Option<NotGiven> {
        let counting = |bearing: &Self| {
            let attributes = bearing.attributes.iter().filter(|(name, _)| name != LABEL);
            attributes.cloned().collect::<Vec<_>>()
        };
        match self.owner == other.owner {
            false => Some(NotGiven::Owner),
            true => (counting(self) != counting(other)).then_some(NotGiven::Attributes),
        }
    }
}

impl NotGiven {
    /// What is missing, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Owner => "its owner or group could not be given back",
            Self::Attributes => "not all of its attributes could be given back",
        }
    }
}

/// Has a copy bear what the file that it was made of does.
pub(crate) fn hand_on(from: &Path, to: &Path) {
    if let Some(bearing) = Bearing::of(from) {
        bearing.give(to);
    }
}

/// Whose anything new is.
pub(crate) fn own() -> Owner {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Whether an attribute is part of a bearing.
fn is_borne(name: &[u8]) -> bool {
    name.starts_with(USER) || name == CAPABILITY || ACCESS.contains(&name)
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
