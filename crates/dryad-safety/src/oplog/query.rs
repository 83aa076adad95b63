//! Questions to the log on disk: the newest entries, an id for its first letters, a recent id.

use super::file::FileLog;
use super::lines::JudgedLines;
use super::record::{Entry, id_of};
use super::state::{States, effective};
use super::{DamageKind, LogError};
use dryad_protocol::id::OperationId;

/// How many of the ids that a prefix may mean are listed.
const CANDIDATES: usize = 8;

/// How many entries count as recent.
const RECENT: usize = 16;

/// The entries of a log, newest first; made by [`FileLog::newest_first`].
#[derive(Debug)]
pub struct NewestFirst<'a> {
    log: &'a FileLog,
    /// What stands in the way of reading anything.
    problem: Option<LogError>,
    lines: JudgedLines<'a>,
}

impl FileLog {
    /// The entries, newest first, as they are at this moment.
    ///
    /// A damaged entry is an error that names its place; the entries before it follow.
    pub fn newest_first(&self) -> NewestFirst<'_> {
        match self.tail() {
            // Not even its lines are understood.
            Ok(tail) if tail.end == 0 && tail.length > 0 => self.entries_before(0, self.newer_version()),
            Ok(tail) => self.entries_before(tail.end, None),
            Err(error) => self.entries_before(0, Some(error)),
        }
    }

    /// How many entries there are, and the first problem with one of them, from the end; a newer version counts
    /// as one.
    pub fn count(&self) -> (u64, Option<LogError>) {
        let mut entries = self.newest_first();
        let (mut count, mut problem) = (0, self.newer_version());
        while let Some(id) = entries.next_with(id_of) {
            match id {
                Ok(_) => count += 1,
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        (count, problem)
    }

    /// How many bytes at the end are no record: a torn write, or an append in flight.
    pub fn torn_bytes(&self) -> Result<u64, LogError> {
        self.tail().map(|tail| tail.length - tail.end)
    }

    /// The entries, newest first, each with whether it still counts.
    pub fn with_states(&self) -> States<NewestFirst<'_>> {
        effective(self.newest_first())
    }

    /// The id that starts with `prefix`, or that is `prefix`.
    pub fn find(&self, prefix: &str) -> Result<OperationId, LogError> {
        let mut candidates: Vec<OperationId> = Vec::new();
        let mut more = false;
        let mut entries = self.newest_first();
        while let Some(id) = entries.next_with(id_of) {
            let id = match id {
                Ok(id) => id,
                Err(LogError::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            if id.as_str() == prefix {
                return Ok(id);
            }
            if !prefix.is_empty() && id.as_str().starts_with(prefix) && !candidates.contains(&id) {
                more = candidates.len() == CANDIDATES;
                candidates.extend((!more).then_some(id));
            }
        }
        decide(prefix, candidates, more)
    }

    /// Whether one of the newest entries has this id: those made after it, and some more, in case several
    /// processes have overtaken each other.
    pub fn contains_recent(&self, id: &OperationId) -> Result<bool, LogError> {
        let mut entries = self.newest_first();
        let mut older = 0;
        while older < RECENT {
            match entries.next_with(id_of) {
                Some(Ok(found)) if found == *id => return Ok(true),
                Some(Ok(found)) => older += usize::from(found < *id),
                Some(Err(LogError::Damaged { .. })) => older += 1,
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(false)
    }

    fn entries_before(&self, end: u64, problem: Option<LogError>) -> NewestFirst<'_> {
        NewestFirst { log: self, problem, lines: JudgedLines::before(&self.file, end) }
    }
}

impl Iterator for NewestFirst<'_> {
    type Item = Result<Entry, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(Entry::parse)
    }
}

impl NewestFirst<'_> {
    /// How many bytes of the file were read so far.
    #[cfg(test)]
    pub(super) fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    /// What `parse` makes of the next entry's JSON.
    fn next_with<T>(&mut self, parse: impl FnOnce(&[u8]) -> Result<T, DamageKind>) -> Option<Result<T, LogError>> {
        if let Some(problem) = self.problem.take() {
            return Some(Err(problem));
        }
        let (line, judgement) = match self.lines.next()? {
            Ok(judged) => judged,
            Err(error) => return Some(Err(self.give_up(error))),
        };
        // The first line is the header.
        if line.offset == 0 {
            return None;
        }
        let parsed = judgement.and_then(|()| line.parts()).and_then(|(_, json)| parse(json));
        Some(parsed.map_err(|what| self.explain(line.offset, what)))
    }

    fn explain(&self, offset: u64, what: DamageKind) -> LogError {
        match what {
            DamageKind::Unreadable(_) => self.log.newer_version().unwrap_or(LogError::Damaged { offset, what }),
            DamageKind::Torn
            | DamageKind::Garbled
            | DamageKind::HashMismatch
            | DamageKind::Changes(_)
            | DamageKind::ChangesUnavailable { .. }
            | DamageKind::ChangesMismatch { .. } => LogError::Damaged { offset, what },
        }
    }

    /// Ends here: what cannot be read now cannot be read at the next call either.
    fn give_up(&mut self, error: std::io::Error) -> LogError {
        self.lines = JudgedLines::before(&self.log.file, 0);
        LogError::io(self.log.file.path())(error)
    }
}

fn decide(prefix: &str, mut candidates: Vec<OperationId>, more: bool) -> Result<OperationId, LogError> {
    match candidates.pop() {
        None => Err(LogError::Unknown { prefix: prefix.to_owned() }),
        Some(id) if candidates.is_empty() => Ok(id),
        Some(last) => {
            candidates.push(last);
            Err(LogError::Ambiguous { prefix: prefix.to_owned(), candidates, more })
        }
    }
}
