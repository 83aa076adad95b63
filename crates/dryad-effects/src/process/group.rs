//! Process groups that are alive, so that none outlives the program.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout_at};

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// For the system to take away what was killed.
const REMOVAL: Duration = Duration::from_secs(1);

/// The first and the longest pause between two looks at a group that is going.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Groups of commands that have not come to their end.
static ALIVE: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The process group of one command. Dropping it while the command runs kills the group.
pub(crate) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        alive().extend(leader);
        Self { leader }
    }

    /// Ends the group: TERM, then KILL for what is left after a grace. Returns when all are gone.
    pub(super) async fn stop(&self, child: &mut Child) {
        self.signal(Signal::TERM);
        // One that is stopped would never see the TERM.
        self.signal(Signal::CONT);
        let grace = Instant::now() + GRACE;
        timeout_at(grace, child.wait()).await.ok();
        if self.gone_by(grace, None).await {
            return;
        }
        self.signal(Signal::KILL);
        child.wait().await.ok();
        // Whoever was just being forked may have missed it.
        self.gone_by(Instant::now() + REMOVAL, Some(Signal::KILL)).await;
    }

    /// Waits until nobody of the group lives; each time somebody does, he is sent `again`.
    async fn gone_by(&self, until: Instant, again: Option<Signal>) -> bool {
        let (mut pause, longest) = PAUSE;
        while self.lives() {
            if Instant::now() >= until {
                return false;
            }
            if let Some(signal) = again {
                self.signal(signal);
            }
            sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
        true
    }

    /// Whether a process of the group runs. The dead whom nobody has buried do not count: an idle
    /// first process of a container leaves them lying for ever.
    fn lives(&self) -> bool {
        let Some(leader) = self.leader else { return false };
        test_kill_process_group(leader).is_ok() && has_living_member(leader).unwrap_or(true)
    }

    /// The command is over; background children it left behind go on.
    pub(crate) fn release(mut self) {
        self.forget();
    }

    /// Ends the group at once.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
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
    kill_where(|_| true);
}

fn kill_where(chosen: impl Fn(Pid) -> bool) {
    for leader in alive().extract_if(.., |leader| chosen(*leader)) {
        kill_process_group(leader, Signal::KILL).ok();
    }
}

/// Kills some of those alive, so that a test leaves the others in its process alone.
#[cfg(test)]
pub(super) fn kill_listed(leaders: &[i32]) {
    kill_where(|leader| leaders.contains(&leader.as_raw_nonzero().get()));
}

fn alive() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether somebody of the group of this leader runs.
pub(crate) fn group_lives(leader: u32) -> bool {
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    leader.is_some_and(|leader| has_living_member(leader) == Some(true))
}

/// Looks through the system's list of processes; `None` where there is no such list.
fn has_living_member(leader: Pid) -> Option<bool> {
    let group = leader.as_raw_nonzero().to_string();
    let living = |stat: String| {
        // `pid (name) state parent group …`, and the name may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        Some(fields.nth(1)? == group && state != "Z" && state != "X")
    };
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let mut seen = false;
    for stat in stats {
        seen = true;
        if living(stat) == Some(true) {
            return Some(true);
        }
    }
    seen.then_some(false)
}
