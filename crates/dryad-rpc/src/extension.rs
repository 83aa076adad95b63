//! Failures of hooks and extensions, on their way to the host: they stop nothing.

use crate::event::WireEvent;
use crate::outbox::Outbox;
use std::path::Path;

/// Tells the host of failures. Cloning shares the way there.
#[derive(Clone)]
pub struct ExtensionErrors {
    outbox: Outbox,
}

impl ExtensionErrors {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox }
    }

    /// Tells that the file at this path failed when it was told of an event.
    pub fn tell(&self, path: &Path, event: &str, error: &str) {
        self.outbox.send(&WireEvent::ExtensionError {
            extension_path: path.display().to_string(),
            event: event.to_owned(),
            error: error.to_owned(),
        });
    }
}
