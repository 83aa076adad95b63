//! What an entry of a tree bears besides content and bits: owner, group, extended attributes.
//!
//! A change set does not know of them. What is moved into its place has them with it; what has to be made anew there gets
//! them from here, as far as this user may give them: from what a command made, from the file whose place it takes, or, if
//! an undo brings it back, from what was [kept](crate::bearings) when it was taken away. What stays where it is can be
//! given another one [in place](Bearing::give_in_place).
//!
//! Limitation: of attributes that the kernel or a policy keeps for itself only capabilities and the label are known.

mod attributes;
mod back;

pub(crate) use attributes::{attribute_names, attributes};
pub use back::Kind;
pub(crate) use back::Return;

use crate::{disk, opened};
use attributes::{Links, read};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How the names of attributes begin that any owner may set.
const USER: &[u8] = b"user.";

/// How the names of those begin that only root may set, and sees.
const TRUSTED: &[u8] = b"trusted.";

/// Attributes by which access is granted: what replaces a file is open to those to whom it was.
const ACCESS: [&[u8]; 3] = [b"system.posix_acl_access", b"system.posix_acl_default", LABEL];

/// What a security policy calls a file. It is for the policy to say whether that can be set.
const LABEL: &[u8] = b"security.selinux";

/// Rights that a program lends to whoever runs it: they belong to its content, and nothing else may inherit them.
const CAPABILITY: &[u8] = b"security.capability";

/// How the names of attributes begin that a layer puts on what lies in it.
pub(crate) const OVERLAY: &[u8] = b"user.overlay.";

/// The same of a layer that root has mounted.
const TRUSTED_OVERLAY: &[u8] = b"trusted.overlay.";

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
    ///
    /// # Errors
    ///
    /// When nothing stands there, or an attribute cannot be read.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::whole(&path.symlink_metadata()?, read(path, Links::Themselves)?))
    }

    /// The same, whatever the bits of one's own say.
    pub(crate) fn behind(path: &Path) -> io::Result<Self> {
        opened::reading(path, |_| Self::at(path))
    }

    /// That of what a descriptor is open for, with these facts; `place` is its name among those of a process.
    pub(crate) fn of_open(place: &Path, facts: &Metadata) -> io::Result<Self> {
        Ok(Self::whole(facts, read(place, Links::Followed)?))
    }

    /// That of something of this owner without attributes.
    pub(crate) fn plain(owner: Owner) -> Self {
        Self { owner, attributes: Vec::new() }
    }

    fn whole(facts: &Metadata, mut attributes: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        attributes.retain(|(name, _)| is_borne(name));
        Self { owner: (facts.uid(), facts.gid()), attributes }
    }

    /// The same of another owner.
    pub(crate) fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
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
        self.try_give(place).ok();
    }

    /// The same for what stays where it is and was there before. Can be repeated.
    ///
    /// # Errors
    ///
    /// When something else than a refusal is in the way, such as a full disk.
    pub(crate) fn give_in_place(&self, place: &Path) -> io::Result<()> {
        match opened::writing(place, || self.try_give(place)) {
            Err(error) if is_refusal(&error) => Ok(()),
            other => other,
        }
    }

    /// Gives as much of it as can be given. An error is the worst that was in the way.
    fn try_give(&self, place: &Path) -> io::Result<()> {
        let stands = Self::at(place)?;
        let value_in = |bearing: &[(Vec<u8>, Vec<u8>)], name: &[u8]| {
            bearing.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let mut given = Vec::new();
        // The owner first: a change of his takes capabilities off.
        if stands.owner != self.owner {
            given.push(disk::set_owner(place, self.owner));
        }
        for (name, _) in stands.attributes.iter().filter(|(name, _)| value_in(&self.attributes, name).is_none()) {
            given.push(disk::remove_attribute(place, name));
        }
        let stands = if given.is_empty() { stands } else { Self::at(place)? };
        for (name, value) in &self.attributes {
            if value_in(&stands.attributes, name).as_ref() != Some(value) {
                given.push(disk::set_attribute(place, name, value));
            }
        }
        let errors = given.into_iter().filter_map(Result::err);
        errors.min_by_key(is_refusal).map_or(Ok(()), Err)
    }

    /// What of it this user could not give to something of his own.
    pub(crate) fn ungivable(&self) -> Option<NotGiven> {
        if rustix::process::geteuid().is_root() {
            return None;
        }
        let (user, group) = self.owner;
        match user == own().0 && back::is_member(group) {
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
    name.starts_with(USER)
        || (name.starts_with(TRUSTED) && !name.starts_with(TRUSTED_OVERLAY))
        || name == CAPABILITY
        || ACCESS.contains(&name)
}

/// Whether something may not be given, or is nothing that this file system knows.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported)
        || error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error())
}
