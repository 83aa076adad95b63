//! Stays awake for a moment for a host that sends its next command at once.
//!
//! Falling asleep and being woken costs more than most commands do. So after a host was quick, the thread looks for
//! its next command a little while before it sleeps; a host that takes its time is waited for asleep. The
//! runtime calls [`before_sleep`] when nothing else is to be done, so nobody is held up by it for longer than that.

use super::check_ready;
use rustix::event::PollFlags;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A host that sends within this time is a quick one.
const QUICK: Duration = Duration::from_micros(200);

/// So long the thread looks before it sleeps.
const AWAKE: Duration = Duration::from_micros(60);

thread_local! {
    static HOST: Cell<Host> = const { Cell::new(Host { waited_since: None, is_quick: false }) };
}

/// What is known of the host that this thread serves.
#[derive(Clone, Copy)]
struct Host {
    /// When there was nothing to be done for the last time.
    waited_since: Option<Instant>,
    is_quick: bool,
}

/// To be called before the thread sleeps because nothing is to be done.
pub fn before_sleep() {
    let begin = Instant::now();
    let was_quick = HOST.get().is_quick;
    let is_quick = was_quick && sends_by(begin + AWAKE);
    HOST.set(Host { waited_since: Some(begin), is_quick });
}

/// Something has come from the host.
pub(super) fn heard() {
    let Host { waited_since, .. } = HOST.get();
    let is_quick = waited_since.is_some_and(|since| since.elapsed() < QUICK);
    HOST.set(Host { waited_since, is_quick });
}

/// Looks for something from the host until then. Whoever else wants the processor gets it.
fn sends_by(end: Instant) -> bool {
    while Instant::now() < end {
        if check_ready(rustix::stdio::stdin(), PollFlags::IN).is_ok() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_quick_as_long_as_it_sends_at_once() {
        heard();
        assert!(!HOST.get().is_quick, "nobody has waited for it yet");
        // A moment that has not come yet is a short time ago, however busy the machine is.
        HOST.set(Host { waited_since: Some(Instant::now() + QUICK), is_quick: false });
        heard();
        assert!(HOST.get().is_quick);
        HOST.set(Host { waited_since: Instant::now().checked_sub(QUICK), is_quick: true });
        heard();
        assert!(!HOST.get().is_quick);
    }

    #[test]
    fn nobody_is_quick_only_because_he_was_waited_for() {
        HOST.set(Host { waited_since: None, is_quick: false });
        before_sleep();
        let Host { waited_since, is_quick } = HOST.get();
        assert!(waited_since.is_some() && !is_quick);
    }
}
