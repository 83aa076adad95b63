//! The operation log: every applied plan, in order.

use dryad_protocol::operation::Operation;
use std::sync::{Mutex, PoisonError};

/// An append-only list of applied plans.
pub trait OperationLog: Send + Sync {
    /// Appends one operation. An error means that it is not recorded.
    fn append(&self, operation: Operation) -> Result<(), String>;
}

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
    fn append(&self, operation: Operation) -> Result<(), String> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
        Ok(())
    }
}
