//! Reads the extended attributes of something.

use super::OVERLAY;
use rustix::fs::{getxattr, lgetxattr, listxattr, llistxattr};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The most that the kernel has: of a value, and of all names together.
const LONGEST: usize = 64 * 1024;

/// So much is enough for nearly all lists of names.
const MOSTLY: usize = 1024;

/// A name and a value.
pub(crate) type Attribute = (Vec<u8>, Vec<u8>);

/// Whether a link at the end of a path is meant itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Links {
    Themselves,
    Followed,
}

/// Names and values of the attributes of what stands at `path`, links not followed, but for those of a layer. What
/// cannot be read is empty.
pub(crate) fn attributes(path: &Path) -> Vec<Attribute> {
    let found = names(path, Links::Themselves).unwrap_or_default().into_iter();
    let value = |name: Vec<u8>| {
        let value = value(path, &name, Links::Themselves).ok().flatten().unwrap_or_default();
        (name, value)
    };
    sorted(found.filter(|name| !name.starts_with(OVERLAY)).map(value).collect())
}

/// The names of all attributes of what stands at `path`, links not followed.
pub(crate) fn attribute_names(path: &Path) -> Vec<Vec<u8>> {
    names(path, Links::Themselves).unwrap_or_default()
}

/// Names and values, but for those of a layer; an error where one cannot be read.
pub(super) fn read(path: &Path, links: Links) -> io::Result<Vec<Attribute>> {
    let mut found = Vec::new();
    for name in names(path, links)?.into_iter().filter(|name| !name.starts_with(OVERLAY)) {
        // What is gone meanwhile is not there.
        if let Some(value) = value(path, &name, links)? {
            found.push((name, value));
        }
    }
    Ok(sorted(found))
}

fn sorted(mut found: Vec<Attribute>) -> Vec<Attribute> {
    found.sort();
    found
}

fn names(path: &Path, links: Links) -> io::Result<Vec<Vec<u8>>> {
    let list = |names: &mut [u8]| match links {
        Links::Themselves => llistxattr(path, names),
        Links::Followed => listxattr(path, names),
    };
    let mut names = vec![0; MOSTLY];
    let mut length = list(&mut names);
    if length == Err(Errno::RANGE) {
        names = vec![0; LONGEST];
        length = list(&mut names);
    }
    match length {
        // Not every file system has attributes.
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        length => names.truncate(length?),
    }
    Ok(names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

fn value(path: &Path, name: &[u8], links: Links) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; LONGEST];
    let length = match links {
        Links::Themselves => lgetxattr(path, name, value.as_mut_slice()),
        Links::Followed => getxattr(path, name, value.as_mut_slice()),
    };
    match length {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => return Ok(None),
        length => value.truncate(length?),
    }
    value.shrink_to_fit();
    Ok(Some(value))
}
