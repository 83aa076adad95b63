//! The first process inside: starts the command, serves its watched system calls, buries the dead, and ends
//! everybody when the command is over.

use super::calls::{self, Everybody};
use super::channel::Inbox;
use super::helper::be_silent;
use super::message::{Answer, Ended, Failure, Play, STOP, Stage};
use super::notify::{Judge, Notifier, Usher, Watch};
use super::quota::Quota;
use super::shell::{self, Bounds, Word};
use super::stage::Entered;
use super::streams;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, WaitStatus, set_dumpable_behavior, wait};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What is still running when the command is over may come to its own end in this time.
const LINGER: Duration = Duration::from_millis(100);

/// Between the request to go and the end by force.
const GRACE: Duration = Duration::from_secs(2);

/// Between two looks at the layers.
const LOOK: Duration = Duration::from_millis(50);

/// Between two blows at those who will not go.
const BREATH: Duration = Duration::from_millis(2);

/// Names of left-behind processes that are told.
const NAMED: usize = 16;

/// Who comes with a command, and what they may take.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Who is ended with it.
    pub(super) everybody: Everybody,
    /// Whether `/proc` shows these processes and no others.
    pub(super) sees: bool,
    /// What they may write.
    pub(super) quota: Quota,
}

/// A command that runs.
struct Company<'c> {
    control: &'c OwnedFd,
    signals: OwnedFd,
    notifier: Option<Notifier<'c>>,
    crowd: Crowd,
    shell: Pid,
    /// The shell's exit code, once it is gone, and since when.
    over: Option<(i32, Instant)>,
    /// Nobody is left.
    alone: bool,
    /// When whoever was asked to go is made to.
    patience: Option<Instant>,
    ended: Ended,
}

/// Runs a command to its end in a place that was built for it.
pub(super) fn perform(entered: Entered, play: &Play, stage: &Stage, control: &OwnedFd) -> Result<Answer, Failure> {
    shell::drop_privileges().map_err(|error| Failure::of("give up privileges", error))?;
    // Whoever can look into this process finds descriptors of the layers, and a way up from them into the real tree.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| Failure::of("be closed to others", error))?;
    streams::see_inside().map_err(|error| Failure::of("open standard input", error))?;
    let mut usher = Usher::new(entered.trees);
    let sees = entered.shared_processes.is_none();
    let crowd = Crowd { everybody: Everybody::Namespace, sees, quota: Quota::new(stage.quota, entered.layers) };
    let bounds = Bounds { processes: Some(stage.processes), watch: Watch::Moves, floor: None };
    // Without an own list of processes a call cannot be traced to who made it.
    let judge: Option<&mut dyn Judge> = if sees { Some(&mut usher) } else { None };
    let mut ended = accompany(play, &bounds, crowd, judge, control)?;
    ended.read_only = entered.read_only;
    if let Some(reason) = entered.shared_processes {
        ended.unwatched = Some(reason);
    }
    Ok(Answer::Ended(ended))
}

/// Starts a command and stays with it until nobody is left.
pub(super) fn accompany(
    play: &Play,
    bounds: &Bounds<'_>,
    crowd: Crowd,
    mut judge: Option<&mut dyn Judge>,
    control: &OwnedFd,
) -> Result<Ended, Failure> {
    let failed = |step: &str| {
        let step = step.to_owned();
        move |error: io::Error| Failure::of(step, error)
    };
    let signals = calls::child_signals().map_err(failed("watch for children"))?;
    let (ours, theirs) = UnixStream::pair().map_err(failed("talk to the shell"))?;
    let shell = match calls::split(0).map_err(failed("start a process"))? {
        calls::Twin::Child => shell::become_shell(play, bounds, &theirs),
        calls::Twin::Parent(shell) => shell,
    };
    drop(theirs);
    be_silent().map_err(failed("let go of the output"))?;
    calls::ignore_keys();
    let mut ended = Ended::default();
    let mut inbox = Inbox::default();
    let mut notifier = None;
    while let Some(word) = inbox.wait::<Word>(&ours).map_err(failed("listen to the shell"))? {
        match word {
            Word::Watched => {
                notifier = inbox.descriptor().zip(judge.take()).map(|(listener, judge)| Notifier::new(listener, judge));
                ended.deaf = notifier.as_mut().is_some_and(|notifier| !notifier.hears_knock(&ours));
            }
            Word::Unwatched(reason) => ended.unwatched = Some(reason),
            Word::NotStarted(reason) => {
                return Err(Failure { step: format!("start {}", play.shell), reason, shell: true });
            }
        }
    }
    let (over, alone, patience) = (None, false, None);
    let mut company = Company { control, signals, notifier, crowd, shell, over, alone, patience, ended };
    company.stay();
    Ok(company.finish())
}

