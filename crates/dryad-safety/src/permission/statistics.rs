//! Counts of what was denied, and the reminder that another way is needed.

use std::collections::BTreeMap;

/// After so many denials of one tool in a row the model is reminded.
pub const REMIND_AFTER: u32 = 3;

/// What was denied so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Denials {
    /// All of them.
    pub total: u32,
    /// By tool.
    pub by_tool: BTreeMap<String, u32>,
    /// By tool, since a call of it last passed.
    pub consecutive: BTreeMap<String, u32>,
}

impl Denials {
    /// Counts a denial.
    pub(super) fn add(&mut self, tool: &str) {
        self.total += 1;
        *self.by_tool.entry(tool.to_owned()).or_default() += 1;
        *self.consecutive.entry(tool.to_owned()).or_default() += 1;
    }

    /// The reminder, when it is due.
    pub(super) fn reminder(&self, tool: &str) -> Option<String> {
        let row = self.consecutive.get(tool).filter(|row| **row >= REMIND_AFTER)?;
        Some(format!(
            "The tool \"{tool}\" has been denied {row} times in a row. Do not repeat the call: take another approach, \
             or ask the user how to go on."
        ))
    }

    /// A call of the tool passed.
    pub(super) fn pass(&mut self, tool: &str) {
        self.consecutive.remove(tool);
    }
}
