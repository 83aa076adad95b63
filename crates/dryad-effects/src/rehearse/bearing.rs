//! What a file bears besides its content and bits: owner, group and the user's extended attributes.
//!
//! A file of a layer on the disk takes them along into the tree. One from memory is copied, and the copy would be this
//! user's and bare; so it is made here, on the disk, where it can get them before it is moved.

use super::capture::attributes;
use super::layers::Claim;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

/// How the names of attributes begin that any owner may set.
const USER: &[u8] = b"user.";

/// A copy of a file from memory, in a claim's directory, which bears what the file does; nothing if a plain copy does
/// so as well, or it cannot be made.
pub(super) fn copy_of(file: &Path, claim: &Claim, number: usize) -> Option<PathBuf> {
    let facts = fs::symlink_metadata(file).ok()?;
    let attributes: Vec<_> = attributes(file).into_iter().filter(|(name, _)| name.starts_with(USER)).collect();
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if (facts.uid(), facts.gid()) == own && attributes.is_empty() {
        return None;
    }
    let place = claim.directory().join(format!("gift-{number}"));
    let make = || -> io::Result<()> {
        fs::copy(file, &place)?;
        for (name, value) in &attributes {
            // What the file system does not take, a plain copy would lack as well.
            rustix::fs::lsetxattr(&place, name.as_slice(), value, rustix::fs::XattrFlags::empty()).ok();
        }
        chown(&place, Some(facts.uid()), Some(facts.gid()))
    };
    if make().is_err() {
        fs::remove_file(&place).ok();
        return None;
    }
    Some(place)
}
