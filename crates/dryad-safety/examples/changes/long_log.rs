//! The newest operations of a log of a hundred thousand, beside reading the file once.

use crate::place::{add_median, head, milliseconds};
use crate::{Figures, Outcome};
use dryad_effects::fingerprint::blob_id;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::path::FilePath;
use dryad_safety::oplog::FileLog;
use std::fs;
use std::path::Path;
use std::time::Instant;

const OPERATIONS: u64 = 100_000;
const SHOWN: usize = 20;
const ROUNDS: usize = 11;

pub(crate) fn measure(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let directory = root.join("log");
    let log = FileLog::open(&directory)?;
    for number in 0..OPERATIONS {
        log.append(&operation(number))?;
    }
    let (mut newest, mut whole, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let started = Instant::now();
        let read = fs::read(directory.join("oplog"))?;
        let whole_time = milliseconds(started);
        drop(read);
        let newest_time = list(&directory, SHOWN)?;
        if round > 0 {
            newest.push(newest_time);
            whole.push(whole_time);
        }
    }
    all.push(list(&directory, usize::MAX)?);
    add_median(figures, "log_newest", newest);
    add_median(figures, "log_read_once", whole);
    add_median(figures, "log_all", all);
    Ok(())
}

/// Opens the log and lists its newest entries with their states.
fn list(directory: &Path, count: usize) -> Outcome<f64> {
    let started = Instant::now();
    let log = FileLog::open(directory)?;
    let mut listed = 0;
    for entry in log.with_states().take(count) {
        entry?;
        listed += 1;
    }
    let elapsed = milliseconds(started);
    let expected = count.min(usize::try_from(OPERATIONS)?);
    if listed == expected { Ok(elapsed) } else { Err(format!("{listed} of {expected} entries were listed").into()) }
}

fn operation(number: u64) -> Operation {
    let image = |text: String| {
        Image::File(FileImage { blob: blob_id(text.as_bytes()), size: text.len() as u64, mode: 0o644, modified: None })
    };
    let change = Change {
        path: FilePath::new(format!("/home/somebody/project/src/module_{}/file_{number}.rs", number % 100)),
        before: image(format!("before {number}")),
        after: image(format!("after {number}")),
    };
    let effect = OperationEffect::Files { changes: ChangeSet::new([change]) };
    Operation { head: head(&format!("Edit src/file_{number}.rs")), effect }
}
