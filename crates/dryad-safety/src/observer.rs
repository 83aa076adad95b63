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

    /// Tells the end of a question that stands from now on: with its answer, or as a no when the call is given up
    /// before there is one.
    pub(crate) fn when_resolved<'a, F>(&'a self, event: F) -> Unresolved<'a, F>
    where
        F: Fn(bool) -> SafetyEvent<'a>,
    {
        Unresolved { observer: self, event, allowed: false }
    }
}

/// A question whose end is told when this is dropped.
#[must_use]
pub(crate) struct Unresolved<'a, F: Fn(bool) -> SafetyEvent<'a>> {
    observer: &'a Observer,
    event: F,
    allowed: bool,
}

impl<'a, F: Fn(bool) -> SafetyEvent<'a>> Unresolved<'a, F> {
    /// The question was answered.
    pub(crate) fn resolve(mut self, allowed: bool) {
        self.allowed = allowed;
    }
}

impl<'a, F: Fn(bool) -> SafetyEvent<'a>> Drop for Unresolved<'a, F> {
    fn drop(&mut self) {
        self.observer.tell((self.event)(self.allowed));
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observer").field("listens", &self.listener.is_some()).finish()
    }
}
