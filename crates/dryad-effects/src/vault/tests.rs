//! The vault on real files. What the file system at hand cannot do, or cannot refuse, goes through [`Calls`].

mod batches;
mod collecting;
mod damage;
mod elsewhere;
mod entering;
mod huge;
mod killed;
mod leaving;
mod model;
mod races;

use super::calls::Calls;
use super::*;
use crate::fingerprint::blob_id;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

/// A vault and a directory of files beside it.
struct Bench {
    directory: TempDir,
    vault: Vault,
}

impl Bench {
    fn new() -> Self {
        Self::with_calls(Calls::system())
    }

    fn with_calls(calls: Calls) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let vault = Vault::with_calls(directory.path().join("state/vault"), calls).unwrap();
        Self { directory, vault }
    }

    /// A path outside the vault.
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file outside the vault, and what it holds.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> (PathBuf, BlobId) {
        let path = self.path(name);
        fs::write(&path, bytes.as_ref()).unwrap();
        (path, blob_id(bytes.as_ref()))
    }

    /// A content that came in as a file, `times` over.
    fn absorbed(&self, bytes: &str, times: usize) -> BlobId {
        for number in 0..times {
            let (slot, id) = self.file(&format!("slot-{number}"), bytes);
            self.vault.absorb(&slot, id).unwrap();
        }
        blob_id(bytes.as_bytes())
    }

    /// Every file of the vault by its path below `blobs`, sorted.
    fn names(&self) -> Vec<String> {
        let blobs = self.vault.layout.blobs();
        let mut names = Vec::new();
        for shard in fs::read_dir(blobs).into_iter().flatten().map(Result::unwrap) {
            if shard.file_type().unwrap().is_dir() {
                names.extend(fs::read_dir(shard.path()).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                names.push(shard.path());
            }
        }
        let mut names: Vec<_> =
            names.iter().map(|path| path.strip_prefix(blobs).unwrap().display().to_string()).collect();
        names.sort();
        names
    }

    fn plain_name(&self, id: BlobId) -> PathBuf {
        self.vault.layout.path(id, 0)
    }

    /// Flips a bit of the file that holds this content.
    fn damage(&self, id: BlobId) {
        let path = self.plain_name(id);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
    }
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn opening_makes_nothing_and_refuses_a_file() {
    let bench = Bench::new();
    assert!(!bench.path("state").exists());
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 0, bytes: 0 });
    bench.vault.sync().unwrap();
    let (file, _) = bench.file("file", "");
    assert_eq!(Vault::open(file).unwrap_err().kind(), io::ErrorKind::NotADirectory);
}

#[test]
fn directories_and_written_files_are_the_owners_alone() {
    let bench = Bench::new();
    let id = bench.vault.put(b"secret").unwrap();
    bench.vault.sync().unwrap();
    let name = bench.plain_name(id);
    assert_eq!(mode(&name), 0o600);
    for directory in name.ancestors().skip(1).take_while(|path| *path != bench.directory.path()) {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
}

#[test]
fn names_are_read_back_and_no_second_spelling_is_taken() {
    use super::layout::Name;
    let id = blob_id(b"x");
    for number in [0, 1, 27] {
        let name = Name { id, number };
        assert_eq!(Name::parse(&name.file_name()), Some(name));
    }
    let digits = id.to_string();
    let short = digits.chars().skip(1).collect::<String>();
    for wrong in [digits.to_uppercase(), short, format!("{digits}.0"), format!("{digits}.01"), format!("{digits}.")] {
        assert_eq!(Name::parse(wrong.as_ref()), None, "{wrong}");
    }
}
