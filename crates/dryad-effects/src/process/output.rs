//! What a command prints, in bounded memory: the first half, the last half, and all of it in an
//! artifact once the two do not meet any more.
//!
//! An artifact that is named holds everything; the only exception is an output beyond
//! [`ARTIFACT_LIMIT`], whose artifact ends with a line that says so.

use super::Surroundings;
use crate::artifact::Artifact;
use crate::mask::MaskStream;
use dryad_protocol::command::{CommandOutput, KeptBytes};
use std::collections::VecDeque;
use std::io::{self, Write as _};

/// Bytes kept of each end.
pub(super) const HALF: usize = 256 * 1024;

/// How far a cut may move to reach a line break.
const LINE_SLACK: usize = 1024;

/// Bytes of an artifact at most, lest a command that never stops printing fills the disk.
const ARTIFACT_LIMIT: u64 = 1024 * 1024 * 1024;

/// Collects output.
pub(super) struct Output {
    surroundings: Surroundings,
    mask: MaskStream,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    total_lines: u64,
    spill: Spill,
    artifact_limit: u64,
}

/// Where all of the output goes.
enum Spill {
    /// The two halves hold it.
    NotNeeded,
    /// Into this artifact, which has room for so many more bytes, or is closed.
    Into(Artifact, Option<u64>),
    /// It could not be written; the two ends are still there.
    Failed,
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
            spill: Spill::NotNeeded,
            artifact_limit: ARTIFACT_LIMIT,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        let covered = self.mask.push(piece);
        self.take(&covered);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.keep_all(bytes);
        self.total_bytes += bytes.len() as u64;
        self.total_lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..surplus);
    }

    /// Once not everything fits, everything goes to an artifact as well.
    fn keep_all(&mut self, bytes: &[u8]) {
        if matches!(self.spill, Spill::NotNeeded) && self.total_bytes + bytes.len() as u64 > 2 * HALF as u64 {
            self.spill = match self.surroundings.artifacts.create("bash") {
                Ok(artifact) => Spill::Into(artifact, Some(self.artifact_limit)),
                Err(_) => Spill::Failed,
            };
            let so_far = [self.head.as_slice(), self.tail.make_contiguous()].concat();
            self.append(&so_far);
        }
        self.append(bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Spill::Into(artifact, room) = &mut self.spill
            && let Err(error) = append_within(artifact, room, bytes)
        {
            tracing::warn!(path = %artifact.path.display(), %error, "output is not kept whole");
            // Half an artifact would be taken for a whole one, and the disk may be full.
            std::fs::remove_file(&artifact.path).ok();
            self.spill = Spill::Failed;
        }
    }

    /// The output so far, without the beginning of a character whose rest is on its way.
    pub(super) fn view(&mut self) -> String {
        if self.total_bytes <= (self.head.len() + self.tail.len()) as u64 {
            let all = [self.head.as_slice(), self.tail.make_contiguous()].concat();
            return String::from_utf8_lossy(whole_characters(&all)).into_owned();
        }
        self.ends().0
    }

    pub(super) fn finish(mut self) -> CommandOutput {
        let rest = self.mask.finish();
        self.take(&rest);
        let (text, truncated) = self.ends();
        let full_output = match self.spill {
            Spill::Into(artifact, _) => Some(artifact.number),
            Spill::NotNeeded | Spill::Failed => None,
        };
        CommandOutput { text, total_bytes: self.total_bytes, total_lines: self.total_lines, truncated, full_output }
    }

    fn ends(&mut self) -> (String, Option<KeptBytes>) {
        let tail = self.tail.make_contiguous();
        if self.total_bytes <= (self.head.len() + tail.len()) as u64 {
            self.head.extend_from_slice(tail);
            self.tail.clear();
            return (into_text(std::mem::take(&mut self.head)), None);
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

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes as much as there is room for; where that is not all, a line about it closes the artifact.
fn append_within(artifact: &mut Artifact, room: &mut Option<u64>, bytes: &[u8]) -> io::Result<()> {
    let Some(left) = *room else { return Ok(()) };
    let (fitting, beyond) = bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
    artifact.file.write_all(fitting)?;
    if beyond.is_empty() {
        *room = Some(left - fitting.len() as u64);
        return Ok(());
    }
    *room = None;
    artifact.file.write_all(b"\n[... what was printed after this is not kept ...]\n")
}

/// Drops a torn character at the end, and a torn line if its start is near.
fn cut_end(bytes: &[u8]) -> &[u8] {
    let near = bytes.len().saturating_sub(LINE_SLACK);
    let line = memchr::memrchr(b'\n', bytes).filter(|&at| at >= near);
    line.and_then(|at| bytes.get(..=at)).unwrap_or_else(|| whole_characters(bytes))
}

/// Drops a character at the end whose last bytes are missing; what is no character at all stays.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let back = (1..=bytes.len().min(4)).find(|&back| starts_character(bytes, bytes.len() - back));
    match back.map(|back| bytes.split_at(bytes.len() - back)) {
        // Without a length in the error the bytes are a good beginning that ends too early.
        Some((kept, last)) if std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none()) => kept,
        _ => bytes,
    }
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

#[cfg(test)]
mod tests;
