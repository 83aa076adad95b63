//! The lines of a text that are shown, found by streaming.
//!
//! ```text
//!   skip `offset - 1` lines ─► keep lines until a limit ─► is there more? ─► count it, if that is quick
//! ```

use crate::truncate::{READ_LIMITS, TruncatedBy, Truncation, format_size};
use dryad_protocol::call::ToolResult;
use dryad_safety::tool::{PlanContext, ToolError};
use serde_json::json;
use std::io::{self, BufRead, Read as _};

/// Bytes behind the window that are read only to count lines.
const COUNTED_BYTES: u64 = 64 * 1024 * 1024;

/// Lines skipped between two looks at whether the call is still wanted.
const LINES_BETWEEN_CHECKS: u64 = 10_000;

/// Which lines are wanted.
pub(super) struct Window {
    /// The first line, from 1.
    first: u64,
    /// How many lines the caller wants at most.
    limit: Option<u64>,
}

/// What was kept.
struct Kept {
    bytes: Vec<u8>,
    lines: u64,
    stopped_by: TruncatedBy,
    /// Lines read but not kept: the one that was over the limit.
    dropped: u64,
    /// The size of the first line when it alone is over the limit.
    oversized: Option<u64>,
}

impl Window {
    /// The window that these arguments ask for.
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        Self { first: offset.unwrap_or(1).max(1), limit: limit.map(|limit| limit.max(1)) }
    }

    /// Reads the window; `total_bytes` is the size of the whole text, when known.
    pub(super) fn read(
        &self,
        mut reader: impl BufRead,
        total_bytes: Option<u64>,
        context: &PlanContext,
    ) -> Result<ToolResult, ToolError> {
        let failed = |error: io::Error| ToolError::new(format!("Cannot read the file: {error}"));
        let skipped = self.skip(&mut reader, context)?;
        let is_empty = reader.fill_buf().map_err(failed)?.is_empty();
        if is_empty && (skipped > 0 || self.first > 1) {
            let text = format!("Offset {} is past the end of the file ({skipped} lines)", self.first);
            return Err(ToolError::new(text));
        }
        if is_empty {
            return Ok(self.result("(empty file)".to_owned(), &self.record(None, Some(0), total_bytes)));
        }
        let kept = self.keep(&mut reader).map_err(failed)?;
        let behind = lines_behind(&mut reader, context).map_err(failed)?.map(|behind| behind + kept.dropped);
        let total_lines = behind.map(|behind| skipped + kept.lines + behind);
        let record = self.record(Some(&kept), total_lines, total_bytes);
        Ok(self.result(self.text(kept, behind), &record))
    }

    fn skip(&self, reader: &mut impl BufRead, context: &PlanContext) -> Result<u64, ToolError> {
        let mut skipped = 0;
        while skipped + 1 < self.first {
            let count =
                reader.skip_until(b'\n').map_err(|error| ToolError::new(format!("Cannot read the file: {error}")))?;
            if count == 0 {
                break;
            }
            skipped += 1;
            if skipped % LINES_BETWEEN_CHECKS == 0 {
                context.check_cancelled()?;
            }
        }
        Ok(skipped)
    }

    fn keep(&self, reader: &mut impl BufRead) -> io::Result<Kept> {
        let mut kept = Kept { bytes: Vec::new(), lines: 0, stopped_by: TruncatedBy::None, dropped: 0, oversized: None };
        let wanted = self.limit.unwrap_or(u64::MAX);
        loop {
            if kept.lines >= wanted || reader.fill_buf()?.is_empty() {
                return Ok(kept);
            }
            if kept.lines >= READ_LIMITS.lines as u64 {
                kept.stopped_by = TruncatedBy::Lines;
                return Ok(kept);
            }
            let before = kept.bytes.len();
            let budget = (READ_LIMITS.bytes - before) as u64;
            let count = reader.by_ref().take(budget + 1).read_until(b'\n', &mut kept.bytes)? as u64;
            if count > budget {
                let ended = kept.bytes.last() == Some(&b'\n');
                kept.bytes.truncate(before);
                kept.stopped_by = TruncatedBy::Bytes;
                let rest = if ended { 0 } else { reader.skip_until(b'\n')? as u64 };
                kept.dropped = 1;
                kept.oversized = (kept.lines == 0).then_some(count + rest);
                return Ok(kept);
            }
            kept.lines += 1;
        }
    }

    fn record(&self, kept: Option<&Kept>, total_lines: Option<u64>, total_bytes: Option<u64>) -> Truncation {
        let mut record = READ_LIMITS.record();
        record.total_lines = total_lines;
        record.total_bytes = total_bytes;
        if let Some(kept) = kept {
            record.truncated_by = kept.stopped_by;
            record.truncated = kept.stopped_by != TruncatedBy::None;
            record.output_lines = kept.lines;
            record.output_bytes = kept.bytes.len() as u64;
            record.first_line_exceeds_limit = kept.oversized.is_some();
        }
        record
    }

    /// The shown text, with a notice when something is left. `behind` is how many lines, when known.
    fn text(&self, kept: Kept, behind: Option<u64>) -> String {
        if let Some(size) = kept.oversized {
            let limit = format_size(READ_LIMITS.bytes as u64);
            let (line, size) = (self.first, format_size(size));
            return format!("[Line {line} is {size}, over the {limit} limit; take it in parts with bash]");
        }
        let last = self.first + kept.lines - 1;
        let notice = match (kept.stopped_by, behind) {
            (TruncatedBy::None, Some(0)) => None,
            (TruncatedBy::None, Some(more)) => {
                Some(format!("[{more} more lines in file, use offset={} to continue]", last + 1))
            }
            (TruncatedBy::None | TruncatedBy::Lines | TruncatedBy::Bytes, _) => {
                Some(format!("[Showing lines {}-{last}, use offset={} to continue]", self.first, last + 1))
            }
        };
        let text = match String::from_utf8(kept.bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        match notice {
            None => text,
            Some(notice) => format!("{}\n\n{notice}", text.strip_suffix('\n').unwrap_or(&text)),
        }
    }

    fn result(&self, text: String, record: &Truncation) -> ToolResult {
        ToolResult::text(text).with_details(json!({"truncation": record}))
    }
}

/// The lines left, unless there is too much to count.
fn lines_behind(reader: &mut impl BufRead, context: &PlanContext) -> io::Result<Option<u64>> {
    let (mut lines, mut bytes, mut ended) = (0, 0, true);
    loop {
        let piece = reader.fill_buf()?;
        let Some(&last) = piece.last() else { break };
        let count = piece.len();
        lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
        ended = last == b'\n';
        bytes += count as u64;
        reader.consume(count);
        if bytes > COUNTED_BYTES || context.cancel.is_cancelled() {
            return Ok(None);
        }
    }
    Ok(Some(lines + u64::from(!ended)))
}
