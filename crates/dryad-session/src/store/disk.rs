//! The only file of this crate that changes anything on disk.
//!
//! Everything is made for its owner alone: directories 0700, files 0600.
#![expect(clippy::disallowed_methods, reason = "the home of every write of the session store")]

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What surrounds the id in the name of a draft.
const DRAFT_START: &str = ".";
/// See [`DRAFT_START`].
const DRAFT_END: &str = ".draft";

/// How a file is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    /// To read it.
    Read,
    /// To read it and to append to it, alone.
    Append,
}

/// Why a file is not there to be used.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another process has it.
    Locked,
    /// It cannot be opened.
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a file; to append to it, it is locked as well.
pub(crate) fn open(path: &Path, access: Access) -> Result<File, Refusal> {
    match access {
        Access::Read => Ok(File::open(path)?),
        Access::Append => open_locked(path),
    }
}

/// Opens and locks the file that stands at the path. One that was replaced between the two is let go of.
fn open_locked(path: &Path) -> Result<File, Refusal> {
    loop {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Refusal::Locked),
            Err(TryLockError::Error(error)) => return Err(Refusal::Io(error)),
        }
        if stands_at(&file, path)? {
            return Ok(file);
        }
    }
}

/// Whether an open file is the one of this name.
fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let (held, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((held.dev(), held.ino()) == (named.dev(), named.ino()))
}

/// A file that is made under another name, to be renamed into place when it is whole. It is locked as long as
/// somebody works on it, so that what a killed process left can be told from it; see [`sweep_drafts`].
#[derive(Debug)]
pub(crate) struct Draft {
    file: File,
    draft: PathBuf,
    path: PathBuf,
    kept: bool,
}

impl Draft {
    /// Begins a file that shall stand at the path, whose directory is made when it is missing.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("."));
        make_directory(directory)?;
        loop {
            let draft = directory.join(format!("{DRAFT_START}{}{DRAFT_END}", uuid::Uuid::now_v7()));
            let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&draft)?;
            // Nobody but who sweeps holds it, and not for long.
            file.lock()?;
            match stands_at(&file, &draft) {
                Ok(true) => return Ok(Self { file, draft, path: path.to_owned(), kept: false }),
                // It was swept before it was locked.
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs it, puts it in the place of whatever stands there, and syncs the directory.
    pub(crate) fn replace(mut self) -> io::Result<File> {
        self.ready()?;
        fs::rename(&self.draft, &self.path)?;
        self.finish()
    }

    /// The same where nothing stands yet; otherwise `AlreadyExists`.
    pub(crate) fn place(mut self) -> io::Result<File> {
        self.ready()?;
        fs::hard_link(&self.draft, &self.path)?;
        fs::remove_file(&self.draft)?;
        self.finish()
    }

    fn ready(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.sync_all()
    }

    fn finish(&mut self) -> io::Result<File> {
        self.kept = true;
        sync_directory_of(&self.path)?;
        // A clone of the handle shares the lock.
        self.file.try_clone()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            fs::remove_file(&self.draft).ok();
        }
    }
}

/// Removes the drafts in a directory whose makers are gone. What cannot be removed does no harm.
pub(crate) fn sweep_drafts(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let drafts = entries
        .filter(|entry| is_draft(&entry.file_name()) && entry.file_type().is_ok_and(|file_type| file_type.is_file()));
    for path in drafts.map(|entry| entry.path()) {
        let Ok(file) = OpenOptions::new().append(true).open(&path) else { continue };
        // Whoever works on it holds the lock; whoever has just made it looks whether it is still there.
        if file.try_lock().is_ok() && stands_at(&file, &path).unwrap_or(false) {
            fs::remove_file(&path).ok();
        }
    }
}

fn is_draft(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(DRAFT_START)?.strip_suffix(DRAFT_END));
    name.is_some_and(|id| id.parse::<uuid::Uuid>().is_ok())
}

/// Makes a directory and those above it.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the names in a file's directory survive a loss of power.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Cuts a file that holds garbage at its end: the garbage goes to `aside` first.
pub(crate) fn put_tail_aside(file: &File, tail: &[u8], good: u64, aside: &Path) -> io::Result<()> {
    let mut kept = OpenOptions::new().append(true).create(true).mode(0o600).open(aside)?;
    kept.write_all(tail)?;
    kept.sync_all()?;
    sync_directory_of(aside)?;
    file.set_len(good)?;
    file.sync_all()
}

/// Keeps a file that will be replaced under a second name, unless something has that name.
pub(crate) fn keep_aside(path: &Path, aside: &Path) -> io::Result<()> {
    match fs::hard_link(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

/// Who else may hold a lock at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hold {
    /// Others who share it.
    Shared,
    /// Nobody.
    Alone,
}

/// Waits for a lock that has a file of its own, which is made when it is missing. It is held until the file is
/// dropped.
pub(crate) fn lock(path: &Path, hold: Hold) -> io::Result<File> {
    make_directory(path.parent().unwrap_or(Path::new(".")))?;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    match hold {
        Hold::Shared => file.lock_shared()?,
        Hold::Alone => file.lock()?,
    }
    Ok(file)
}

/// Makes a file as young as one that was written now; tells whether there is one.
pub(crate) fn renew(path: &Path) -> io::Result<bool> {
    match OpenOptions::new().append(true).open(path) {
        Ok(file) => file.set_times(fs::FileTimes::new().set_modified(now())).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The time by which files are dated.
fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Adds a line to a file, in one write, unless it has it.
pub(crate) fn add_line(path: &Path, line: &[u8]) -> io::Result<()> {
    let has_it = match fs::read(path) {
        Ok(text) => text.split(|&byte| byte == b'\n').any(|known| known == line),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if has_it {
        return Ok(());
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(&[line, b"\n"].concat())?;
    file.sync_all()
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Renames a file or directory and syncs both directories.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(directory) = to.parent() {
        make_directory(directory)?;
    }
    fs::rename(from, to)?;
    sync_directory_of(to)?;
    sync_directory_of(from)
}

/// Renames a file or a directory of files; to another file system it is copied, then removed.
pub(crate) fn move_away(from: &Path, to: &Path) -> io::Result<()> {
    match rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        outcome => return outcome,
    }
    if from.is_dir() {
        copy_files(from, to)?;
        return fs::remove_dir_all(from);
    }
    fs::copy(from, to)?;
    File::open(to)?.sync_all()?;
    sync_directory_of(to)?;
    fs::remove_file(from)
}

/// Copies the files of a directory that holds no others.
pub(crate) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    make_directory(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// What follows an offset of a file, read without moving the file's own position.
#[derive(Debug)]
pub(crate) struct Rest<'a> {
    pub(crate) file: &'a File,
    pub(crate) offset: u64,
    pub(crate) end: u64,
}

impl io::Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.file.read_at(buffer.get_mut(..wanted).unwrap_or_default(), self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
