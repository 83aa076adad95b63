//! The command's own process: from the fork to the shell's first instruction.

use super::calls;
use super::channel;
use super::message::Play;
use super::notify::{self, Watch};
use crate::landlock::Floor;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// What the shell's process says before it is the shell. Afterwards the channel is closed.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Word {
    /// Its system calls can be watched with the descriptor that comes along; a [knock](notify::knock) follows.
    Watched,
    /// They cannot.
    Unwatched(String),
    /// The shell did not start.
    NotStarted(String),
}

/// What a process with the user id 0 may still do: what containers usually leave it.
fn kept() -> CapabilitySet {
    CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FSETID
        | CapabilitySet::FOWNER
        | CapabilitySet::NET_RAW
        | CapabilitySet::SETGID
        | CapabilitySet::SETUID
        | CapabilitySet::SETFCAP
        | CapabilitySet::SETPCAP
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::SYS_CHROOT
        | CapabilitySet::KILL
}

/// Gives up what the namespaces gave: an ordinary user is an ordinary user again.
pub(super) fn drop_privileges() -> io::Result<()> {
    let kept = if rustix::process::geteuid().is_root() { kept() } else { CapabilitySet::empty() };
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) if !kept.contains(one) => remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?;
    Ok(())
}

/// What the shell is kept to.
pub(super) struct Bounds<'b> {
    /// Processes and threads at most, if that is bounded.
    pub(super) processes: Option<u32>,
    /// Which of its calls are watched.
    pub(super) watch: Watch,
    /// What keeps it from deleting files.
    pub(super) floor: Option<&'b Floor>,
}

/// Becomes the shell.
pub(super) fn become_shell(play: &Play, bounds: &Bounds<'_>, link: &UnixStream) -> ! {
    let error = try_to_become(play, bounds, link);
    channel::send(link, &Word::NotStarted(error.to_string()), &[]).ok();
    calls::exit_now(127);
}

fn try_to_become(play: &Play, bounds: &Bounds<'_>, link: &UnixStream) -> io::Error {
    let prepare = || -> io::Result<()> {
        // Who watches it may be ended by force; it must not go on unwatched.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if !play.terminal {
            rustix::process::setsid()?;
        }
        if let Some(processes) = bounds.processes {
            let limit = getrlimit(Resource::Nproc);
            let wanted = limit.maximum.map_or(u64::from(processes), |hard| hard.min(u64::from(processes)));
            setrlimit(Resource::Nproc, Rlimit { current: Some(wanted), maximum: Some(wanted) })?;
        }
        set_no_new_privs(true)?;
        if let Some(floor) = bounds.floor {
            floor.enter()?;
        }
        match notify::watch_me(bounds.watch) {
            Ok(listener) => {
                channel::send(link, &Word::Watched, &[listener.as_fd()])?;
                drop(listener);
                notify::knock();
                Ok(())
            }
            Err(error) => channel::send(link, &Word::Unwatched(error.to_string()), &[]),
        }
    };
    if let Err(error) = prepare() {
        return error;
    }
    Command::new(&play.shell).arg("-c").arg(&play.command).current_dir(play.cwd.as_path()).exec()
}
