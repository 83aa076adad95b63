//! Lends the terminal to a command, and takes it back.
//!
//! An interactive shell makes itself the one that a terminal's keys are for. When it ends it gives that back to whom it
//! had it from, but a rehearsed one cannot name a process outside its namespaces. Without help dryad would be one of the
//! background then, and be stopped by its next question.

use super::calls;
use rustix::process::{Pid, getpgrp};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// A terminal in somebody else's hands. Dropping it takes the terminal back, as it was.
pub(super) struct Loan {
    /// This process's group, if the keys were for it.
    group: Option<Pid>,
    modes: Termios,
}

impl Loan {
    /// Lends what standard input is, if it is a terminal.
    pub(super) fn new() -> Option<Self> {
        let modes = tcgetattr(stdin()).ok()?;
        let group = tcgetpgrp(stdin()).ok().filter(|group| *group == getpgrp());
        Some(Self { group, modes })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        calls::from_background(|| {
            if let Some(group) = self.group {
                tcsetpgrp(stdin(), group).ok();
            }
            tcsetattr(stdin(), OptionalActions::Drain, &self.modes).ok();
        });
    }
}
