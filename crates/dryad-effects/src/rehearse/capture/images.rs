//! Reads both sides of each pair and keeps what differs. Most of the time goes here, so several threads do it.

use super::super::doors;
use super::large::{self, LargeFiles};
use super::walk::Pair;
use super::{Captured, Content, NotCarried, Uncarried};
use crate::bearing::{self, Bearing};
use crate::fingerprint::{image_at, modified};
use crate::parallel::{both, in_parts};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// What came of one pair.
#[derive(Default)]
struct Compared {
    change: Option<(Change, Option<Content>)>,
    bearing: Option<(FilePath, Bearing)>,
    not_carried: Vec<NotCarried>,
}

/// Adds what the pairs come to.
pub(super) fn compare(pairs: &[Pair], captured: &mut Captured) -> io::Result<()> {
    let (heavy, light): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| large::is_heavy(pair));
    let (large, light) = match heavy.is_empty() {
        true => (LargeFiles::default(), look_at(&light, &LargeFiles::default())),
        false => both(|| LargeFiles::of(&heavy), || look_at(&light, &LargeFiles::default())),
    };
    let compared = light?.into_iter().chain(look_at(&heavy, &large)?);
    let mut changes = Vec::with_capacity(pairs.len());
    for one in compared {
        captured.not_carried.extend(one.not_carried);
        captured.bearings.extend(one.bearing);
        if let Some((change, content)) = one.change {
            changes.push(change);
            captured.contents.extend(content);
        }
    }
    if !heavy.is_empty() {
        changes.sort_by(|one, other| one.path.cmp(&other.path));
    }
    doors::add(&mut changes);
    captured.changes = ChangeSet::new(changes);
    Ok(())
}

fn look_at(pairs: &[&Pair], large: &LargeFiles) -> io::Result<Vec<Compared>> {
    let look_part = |part: &[&Pair]| part.iter().map(|pair| look(pair, large)).collect::<io::Result<Vec<_>>>();
    Ok(in_parts(pairs, look_part)?.into_iter().flatten().collect())
}

fn look(pair: &Pair, large: &LargeFiles) -> io::Result<Compared> {
    let mut compared = Compared::default();
    let path = FilePath::new(&pair.path);
    let note = |what: Uncarried| NotCarried { path: path.clone(), what };
    if large.is_untouched(pair) {
        compared.not_carried.extend(unsaid(pair).map(note));
        return Ok(compared);
    }
    let before = match &pair.before {
        None => Image::Absent,
        Some(facts) => match image(&pair.path, facts, large) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                compared.not_carried.push(note(Uncarried::Unreadable));
                return Ok(compared);
            }
            other => other?,
        },
    };
    let after = match &pair.after {
        None => Image::Absent,
        Some((file, facts)) => layer_image(file, facts, large)?,
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
fn image(path: &Path, facts: &Metadata, large: &LargeFiles) -> io::Result<Image> {
    match facts.is_dir() {
        true => Ok(Image::Directory { mode: facts.mode() & 0o7777 }),
        false => large.image(facts).map_or_else(|| image_at(path), Ok),
    }
}

/// The image of an entry of the layer, which is ours: a file that is closed is opened to be read.
fn layer_image(path: &Path, facts: &Metadata, large: &LargeFiles) -> io::Result<Image> {
    match image(path, facts, large) {
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

/// Opens a file that leaves its layer if the command has closed it to everybody: it is read once more. Its bits are set
/// again when it is applied.
pub(in super::super) fn open(path: &Path) -> io::Result<()> {
    let facts = path.symlink_metadata()?;
    if facts.is_file() && facts.mode() & 0o400 == 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Takes the kernel's own attributes off a file that leaves its layer.
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
