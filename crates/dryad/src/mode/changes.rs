//! What the commands on recorded operations share: finding the workspace, naming operations,
//! explaining errors, drawing verdicts and differences.
//!
//! Looking does not make anything: a directory where nothing was ever recorded stays as it is.

mod content;
mod diff;
mod failure;
mod ids;
mod image;
mod memory;
mod sides;
mod verdicts;

pub(super) use content::{Content, Contents, LARGEST, from_tree};
pub(super) use diff::{LineCount, unified, unified_and_count};
pub(super) use failure::{from_log, from_undo, from_workspace};
pub(super) use ids::{ShortIds, lasting};
pub(super) use image::transition;
pub(super) use memory::{Memory, local_time, print_notices, recover_known};
pub(super) use sides::{Sides, bearing_json, became, sizes};
pub(super) use verdicts::{Deed, Look, as_json, is_complete, meant, render};
