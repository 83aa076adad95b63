//! Process groups that are alive, so that none outlives the program.

use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::process::Child;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// Groups of commands that have not come to their end.
static ALIVE: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The process group of one command. Dropping it while the command runs kills the group.
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        alive().extend(leader);
        Self { leader }
    }

    /// Ends the group: TERM, then KILL for what is left after a grace.
    pub(super) async fn stop(&self, child: &mut Child) {
        self.signal(Signal::TERM);
        tokio::time::timeout(GRACE, child.wait()).await.ok();
        self.signal(Signal::KILL);
        child.wait().await.ok();
    }

    /// The command is over; background children it left behind go on.
    pub(super) fn release(mut self) {
        self.forget();
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            kill_process_group(leader, signal).ok();
        }
    }

    fn forget(&mut self) {
        if let Some(leader) = self.leader.take() {
            alive().retain(|&known| known != leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.forget();
    }
}

/// Kills every group that is still alive; called when the program is told to end.
pub fn kill_all() {
    for leader in alive().drain(..) {
        kill_process_group(leader, Signal::KILL).ok();
    }
}

fn alive() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}
