//! Arguments fit the tool's schema before the tool sees them.

use super::{Gate, Stage, Subject, Verdict};
use futures_util::future::BoxFuture;

/// The gate.
#[derive(Clone, Copy, Debug)]
pub struct Schema;

impl Gate for Schema {
    fn stage(&self) -> Stage {
        Stage::Arguments
    }

    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let checked = subject.tool.check(subject.arguments);
        Box::pin(std::future::ready(checked.map(|()| Verdict::Allow).map_err(|error| error.to_string())))
    }
}
