//! The thread that syncs a session's file behind its appends.
//!
//! The invariant: `wait` returns success only when a sync that began after the last announced write
//! has succeeded. A sync that failed is told to everyone who waits, from then on: after a failed sync
//! the operating system may have dropped what it could not write.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Syncs one file, again and again, as long as it is written to.
#[derive(Debug)]
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many writes were announced.
    written: u64,
    /// How many of them are known to be on disk.
    synced: u64,
    /// What went wrong, for good.
    failure: Option<Arc<io::Error>>,
    closing: bool,
}

impl Syncer {
    /// Starts the thread, which calls `sync` whenever something was written.
    pub(crate) fn start(sync: impl Fn() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let work = move || theirs.work(&sync);
        let thread = std::thread::Builder::new().name("session-sync".to_owned()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Tells that something was written.
    pub(crate) fn announce(&self) {
        self.shared.lock().written += 1;
        self.shared.changed.notify_all();
    }

    /// Waits until everything that was announced is on disk.
    pub(crate) fn wait(&self) -> Result<(), Arc<io::Error>> {
        let mut state = self.shared.lock();
        let target = state.written;
        while state.synced < target && state.failure.is_none() {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.failure.clone().map_or(Ok(()), Err)
    }
}

impl Drop for Syncer {
    /// Lets the thread finish what was announced.
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, sync: &dyn Fn() -> io::Result<()>) {
        let mut state = self.lock();
        loop {
            while state.written == state.synced && !state.closing {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.written == state.synced {
                return;
            }
            let written = state.written;
            drop(state);
            let outcome = sync();
            state = self.lock();
            match outcome {
                Ok(()) => state.synced = written,
                Err(error) => {
                    state.failure.get_or_insert(Arc::new(error));
                    self.changed.notify_all();
                    return;
                }
            }
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn what_was_written_before_a_wait_is_synced_after_it() {
        let (written, synced) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (seen, done) = (written.clone(), synced.clone());
        let syncer = Syncer::start(move || {
            done.store(seen.load(Ordering::SeqCst), Ordering::SeqCst);
            Ok(())
        });
        let syncer = syncer.unwrap();
        for round in 1..=200 {
            written.store(round, Ordering::SeqCst);
            syncer.announce();
            if round % 7 == 0 {
                syncer.wait().unwrap();
                assert!(synced.load(Ordering::SeqCst) >= round);
            }
        }
        drop(syncer);
        assert_eq!(synced.load(Ordering::SeqCst), 200);
    }

    #[test]
    fn a_failed_sync_is_told_to_everyone_from_then_on() {
        let syncer = Syncer::start(|| Err(io::Error::other("gone"))).unwrap();
        syncer.announce();
        assert_eq!(syncer.wait().unwrap_err().to_string(), "gone");
        syncer.announce();
        assert_eq!(syncer.wait().unwrap_err().to_string(), "gone");
    }
}
