//! Whoever watches what the safety protocol does.

use dryad_protocol::event::SafetyEvent;
use std::fmt;
use std::sync::Arc;

type Listener = dyn Fn(&SafetyEvent<'_>) + Send + Sync;

/// Told of everything the protocol does, as it happens. Cloning shares the listener.
#[derive(Clone, Default)]
pub struct Observer {
    listener: Option<Arc<Listener>>,
}

impl Observer {
    /// An observer that calls this function. It must not block.
    pub fn new(listener: impl Fn(&SafetyEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)) }
    }

    pub(crate) fn tell(&self, event: SafetyEvent<'_>) {
        if let Some(listener) = &self.listener {
            listener(&event);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observer").field("listens", &self.listener.is_some()).finish()
    }
}
