//! Stays awake for a moment for a host that sends its next command at once, where that serves it sooner.
//!
//! Falling asleep and being woken costs more than most commands do, so the thread may look for the next command a little
//! while before it sleeps. On a busy machine that takes the processor from the very host it waits for. Which of the two
//! is better is not known beforehand: the way in which the host's commands came sooner is taken, and the other one is
//! tried now and then. A host that takes its time is waited for asleep. The runtime calls [`before_sleep`] when nothing
//! else is to be done, so nobody is held up by it for longer than [`AWAKE`].

use super::check_ready;
use rustix::event::PollFlags;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A host that sends within this time is a quick one.
const QUICK: Duration = Duration::from_micros(200);

/// So long the thread looks before it sleeps.
const AWAKE: Duration = Duration::from_micros(60);

/// What took longer counts as this: a host that was held up once says little of either way.
const SLOW: Duration = Duration::from_micros(100);

/// Of so many times that a quick host is waited for, one is in the way that seems to be the slower one.
const TRIED: u32 = 64;

/// What one time counts in the mean of its way.
const WEIGHT: u32 = 16;

thread_local! {
    static HOST: Cell<Host> = const { Cell::new(Host::NEW) };
}

/// How a host is waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Asleep,
    Awake,
}

/// What is known of the host that this thread serves.
#[derive(Clone, Copy)]
struct Host {
    /// When there was nothing to be done for the last time.
    waited_since: Option<Instant>,
    way: Way,
    is_quick: bool,
    /// How often it was waited for.
    waits: u32,
    /// How long a quick host took when it was waited for asleep, on average.
    asleep: Duration,
    /// The same when it was waited for awake.
    awake: Duration,
}

/// To be called before the thread sleeps because nothing is to be done.
pub fn before_sleep() {
    let begin = Instant::now();
    let host = HOST.get().waiting(begin);
    // A host that is not quick any more is not looked for again.
    let is_quick = host.is_quick && (host.way == Way::Asleep || sends_by(begin + AWAKE));
    HOST.set(Host { is_quick, ..host });
}

/// Something has come from the host.
pub(super) fn heard() {
    HOST.set(HOST.get().heard(Instant::now()));
}

impl Host {
    /// Nothing is known: both ways seem to cost nothing until they were tried.
    const NEW: Self = Self {
        waited_since: None,
        way: Way::Asleep,
        is_quick: false,
        waits: 0,
        asleep: Duration::ZERO,
        awake: Duration::ZERO,
    };

    /// The host is waited for from now on, in the better way or, now and then, in the other.
    fn waiting(self, now: Instant) -> Self {
        let waits = self.waits.wrapping_add(u32::from(self.is_quick));
        let is_tried = waits.is_multiple_of(TRIED);
        let way = match self.is_quick && (self.awake < self.asleep) != is_tried {
            true => Way::Awake,
            false => Way::Asleep,
        };
        Self { waited_since: Some(now), way, waits, ..self }
    }

    fn heard(mut self, now: Instant) -> Self {
        let Some(since) = self.waited_since.take() else { return self };
        let time = now.saturating_duration_since(since);
        if self.is_quick || self.way == Way::Awake {
            let mean = match self.way {
                Way::Asleep => &mut self.asleep,
                Way::Awake => &mut self.awake,
            };
            *mean = (*mean * (WEIGHT - 1) + time.min(SLOW)) / WEIGHT;
        }
        Self { is_quick: time < QUICK, ..self }
    }
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

    /// A host that was waited for so often and took these times asleep and awake.
    fn after(host: Host, waits: u32, asleep: Duration, awake: Duration) -> (Host, u32) {
        let (mut host, mut now, mut awake_waits) = (host, Instant::now(), 0);
        for _ in 0..waits {
            host = host.waiting(now);
            awake_waits += u32::from(host.way == Way::Awake);
            now += if host.way == Way::Awake { awake } else { asleep };
            host = host.heard(now);
        }
        (host, awake_waits)
    }

    #[test]
    fn a_quick_host_is_waited_for_in_the_way_that_serves_it_sooner() {
        let (short, long) = (Duration::from_micros(30), Duration::from_micros(90));
        let (quiet, awake_waits) = after(Host::NEW, 1_000, long, short);
        assert!(awake_waits > 950, "{awake_waits}");
        // The machine becomes busy, and then quiet again.
        let (busy, _) = after(quiet, 2_000, short, long);
        let (busy, awake_waits) = after(busy, 1_000, short, long);
        assert!(awake_waits < 50, "{awake_waits}");
        let (quiet, _) = after(busy, 10_000, long, short);
        let (_, awake_waits) = after(quiet, 1_000, long, short);
        assert!(awake_waits > 950, "{awake_waits}");
    }

    #[test]
    fn a_host_that_takes_its_time_is_waited_for_asleep() {
        let (host, awake_waits) = after(Host::NEW, 1_000, QUICK, QUICK);
        assert!(!host.is_quick && awake_waits == 0);
        let (host, _) = after(Host::NEW, 10, Duration::ZERO, Duration::ZERO);
        assert!(host.is_quick);
        assert!(!after(host, 1, QUICK, QUICK).0.is_quick);
    }

    #[test]
    fn nobody_is_quick_only_because_he_was_waited_for() {
        HOST.set(Host::NEW);
        before_sleep();
        let Host { waited_since, is_quick, .. } = HOST.get();
        assert!(waited_since.is_some() && !is_quick);
        heard();
        heard();
        assert!(HOST.get().waited_since.is_none());
    }
}
