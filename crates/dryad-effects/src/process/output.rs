//! What a command prints, in bounded memory: the first half, the last half, and all of it in an
//! artifact once the two do not meet any more.

use super::Surroundings;
use crate::artifact::Artifact;
use crate::mask::MaskStream;
use dryad_protocol::command::{CommandOutput, KeptBytes};
use std::collections::VecDeque;
use std::io::Write as _;

/// Bytes kept of each end.
const HALF: usize = 256 * 1024;

/// How far a cut may move to reach a line break.
const LINE_SLACK: usize = 1024;

/// Collects output.
pub(super) struct Output {
    surroundings: Surroundings,
    mask: MaskStream,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    total_lines: u64,
    /// All of it, once the halves do not meet.
    spill: Option<Artifact>,
}

impl Output {
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        Self {
            surroundings: surroundings.clone(),
            mask: MaskStream::new(surroundings.mask.clone()),
            head: Vec::new(),
            tail: VecDeque::new(),
            total_bytes: 0,
            total_lines: 0,
            spill: None,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        let covered = self.mask.push(piece);
        self.take(&covered);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        self.total_lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.keep_all(bytes);
        let (first, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..surplus);
    }

    /// Once not everything fits, everything goes to an artifact as well. When that cannot be
    /// written the two ends are still there.
    fn keep_all(&mut self, bytes: &[u8]) {
        if self.spill.is_none() && self.head.len() + self.tail.len() + bytes.len() > 2 * HALF {
            self.spill = self.surroundings.artifacts.create("bash").ok();
            let so_far = [self.head.as_slice(), self.tail.make_contiguous()].concat();
            self.append(&so_far);
        }
        self.append(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(artifact) = &mut self.spill
            && artifact.file.write_all(bytes).is_err()
        {
            self.spill = None;
        }
    }

    /// The output so far.
    pub(super) fn view(&mut self) -> String {
        self.ends().0
    }

    pub(super) fn finish(mut self) -> CommandOutput {
        let rest = self.mask.finish();
        self.take(&rest);
        let (text, truncated) = self.ends();
        CommandOutput {
            text,
            total_bytes: self.total_bytes,
            total_lines: self.total_lines,
            truncated,
            full_output: truncated.and(self.spill.map(|artifact| artifact.number)),
        }
    }

    fn ends(&mut self) -> (String, Option<KeptBytes>) {
        let tail = self.tail.make_contiguous();
        if self.total_bytes <= (self.head.len() + tail.len()) as u64 {
            return (String::from_utf8_lossy(&[self.head.as_slice(), tail].concat()).into_owned(), None);
        }
        let head = cut_end(&self.head);
        let tail = cut_start(tail);
        let kept = KeptBytes { head_bytes: head.len() as u64, tail_bytes: tail.len() as u64 };
        let missing = self.total_bytes - kept.head_bytes - kept.tail_bytes;
        let text = format!(
            "{}\n[... {missing} bytes truncated ...]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        );
        (text, Some(kept))
    }
}

/// Drops a torn character at the end, and a torn line if its start is near.
fn cut_end(bytes: &[u8]) -> &[u8] {
    let near = bytes.len().saturating_sub(LINE_SLACK);
    let line = memchr::memrchr(b'\n', bytes).filter(|&at| at >= near);
    let whole = || {
        let back = (0..bytes.len().min(4)).find(|&back| starts_character(bytes, bytes.len() - 1 - back));
        match back.map(|back| bytes.split_at(bytes.len() - 1 - back)) {
            Some((kept, last)) if std::str::from_utf8(last).is_err() => kept,
            _ => bytes,
        }
    };
    line.and_then(|at| bytes.get(..=at)).unwrap_or_else(whole)
}

/// Drops a torn character at the start, and a torn line if its end is near.
fn cut_start(bytes: &[u8]) -> &[u8] {
    let near = bytes.get(..bytes.len().min(LINE_SLACK)).unwrap_or_default();
    let line = memchr::memchr(b'\n', near).and_then(|at| bytes.get(at + 1..));
    let whole = || (0..bytes.len().min(4)).find(|&at| starts_character(bytes, at)).and_then(|at| bytes.get(at..));
    line.or_else(whole).unwrap_or(bytes)
}

fn starts_character(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte & 0b1100_0000 != 0b1000_0000)
}
