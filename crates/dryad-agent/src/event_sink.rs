//! Where a run's events go.

use dryad_protocol::event::Event;

/// Takes events as they happen.
///
/// An event borrows the message it tells of: whoever wants to keep something copies or serialises
/// it before returning. Tools that run side by side emit from several tasks.
pub trait EventSink: Send + Sync {
    /// Takes one event. Must not block for long: the run waits.
    fn emit(&self, event: &Event<'_>);
}
