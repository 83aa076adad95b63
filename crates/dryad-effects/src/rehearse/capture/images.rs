//! Reads both sides of each pair and keeps what differs. Most of the time goes here, so several threads do it.

use super::super::doors;
use super::walk::Pair;
use super::{Captured, Content, NotCarried, Uncarried};
use crate::bearing::{self, Bearing};
use crate::fingerprint::{image_at, modified};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread;

/// So few are looked at one after the other: threads would cost more.
const FEW: usize = 64;

/// More threads would wait for the same disk.
const MOST_THREADS: usize = 8;

/// What came of one pair.
#[derive(Default)]
struct Compared {
    change: Option<(Change, Option<Content>)>,
    bearing: Option<(FilePath, Bearing)>,
    not_carried: Vec<NotCarried>,
}

/// Adds what the pairs come to.
pub(super) fn compare(pairs: &[Pair], captured: &mut Captured) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let size = if pairs.len() <= FEW { FEW } else { pairs.len().div_ceil(threads) };
    let compared = thread::scope(|scope| {
        let work = |part: &[Pair]| part.iter().map(look).collect::<io::Result<Vec<Compared>>>();
        let mut parts = pairs.chunks(size);
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut all = work(first)?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        io::Result::Ok(all)
    })?;
    let mut changes = Vec::with_capacity(compared.len());
    for one in compared {
        captured.not_carried.extend(one.not_carried);
        captured.bearings.extend(one.bearing);
        if let Some((change, content)) = one.change {
            changes.push(change);
            captured.contents.extend(content);
        }
    }
    doors::add(&mut changes);
    captured.changes = ChangeSet::new(changes);
    Ok(())
}

fn look(pair: &Pair) -> io::Result<Compared> {
    let mut compared = Compared::default();
    let path = FilePath::new(&pair.path);
    let note = |what: Uncarried| NotCarried { path: path.clone(), what };
    let before = match &pair.before {
        None => Image::Absent,
        Some(facts) => match image(&pair.path, facts) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                compared.not_carried.push(note(Uncarried::Unreadable));
                return Ok(compared);
            }
            other => other?,
        },
    };
    let after = match &pair.after {
        None => Image::Absent,
        Some((file, facts)) => layer_image(file, facts)?,
    };
    let change = Change { path: path.clone(), before, after };
    if change.ends_as_it_began() {
        compared.not_carried.extend(unsaid(pair).map(note));
        return Ok(compared);
    }
    if let (Some(stood), Some((_, stands))) = (&pair.before, &pair.after)
        && stood.is_file()
        && stands.is_file()
        && stood.nlink() > 1
    {
        compared.not_carried.push(note(Uncarried::HardLinkBroken));
    } else if let Some((_, stands)) = &pair.after
        && stands.is_file()
        && stands.nlink() > 1
    {
        compared.not_carried.push(note(Uncarried::HardLink));
    }
    if let Some((file, stands)) = &pair.after
        && (stands.is_symlink() || (stands.is_dir() && !pair.before.as_ref().is_some_and(Metadata::is_dir)))
    {
        compared.bearing = Bearing::new(stands, bearing::attributes(file)).map(|bearing| (path.clone(), bearing));
    }
    let content = match (&change.before, &change.after, &pair.after) {
        (before, Image::File(new), Some((file, _))) if before.blob() != Some(new.blob) => {
            Some(Content { path, blob: new.blob, file: file.clone() })
        }
        _ => None,
    };
    compared.change = Some((change, content));
    Ok(compared)
}

/// The image of something whose metadata is known already.
fn image(path: &Path, facts: &Metadata) -> io::Result<Image> {
    if facts.is_dir() { Ok(Image::Directory { mode: facts.mode() & 0o7777 }) } else { image_at(path) }
}

/// The image of an entry of the layer, which is ours: a file that is closed is opened to be read.
fn layer_image(path: &Path, facts: &Metadata) -> io::Result<Image> {
    match image(path, facts) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(0o600))?;
            let opened = image_at(path)?;
            Ok(match opened {
                Image::File(file) => {
                    Image::File(FileImage { mode: facts.mode() & 0o7777, modified: modified(facts), ..file })
                }
                other @ (Image::Absent | Image::Symlink { .. } | Image::Directory { .. }) => other,
            })
        }
        other => other,
    }
}

/// What differs although an image cannot tell.
fn unsaid(pair: &Pair) -> Option<Uncarried> {
    let (Some(before), Some((file, after))) = (&pair.before, &pair.after) else { return None };
    if (before.uid(), before.gid()) != (after.uid(), after.gid()) {
        return Some(Uncarried::Owner);
    }
    (bearing::attributes(&pair.path) != bearing::attributes(file)).then_some(Uncarried::Attributes)
}

/// Takes the kernel's own attributes off a file that leaves its layer. Its bits are set again when it is applied.
pub(in super::super) fn strip(path: &Path) -> io::Result<()> {
    for name in bearing::attribute_names(path).into_iter().filter(|name| name.starts_with(bearing::OVERLAY)) {
        let remove = || rustix::fs::lremovexattr(path, name.as_slice()).map_err(io::Error::from);
        match remove() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
                remove()?;
            }
            other => other?,
        }
    }
    Ok(())
}
