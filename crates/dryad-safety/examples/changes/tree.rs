//! A new tree of ten thousand files, and its deletion, watched by somebody who looks all the time.

use crate::many::settle;
use crate::place::{Place, Planned, add_median, text};
use crate::{Figures, Outcome};
use dryad_effects::fingerprint::image_at;
use dryad_protocol::image::Image;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const FILES: u64 = 10_000;
const SIZE: usize = 1024;
const ROUNDS: u64 = 3;

pub(crate) fn measure(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let place = Place::new(root)?;
    let tree = place.tree.join("new");
    let (mut created, mut deleted, mut restored) = (Vec::new(), Vec::new(), Vec::new());
    let mut half_seen = 0;
    for round in 0..ROUNDS {
        let creation = creation(&tree, round)?;
        half_seen += watched(&tree, &mut created, || place.apply(creation))?;
        settle(root)?;
        let deletion = deletion(&tree)?;
        half_seen += watched(&tree, &mut deleted, || place.apply(deletion))?;
        settle(root)?;
        half_seen += watched(&tree, &mut restored, || place.undo())?;
        settle(root)?;
        place.apply(self::deletion(&tree)?)?;
    }
    add_median(figures, "tree_created", created);
    add_median(figures, "tree_deleted", deleted);
    add_median(figures, "tree_restored", restored);
    figures.insert("tree_half_seen".to_owned(), half_seen.into());
    Ok(())
}

fn creation(tree: &Path, round: u64) -> Outcome<Planned> {
    let mut planned = Planned::default();
    planned.set(tree, Image::Absent, Image::Directory { mode: 0o755 });
    for number in 0..FILES {
        planned.write(&tree.join(number.to_string()), text(number + round * FILES, SIZE))?;
    }
    Ok(planned)
}

fn deletion(tree: &Path) -> Outcome<Planned> {
    let mut planned = Planned::default();
    planned.set(tree, image_at(tree)?, Image::Absent);
    for entry in fs::read_dir(tree)? {
        let path: PathBuf = entry?.path();
        planned.set(&path, image_at(&path)?, Image::Absent);
    }
    Ok(planned)
}

/// Does something and notes its time, while another thread looks at the tree; how often it saw a part of it.
fn watched(tree: &Path, times: &mut Vec<f64>, work: impl FnOnce() -> Outcome<f64>) -> Outcome<u64> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut half_seen = 0;
            while !is_over.load(Ordering::Relaxed) {
                half_seen += u64::from(is_half_there(tree));
            }
            half_seen
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        let half_seen = watcher.join().map_err(|_| "the watcher died")?;
        times.push(done?);
        Ok(half_seen)
    })
}

/// Whether a part of the tree, and not all of it, stands at its place.
fn is_half_there(tree: &Path) -> bool {
    let inode = || fs::symlink_metadata(tree).ok().map(|metadata| metadata.ino());
    let before = inode();
    let Ok(entries) = fs::read_dir(tree) else { return false };
    let count = entries.count() as u64;
    // What was moved away while it was listed did not stand there in part.
    count != FILES && before.is_some() && inode() == before
}
