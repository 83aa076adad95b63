//! Opening a session's file, whatever state it is in.
//!
//! One pass finds the entries; what was said is read when it is needed. A torn or garbled end is put
//! aside as `<file>.broken` and cut off. A file that is not a session is never touched.

use crate::migrate;
use crate::places::Places;
use crate::problem::{OpenError, Problem, StoreError};
use crate::session::{Session, Store, header};
use crate::store::blob::Blobs;
use crate::store::disk::{self, Access, Refusal, Rest};
use crate::store::jsonl::Jsonl;
use crate::store::scan::{self, First, Scan};
use dryad_protocol::entry::{SESSION_VERSION, SessionHeader};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// Where pictures are, and where sessions that branch off it go.
    pub places: &'a Places,
    /// The directory it works in, in the place of the one it names.
    pub cwd: Option<&'a Path>,
    /// The directory that a session which is new works in.
    pub here: &'a Path,
    /// The time, for a session that is new.
    pub now: Timestamp,
}

impl Session {
    /// Opens a session to carry it on. Where no file is, a new session will be stored there.
    ///
    /// What killed processes left unfinished beside it is removed.
    ///
    /// A file of an older version is rewritten in the current one; one of a newer version is opened for
    /// reading only, and [`Session::read_only`] says so.
    pub fn open(path: &Path, opening: &Opening<'_>) -> Result<Self, OpenError> {
        disk::sweep_drafts(path.parent().unwrap_or(Path::new(".")));
        let file = match open_file(path, Access::Append) {
            Ok(file) => file,
            Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::at(path, opening));
            }
            Err(error) => return Err(error),
        };
        match first_line(&file, path)? {
            First::Header(header, length) => Self::from_file(path, file, *header, length, Access::Append, opening),
            First::Torn => Self::in_place_of_torn(path, &file, opening),
            First::Foreign => Err(OpenError::NotASession(path.to_owned())),
        }
    }

    /// Opens a session to look at it. The file is not locked and nothing about it is changed.
    pub fn open_for_reading(path: &Path, opening: &Opening<'_>) -> Result<Self, OpenError> {
        let file = open_file(path, Access::Read)?;
        match first_line(&file, path)? {
            First::Header(header, length) => Self::from_file(path, file, *header, length, Access::Read, opening),
            First::Torn | First::Foreign => Err(OpenError::NotASession(path.to_owned())),
        }
    }

    /// A new session that will be stored in this file.
    fn at(path: &Path, opening: &Opening<'_>) -> Self {
        let cwd = opening.cwd.unwrap_or(opening.here);
        Self::with(header(cwd, None, opening.now), Store::Deferred(path.to_owned()), Some(opening.places))
    }

    fn in_place_of_torn(path: &Path, file: &File, opening: &Opening<'_>) -> Result<Self, OpenError> {
        let failed = |error| OpenError::io(path, error);
        let mut torn = Vec::new();
        Rest { file, offset: 0, end: u64::MAX }.read_to_end(&mut torn).map_err(failed)?;
        let mut session = Self::at(path, opening);
        if !torn.is_empty() {
            let aside = broken(path);
            disk::rename(path, &aside).map_err(failed)?;
            session.problems.push(Problem::BadTail { bytes: torn.len() as u64, aside: Some(aside) });
        } else {
            disk::remove(path).map_err(failed)?;
        }
        Ok(session)
    }

    fn from_file(
        path: &Path,
        file: File,
        mut header: SessionHeader,
        header_length: u64,
        access: Access,
        opening: &Opening<'_>,
    ) -> Result<Self, OpenError> {
        if let Some(cwd) = opening.cwd {
            header.cwd = Some(FilePath::new(cwd));
        }
        if header.cwd.as_ref().is_none_or(|cwd| cwd.as_path().as_os_str().is_empty()) {
            return Err(OpenError::MissingCwd(path.to_owned()));
        }
        if header.version < SESSION_VERSION {
            return Self::from_older(path, &file, header, access, opening);
        }
        let failed = |error| OpenError::io(path, error);
        let mut scan = scan::entries(&file, header_length).map_err(failed)?;
        let why = match access {
            _ if header.version > SESSION_VERSION => {
                Some(StoreError::Newer { path: path.to_owned(), version: header.version })
            }
            Access::Read => Some(StoreError::ReadOnly(path.to_owned())),
            Access::Append => None,
        };
        settle_tail(path, &file, &mut scan, why.is_none()).map_err(failed)?;
        let jsonl = Jsonl::new(path.to_owned(), file, scan.good, scan.open_ended);
        let store = match why {
            Some(why) => Store::ReadOnly(jsonl, why),
            None => Store::File(jsonl),
        };
        let mut session = Self::with(header, store, Some(opening.places));
        (session.header_length, session.tree, session.problems) = (header_length, scan.tree, scan.problems);
        session.name = scan.name;
        session.blobs = Some(Blobs::new(opening.places.blobs().to_owned()));
        Ok(session)
    }

    /// Brings an older file into the current form: in its place, or in memory when it is only read.
    fn from_older(
        path: &Path,
        file: &File,
        header: SessionHeader,
        access: Access,
        opening: &Opening<'_>,
    ) -> Result<Self, OpenError> {
        let migrated = migrate::lines(file, &header).map_err(|error| OpenError::io(path, error))?;
        match access {
            Access::Append => {
                if !migrated.problems.is_empty() {
                    disk::keep_aside(path, &broken(path)).map_err(|error| OpenError::io(path, error))?;
                }
                let (file, header, length) = migrated.write(path).map_err(|error| OpenError::io(path, error))?;
                let mut session = Self::from_file(path, file, header, length, access, opening)?;
                session.problems.extend(migrated.problems);
                Ok(session)
            }
            Access::Read => {
                let why = StoreError::ReadOnly(path.to_owned());
                let file = file.try_clone().map_err(|error| OpenError::io(path, error))?;
                let store = Store::ReadOnly(Jsonl::new(path.to_owned(), file, 0, false), why);
                let mut session = Self::with(migrated.header.clone(), store, Some(opening.places));
                for entry in migrated.entries() {
                    session.push(entry);
                }
                (session.failure, session.problems) = (None, migrated.problems);
                Ok(session)
            }
        }
    }
}

pub(crate) fn open_file(path: &Path, access: Access) -> Result<File, OpenError> {
    if path.is_dir() {
        return Err(OpenError::IsDirectory(path.to_owned()));
    }
    disk::open(path, access).map_err(|refusal| match refusal {
        Refusal::Locked => OpenError::Locked(path.to_owned()),
        Refusal::Io(error) => OpenError::io(path, error),
    })
}

pub(crate) fn first_line(file: &File, path: &Path) -> Result<First, OpenError> {
    scan::first(file).map_err(|error| OpenError::io(path, error))
}

/// Puts a bad end aside where the file may be changed; reports it in any case.
fn settle_tail(path: &Path, file: &File, scan: &mut Scan, may_change: bool) -> io::Result<()> {
    let bytes = scan.length - scan.good;
    if bytes == 0 {
        return Ok(());
    }
    let aside = may_change.then(|| broken(path));
    if let Some(aside) = &aside {
        let mut tail = Vec::new();
        Rest { file, offset: scan.good, end: scan.length }.read_to_end(&mut tail)?;
        disk::put_tail_aside(file, &tail, scan.good, aside)?;
    }
    scan.problems.push(Problem::BadTail { bytes, aside });
    Ok(())
}

pub(crate) fn broken(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".broken");
    PathBuf::from(name)
}
