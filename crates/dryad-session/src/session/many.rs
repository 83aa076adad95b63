//! Many entries at once: lines that lie one after the other are read together.

use super::{Session, Store};
use crate::problem::Problem;
use crate::store::jsonl::Jsonl;
use crate::store::line;
use crate::tree::{Line, Node};
use std::io;
use std::sync::Arc;

/// So many lines are read at once,
const LINES: usize = 64;
/// unless they take more bytes than this.
const BYTES: u64 = 1 << 20;
/// So many bytes between two lines are read along.
const NEAR: u64 = 4096;

impl Session {
    /// Holds these entries, which are in the order of the file. What cannot be read is left to whoever needs it.
    pub(crate) fn hold_many(&self, nodes: &[&Node], problems: &mut Vec<Problem>) {
        let (Store::File(file) | Store::ReadOnly(file, _)) = &self.store else { return };
        let missing: Vec<&Node> = nodes.iter().filter(|node| node.entry.get().is_none()).copied().collect();
        let mut bytes = Vec::new();
        for neighbours in missing.chunk_by(|one, next| are_near(one.line, next.line)) {
            for some in neighbours.chunks(LINES) {
                if self.hold_neighbours(file, some, &mut bytes, problems).is_err() {
                    for node in some {
                        self.hold(node, problems).ok();
                    }
                }
            }
        }
    }

    fn hold_neighbours(
        &self,
        file: &Jsonl,
        nodes: &[&Node],
        bytes: &mut Vec<u8>,
        problems: &mut Vec<Problem>,
    ) -> io::Result<()> {
        let line = |node: Option<&&Node>| node.and_then(|node| node.line).ok_or(io::ErrorKind::NotFound);
        let (first, last) = (line(nodes.first())?, line(nodes.last())?);
        let length = last.offset + u64::from(last.length) - first.offset;
        if length > BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        file.read_at(first.offset, length, bytes)?;
        for (node, line) in nodes.iter().filter_map(|node| Some((node, node.line?))) {
            let start = (line.offset - first.offset) as usize;
            let text = bytes.get(start..start + line.length as usize).unwrap_or_default();
            if let Ok(entry) = line::decode(text, node.kind, self.blobs.as_ref(), problems) {
                node.entry.get_or_init(|| Arc::new(entry));
            }
        }
        Ok(())
    }
}

/// Whether one line lies shortly after another one.
fn are_near(one: Option<Line>, next: Option<Line>) -> bool {
    let (Some(one), Some(next)) = (one, next) else { return false };
    let end = one.offset + u64::from(one.length);
    (end..end + NEAR).contains(&next.offset)
}
