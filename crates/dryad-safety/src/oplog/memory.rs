//! A log in memory, for demonstrations and tests.

use super::{LogError, OperationLog};
use dryad_protocol::operation::Operation;
use std::sync::{Mutex, PoisonError};

/// A log that lives as long as the process.
#[derive(Debug, Default)]
pub struct MemoryLog {
    operations: Mutex<Vec<Operation>>,
}

impl MemoryLog {
    /// Everything recorded so far, oldest first.
    pub fn operations(&self) -> Vec<Operation> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl OperationLog for MemoryLog {
    fn append(&self, operation: &Operation) -> Result<(), LogError> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).push(operation.clone());
        Ok(())
    }
}
