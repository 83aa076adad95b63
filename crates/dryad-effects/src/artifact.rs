//! Long outputs, kept whole for whoever wants to read on: `artifact://N`.
//!
//! One directory per session, made when the first one is kept. Files are named `<n>.<tool>.log` and
//! readable by their owner alone.
//!
//! Invariant: no two artifacts of a directory have one number, however many threads and processes make them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Characters of a tool's name that its artifacts carry.
const NAME_CHARACTERS: usize = 64;

/// The artifacts of one session. Cloning shares the directory.
#[derive(Clone, Debug)]
pub struct Artifacts {
    /// Nothing where none are kept.
    directory: Option<Arc<Path>>,
}

/// A new artifact, still empty.
#[derive(Debug)]
pub struct Artifact {
    /// Its number: it is read back as `artifact://<number>`.
    pub number: u64,
    /// Where it lies.
    pub path: PathBuf,
    /// To be written.
    pub file: File,
}

impl Artifacts {
    /// Keeps artifacts in this directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into().into()) }
    }

    /// Keeps none, for outputs that nobody can read on later.
    pub fn none() -> Self {
        Self { directory: None }
    }

    /// Makes the next artifact of a tool.
    ///
    /// The number is claimed by a file that has no other name. While the claim stands nobody else can take the number,
    /// and who could only take it because an earlier owner had moved on sees that owner's artifact.
    pub fn create(&self, tool: &str) -> io::Result<Artifact> {
        let directory = self.directory.as_deref().ok_or(io::ErrorKind::Unsupported)?;
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut number = self.numbers()?.max().map_or(0, |highest| highest + 1);
        loop {
            let claim = directory.join(number.to_string());
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&claim) {
                Ok(file) if self.find(number).is_none() => return named(file, &claim, number, tool),
                Ok(_) => fs::remove_file(&claim)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            number += 1;
        }
    }

    /// Keeps these bytes as the next artifact of a tool. What cannot be kept whole is not kept at all.
    pub fn keep(&self, tool: &str, bytes: &[u8]) -> io::Result<Artifact> {
        let mut artifact = self.create(tool)?;
        match artifact.file.write_all(bytes) {
            Ok(()) => Ok(artifact),
            Err(error) => {
                // Half an artifact would be taken for a whole one, and the disk may be full.
                fs::remove_file(&artifact.path).ok();
                Err(error)
            }
        }
    }

    /// Where artifact `number` lies, if there is one.
    pub fn find(&self, number: u64) -> Option<PathBuf> {
        let entries = fs::read_dir(self.directory.as_deref()?).ok()?;
        entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| number_of(path) == Some(number))
    }

    /// The numbers there are, in no order.
    pub fn numbers(&self) -> io::Result<impl Iterator<Item = u64> + use<>> {
        let entries = match self.directory.as_deref().map(fs::read_dir).transpose() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(entries.into_iter().flatten().filter_map(Result::ok).filter_map(|entry| number_of(&entry.path())))
    }
}

/// Gives an artifact its name, in the place of its claim.
fn named(file: File, claim: &Path, number: u64, tool: &str) -> io::Result<Artifact> {
    let path = claim.with_file_name(format!("{number}.{}.log", file_name_part(tool)));
    match fs::rename(claim, &path) {
        Ok(()) => Ok(Artifact { number, path, file }),
        Err(error) => {
            fs::remove_file(claim).ok();
            Err(error)
        }
    }
}

/// A tool's name as part of a file's name: others than built-in tools may be called anything.
fn file_name_part(tool: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    tool.chars().take(NAME_CHARACTERS).map(plain).collect()
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.split_once('.')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_and_are_found_again() {
        let root = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(root.path().join("kept"));
        assert_eq!(artifacts.numbers().unwrap().count(), 0);
        assert_eq!(artifacts.create("bash").unwrap().number, 0);
        let second = artifacts.create("grep").unwrap();
        assert_eq!((second.number, artifacts.find(1)), (1, Some(second.path)));
        assert_eq!(artifacts.find(7), None);
    }

    #[test]
    fn a_name_of_any_kind_stays_in_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(root.path().join("kept"));
        let names = ["../../up", "a/b", "", "mcp.tool", &"ü".repeat(300)];
        for (number, name) in names.into_iter().enumerate() {
            let artifact = artifacts.keep(name, name.as_bytes()).unwrap();
            assert_eq!(artifact.path.parent(), Some(root.path().join("kept").as_path()), "{name}");
            assert_eq!(artifacts.find(number as u64), Some(artifact.path.clone()), "{name}");
            assert_eq!(fs::read(artifact.path).unwrap(), name.as_bytes());
        }
    }

    #[test]
    fn tools_that_keep_at_the_same_time_never_share_a_number() {
        let root = tempfile::tempdir().unwrap();
        let make = |tool: &'static str| {
            let artifacts = Artifacts::new(root.path());
            move || (0..100).map(|_| artifacts.keep(tool, tool.as_bytes()).unwrap().number).collect::<Vec<_>>()
        };
        let threads = ["grep", "find", "fetch", "ls"].map(|tool| std::thread::spawn(make(tool)));
        let mut numbers: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 400);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 400, "no claim is left");
    }

    #[test]
    fn a_claim_that_a_dead_process_left_is_skipped() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("0"), "").unwrap();
        assert_eq!(Artifacts::new(root.path()).create("grep").unwrap().number, 1);
    }

    #[test]
    fn bytes_that_cannot_be_kept_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        assert!(Artifacts::new(root.path().join("file")).keep("grep", b"x").is_err());
    }
}