impl Company<'_> {
    /// Serves and waits until nobody is left.
    fn stay(&mut self) {
        let mut looked = Instant::now();
        loop {
            self.wait_for_something();
            self.bury();
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.look_at_layers();
            }
            if self.alone {
                return;
            }
            self.press();
        }
    }

    fn wait_for_something(&mut self) {
        let listener = self.notifier.as_ref().map(Notifier::listener);
        let mut events = vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(self.control, PollFlags::IN)];
        events.extend(listener.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        if poll(&mut events, Some(&pause)).is_err() {
            return;
        }
        let happened: Vec<PollFlags> = events.iter().map(PollFd::revents).collect();
        drop(events);
        let is = |index: usize, flags: PollFlags| happened.get(index).is_some_and(|now| now.intersects(flags));
        if is(0, PollFlags::IN) {
            let mut news = [0; 1024];
            rustix::io::read(&self.signals, &mut news).ok();
        }
        if is(2, PollFlags::IN) {
            if let Some(notifier) = &mut self.notifier {
                notifier.serve();
            }
        } else if is(2, PollFlags::HUP | PollFlags::ERR) {
            self.close_ledger();
        }
        if is(1, PollFlags::IN | PollFlags::HUP) {
            self.listen();
        }
    }

    /// Takes what dryad says. That it is gone says that nobody wants this any more.
    fn listen(&mut self) {
        let mut word = [0];
        match rustix::io::read(self.control, &mut word) {
            Ok(1) if word == [STOP] => {
                self.patience = Some(Instant::now() + GRACE);
                self.crowd.everybody.signal(libc::SIGTERM);
                // One that is stopped would never see it.
                self.crowd.everybody.signal(libc::SIGCONT);
            }
            Ok(0) | Err(_) => self.abandon(),
            Ok(_) => {}
        }
    }

    /// Ends everybody, and goes when they are gone: what is saved must not be looked at while somebody still writes.
    fn abandon(&mut self) -> ! {
        let patience = Instant::now() + GRACE;
        loop {
            self.crowd.everybody.signal(libc::SIGKILL);
            self.bury();
            // With its first process a namespace goes as a whole.
            let is_over = self.crowd.everybody == Everybody::Namespace || self.alone;
            if is_over || Instant::now() >= patience {
                calls::exit_now(1);
            }
            std::thread::sleep(BREATH);
        }
    }

    /// Buries the dead and notes the shell among them.
    fn bury(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((who, status))) if who == self.shell => self.over = Some((exit_code(status), Instant::now())),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.alone = true;
                    return;
                }
            }
        }
    }

    fn look_at_layers(&mut self) {
        if self.ended.over_quota.is_none()
            && let Some(held) = self.crowd.quota.exceeded()
        {
            self.ended.over_quota = Some(held);
            self.crowd.everybody.signal(libc::SIGKILL);
        }
    }

    /// Ends by force whoever has had his time.
    fn press(&mut self) {
        let now = Instant::now();
        let is_up = match (self.patience, self.over) {
            (Some(patience), _) => now >= patience,
            (None, Some((_, since))) => now >= since + LINGER,
            (None, None) => false,
        };
        if !is_up {
            return;
        }
        if self.patience.is_none() && self.ended.left_running.is_empty() {
            self.ended.left_running = if self.crowd.sees { names() } else { vec!["a process".to_owned()] };
        }
        self.crowd.everybody.signal(libc::SIGKILL);
    }

    fn close_ledger(&mut self) {
        if let Some(mut notifier) = self.notifier.take() {
            self.ended.connects = notifier.ledger().into_connects();
        }
    }

    fn finish(mut self) -> Ended {
        self.look_at_layers();
        self.close_ledger();
        self.ended.code = self.over.map_or(-1, |(code, _)| code);
        self.ended
    }
}

/// As a shell tells it.
fn exit_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// The names of the processes that are still here.
fn names() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = ids.filter(|id| *id != 1);
    let name = |id: u32| fs::read_to_string(format!("/proc/{id}/comm")).map(|name| name.trim_end().to_owned()).ok();
    others.filter_map(name).take(NAMED).collect()
}
