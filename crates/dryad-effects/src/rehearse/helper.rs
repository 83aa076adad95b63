//! The helper process: dryad's own program, started again, with one thread.
//!
//! A process with several threads can neither enter a new user namespace nor go on after a fork, so the
//! program starts itself under another name. Its standard input is the channel on which its task arrives.

use super::channel::{Inbox, send};
use super::first;
use super::message::{Answer, Failure, Stage, Task};
use super::{Network, ahead, calls, notify, trial, witnessed};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// The name under which the program is started as a helper.
pub(super) const NAME: &str = "dryad-rehearsal";

/// Does a helper's work if this process was started as one; the program's `main` calls it before all else.
pub fn helper_main() -> Option<ExitCode> {
    if std::env::args_os().next()? != NAME {
        return None;
    }
    Some(if serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn serve() -> io::Result<()> {
    // What whoever started dryad has open leads past every layer.
    calls::close_from(3)?;
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(fs::File::open("/dev/null")?)?;
    let mut inbox = Inbox::default();
    let Some(task) = inbox.wait::<Task>(&control)? else { return Ok(()) };
    if let Some(input) = task.has_terminal().then(|| inbox.descriptor()).flatten() {
        rustix::stdio::dup2_stdin(input)?;
    }
    let earlier = task.goes_on().then(|| inbox.descriptor()).flatten();
    match &task {
        Task::Run { stage, play, .. } => {
            let perform = |entered| first::perform(entered, play, stage, &control).unwrap_or_else(Answer::Failed);
            let meanwhile = |inside| {
                if stage.has_layer_over(play.cwd.as_path()) {
                    ahead::while_running(inside, play.cwd.as_path());
                }
            };
            in_namespaces(stage, earlier.as_ref(), &control, perform, meanwhile)
        }
        Task::Journal { roots, deletable, store, room, notes, network, play } => {
            let network = if *network { Network::Allow } else { Network::None };
            let places = witnessed::Places { roots, deletable, store, room: *room, notes: notes.as_ref(), network };
            let answer = witnessed::perform(&places, play, &control);
            send(&control, &answer.unwrap_or_else(Answer::Failed), &[])
        }
        Task::Probe(stage) => in_namespaces(stage, None, &control, |entered| trial::layers(stage, &entered), |_| {}),
        Task::ProbeNotifier => send(&control, &trial::answer(notify::try_out()), &[]),
    }
}

/// Does something as the first process of new namespaces, something else meanwhile, and waits for the first.
fn in_namespaces(
    stage: &Stage,
    earlier: Option<&OwnedFd>,
    control: &OwnedFd,
    inside: impl FnOnce(super::stage::Entered) -> Answer,
    meanwhile: impl FnOnce(Pid),
) -> io::Result<()> {
    let (mut wait, mut go) = io::pipe()?;
    let network = if stage.network { 0 } else { libc::CLONE_NEWNET };
    let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network;
    let child = match calls::split(kinds) {
        Ok(calls::Twin::Parent(child)) => child,
        Ok(calls::Twin::Child) => {
            drop(go);
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Without the byte the helper is gone, or could not set up the ids.
            if wait.read(&mut [0]).is_ok_and(|count| count == 1) {
                let answer = super::stage::enter(stage, earlier, control.as_fd()).map_or_else(Answer::Failed, inside);
                send(control, &answer, &[]).ok();
                wait_for_the_curtain(control);
            }
            calls::exit_now(0);
        }
        Err(error) => return send(control, &Answer::Failed(Failure::of("make namespaces", refusal(&error))), &[]),
    };
    be_silent()?;
    calls::ignore_keys();
    if let Err(error) = map_ids(child) {
        kill_process(child, Signal::KILL).ok();
        send(control, &Answer::Failed(Failure::of("map user ids", error)), &[])?;
    } else {
        go.write_all(b"g").ok();
        meanwhile(child);
    }
    drop((wait, go));
    while matches!(waitpid(Some(child), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
    Ok(())
}

/// Waits until dryad has seen what it wanted to see: with the first process inside the namespaces go.
fn wait_for_the_curtain(control: &OwnedFd) {
    let mut word = [0];
    while matches!(rustix::io::read(control, &mut word), Ok(1) | Err(rustix::io::Errno::INTR)) {}
}

/// Lets go of the output: its reader waits for the last who could write, and that shall be the command.
pub(super) fn be_silent() -> io::Result<()> {
    let nobody = fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nobody)?;
    Ok(rustix::stdio::dup2_stderr(&nobody)?)
}

/// Some of what the system says here is misleading.
fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "no user namespaces are allowed (user.max_user_namespaces)".to_owned(),
        io::ErrorKind::PermissionDenied => format!("{error}; a container or a security module forbids them"),
        _ => error.to_string(),
    }
}

/// Lets every id inside mean what it means outside: file owners are seen as they are.
fn map_ids(child: Pid) -> io::Result<()> {
    let place = format!("/proc/{}", child.as_raw_nonzero());
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        let all = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).map(|text| identity(&text));
        let set = |name: &str, map: String| fs::write(format!("{place}/{name}"), map);
        if set("uid_map", all("uid_map")?).is_ok() && set("gid_map", all("gid_map")?).is_ok() {
            return Ok(());
        }
    }
    fs::write(format!("{place}/setgroups"), "deny")?;
    fs::write(format!("{place}/uid_map"), format!("{0} {0} 1", user.as_raw()))?;
    fs::write(format!("{place}/gid_map"), format!("{0} {0} 1", group.as_raw()))
}

/// Every range of ids there is here, mapped to itself.
fn identity(map: &str) -> String {
    let range = |line: &str| {
        let mut fields = line.split_whitespace();
        let (first, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    };
    map.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_mapped_to_themselves() {
        assert_eq!(identity("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity("0 100000 65536\n65536 7 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
