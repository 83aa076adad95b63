//! One pass over a session's file: which entries there are, and what is wrong with it.
//!
//! Lines are looked at, not kept. The invariant: everything before a torn or garbled end is found.

use super::disk::Rest;
use super::head::{self, Head, More};
use crate::problem::Problem;
use crate::tree::{LateParents, Line, Node, Tree};
use dryad_protocol::entry::SessionHeader;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::sync::OnceLock;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// The first line of a file.
#[derive(Debug)]
pub(crate) enum First {
    /// A header, and where the next line begins.
    Header(Box<SessionHeader>, u64),
    /// Nothing, or the beginning of a header that never was whole.
    Torn,
    /// Something else.
    Foreign,
}

/// What a pass found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) tree: Tree,
    pub(crate) problems: Vec<Problem>,
    /// How many bytes are good.
    pub(crate) good: u64,
    /// How many bytes there are.
    pub(crate) length: u64,
    /// Whether the last good line lacks its line break.
    pub(crate) open_ended: bool,
    /// The last name that was given to the session.
    pub(crate) name: Option<String>,
}

/// Reads the first line.
pub(crate) fn first(file: &File) -> io::Result<First> {
    let end = file.metadata()?.len();
    let mut line = Vec::new();
    // A header is short: what has no line break within this is something else.
    let mut start = io::Read::take(Rest { file, offset: 0, end }, 1024 * 1024);
    BufReader::new(&mut start).read_until(b'\n', &mut line)?;
    match serde_json::from_slice::<SessionHeader>(&line) {
        Ok(header) => Ok(First::Header(Box::new(header), line.len() as u64)),
        Err(_) if is_torn_header(&line) => Ok(First::Torn),
        Err(_) => Ok(First::Foreign),
    }
}

/// Whether these bytes are how a header begins, without its end.
fn is_torn_header(line: &[u8]) -> bool {
    const START: &[u8] = br#"{"type":"session""#;
    let shared = START.iter().zip(line).take_while(|(a, b)| a == b).count();
    let all_zero = line.iter().all(|&byte| byte == 0);
    !line.ends_with(b"\n") && (shared == line.len().min(START.len()) || all_zero)
}

/// Looks at every line after the first.
pub(crate) fn entries(file: &File, header: u64) -> io::Result<Scan> {
    let length = file.metadata()?.len();
    let mut scan = Scan { good: header, length, ..Scan::default() };
    let mut pass = Pass { late: LateParents::default(), bad: Vec::new() };
    let mut lines = Lines::new(Rest { file, offset: header, end: length });
    let (mut offset, mut number) = (header, 1);
    while let Some(bytes) = lines.next()? {
        number += 1;
        let end = offset + bytes.len() as u64;
        // The last line is the one that may be torn: it is read to its end.
        pass.line(&mut scan, bytes, offset, number, if end == length { head::whole } else { head::quick });
        offset = end;
    }
    pass.late.link(&mut scan.tree, &mut scan.problems);
    if header > 0 && scan.good == header {
        scan.open_ended = !ends_with_break(file, header)?;
    }
    Ok(scan)
}

/// The lines of a file, looked at where they were read to.
struct Lines<'a> {
    rest: Rest<'a>,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// How far no line break was found.
    searched: usize,
    /// How much of the buffer is filled.
    filled: usize,
}

impl<'a> Lines<'a> {
    fn new(rest: Rest<'a>) -> Self {
        Self { rest, buffer: vec![0; CHUNK], start: 0, searched: 0, filled: 0 }
    }

    /// The next line with its line break, which the last one may lack.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let unread = self.buffer.get(self.searched..self.filled).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unread) {
                return Ok(self.take(self.searched + at + 1));
            }
            self.searched = self.filled;
            if !self.fill()? {
                return Ok(self.take(self.filled));
            }
        }
    }

    fn take(&mut self, end: usize) -> Option<&[u8]> {
        let start = std::mem::replace(&mut self.start, end);
        self.searched = end;
        self.buffer.get(start..end).filter(|line| !line.is_empty())
    }

    /// Reads on; what is left of a line moves to the front. Tells whether there was anything.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        (self.start, self.searched) = (0, self.filled);
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        let read = io::Read::read(&mut self.rest, self.buffer.get_mut(self.filled..).unwrap_or_default())?;
        self.filled += read;
        Ok(read > 0)
    }
}

fn ends_with_break(file: &File, end: u64) -> io::Result<bool> {
    let mut last = [0];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut last, end - 1)?;
    Ok(last == *b"\n")
}

struct Pass {
    late: LateParents,
    /// The lines since the last good one that are none.
    bad: Vec<usize>,
}

impl Pass {
    fn line(&mut self, scan: &mut Scan, bytes: &[u8], offset: u64, number: usize, read: fn(&[u8]) -> Option<Head>) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if line.trim_ascii().is_empty() {
            // An empty line after a bad one belongs to the bad end.
            if self.bad.is_empty() && bytes.ends_with(b"\n") {
                scan.good = offset + bytes.len() as u64;
            }
            return;
        }
        let Some(head) = read(line) else {
            self.bad.push(number);
            return;
        };
        let skipped = self.bad.drain(..).map(|line| Problem::UnreadableLine { line });
        scan.problems.extend(skipped);
        scan.good = offset + bytes.len() as u64;
        scan.open_ended = !bytes.ends_with(b"\n");
        self.entry(scan, head, Line { offset, length: u32::try_from(line.len()).unwrap_or(u32::MAX) });
    }

    fn entry(&mut self, scan: &mut Scan, head: Head, line: Line) {
        // Some programs write their header a second time.
        let Some(id) = head.id else { return };
        let parent = head.parent.as_ref().map(|parent| scan.tree.position(parent));
        if scan.tree.get(&id).is_some() {
            scan.problems.push(Problem::DuplicateId { entry: id.clone() });
        }
        let known = parent.as_ref().and_then(|parent| parent.as_ref().ok().copied());
        let node = Node { id, parent: known, kind: head.kind, line: Some(line), entry: OnceLock::new() };
        let position = scan.tree.push(node);
        if let (Some(Err(_)), Some(parent)) = (parent, head.parent) {
            self.late.remember(position, parent);
        }
        match head.more {
            More::Nothing => {}
            More::Label { target: Some(target), label } => scan.tree.set_label(target, label),
            More::Label { target: None, .. } => {}
            More::Name(name) => scan.name = name.filter(|name| !name.trim().is_empty()),
        }
    }
}
