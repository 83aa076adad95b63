//! One command after the other: what is seen, what is changed, what is left.

use super::place::{LAST_WORDS, Place, eventually};
use dryad_effects::apply::ApplyError;
use dryad_effects::rehearse::{OutsideKind, Rehearsal, RehearsalRequest, Rung};
use dryad_protocol::command::CommandEnd;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_rehearsed_command_prints_exits_and_changes_nothing_until_it_is_applied() {
    let place = Place::new();
    fs::write(place.at("kept"), "one\n").unwrap();
    fs::write(place.at("gone"), "two\n").unwrap();
    let before = place.print();
    let command = "cat kept; echo more >> kept; rm gone; echo new > new; ls; echo bad >&2; exit 3";
    let rehearsed = place.rehearse(command).await;
    assert_eq!(rehearsed.outcome.output.text, "one\nkept\nnew\nbad\n");
    assert_eq!(rehearsed.outcome.end, CommandEnd::Exited { code: 3 });
    assert_eq!(rehearsed.rung, Rung::Overlay);
    assert_eq!(place.print(), before);
    let paths: Vec<String> = rehearsed.changes.iter().map(|change| change.path.to_string()).collect();
    let expected = ["gone", "kept", "new"].map(|name| place.at(name).display().to_string());
    assert_eq!(paths, expected);
    assert_eq!((rehearsed.limits.as_slice(), rehearsed.not_carried.as_slice()), (&[][..], &[][..]));
    place.apply(&rehearsed).unwrap();
    assert_eq!(fs::read_to_string(place.at("kept")).unwrap(), "one\nmore\n");
    assert!(!place.at("gone").exists());
    place.undo(&rehearsed).unwrap();
    assert_eq!(place.print(), before);
    rehearsed.discard();
    assert!(place.state_is_empty());
}

#[tokio::test]
async fn ends_are_told_as_a_shell_tells_them() {
    let place = Place::new();
    let code = async |command: &str| place.rehearse(command).await.outcome.end;
    assert_eq!(code("exit 7").await, CommandEnd::Exited { code: 7 });
    assert_eq!(code("kill -KILL $$").await, CommandEnd::Exited { code: 137 });
    assert_eq!(code("kill -SEGV $$").await, CommandEnd::Exited { code: 139 });
    assert_eq!(code("no-such-program-here").await, CommandEnd::Exited { code: 127 });
    // Whoever writes to nobody is ended by a signal, not told off.
    let quiet = place.rehearse("yes | head -1").await;
    assert_eq!(quiet.outcome.output.text, "y\n");
}

#[tokio::test]
async fn what_does_not_start_is_said() {
    let place = Place::new();
    let mut request = place.request("true");
    request.command.shell = "/no/such/shell".to_owned();
    let error = place.start(&request).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot start /no/such/shell: "), "{error}");
    let mut request = place.request("true");
    request.command.cwd = dryad_protocol::path::FilePath::new(place.at("nowhere"));
    let error = place.start(&request).await.unwrap_err();
    assert!(error.to_string().starts_with("Working directory does not exist: "), "{error}");
    assert!(place.state_is_empty() || !place.state().exists());
}

#[tokio::test]
async fn its_surroundings_are_those_of_a_direct_run() {
    let place = Place::new();
    let mut request =
        place.request("cat; echo \"$GREETING\"; pwd -P; id -u; umask; ulimit -c >/dev/null; readlink -f .");
    request.command.env.insert("GREETING".to_owned(), "hello $HOME".to_owned());
    let rehearsed = place.start(&request).await.unwrap();
    let (_, directly) = place.run_directly("id -u; umask", &place.work());
    let work = place.work().display().to_string();
    assert_eq!(rehearsed.outcome.output.text, format!("hello $HOME\n{work}\n{directly}{work}\n"));
}

#[tokio::test]
async fn devices_and_pipes_work_and_terminals_can_be_made() {
    let place = Place::new();
    let command = "head -c 3 /dev/zero | wc -c; echo gone > /dev/null; cat <(echo sub); ls /dev/fd/0 >/dev/null && echo fd; \
                   echo x > /dev/shm/y && cat /dev/shm/y; script -qec 'test -t 1 && echo terminal' /dev/null | tr -d '\\r'";
    let rehearsed = place.rehearse(command).await;
    assert_eq!(rehearsed.outcome.output.text, "3\nsub\nfd\nx\nterminal\n");
}

#[tokio::test]
async fn time_runs_out_for_those_who_do_not_listen_too() {
    let place = Place::new();
    let mut request = place
        .request("trap '' TERM; (trap '' TERM; sleep 600) & echo started; touch made; while :; do sleep 0.1; done");
    request.command.timeout_seconds = 1;
    let begun = Instant::now();
    let rehearsed = place.start(&request).await.unwrap();
    assert_eq!(rehearsed.outcome.end, CommandEnd::TimedOut);
    assert_eq!(rehearsed.outcome.output.text, "started\n");
    assert_eq!(rehearsed.changes.len(), 1, "what it had done until then is there");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn cancelling_asks_first_and_a_cancelled_run_does_not_begin() {
    let place = Place::new();
    let printed = Mutex::new(String::new());
    let request = place.request(LAST_WORDS);
    let surroundings = place.surroundings();
    let on_update = |text: String| *printed.lock().unwrap() = text;
    let running = Rehearsal::start(&request, &surroundings, &place.cancel, &on_update);
    let cancel = async {
        eventually(|| printed.lock().unwrap().contains("hello").then_some(())).await;
        place.cancel.cancel();
    };
    let (rehearsed, ()) = tokio::join!(running, cancel);
    let outcome = rehearsed.unwrap().outcome;
    assert_eq!((outcome.end, outcome.output.text.as_str()), (CommandEnd::Cancelled, "hello\nbye\n"));
    let rehearsed = place.rehearse("echo started > file").await;
    assert_eq!((rehearsed.outcome.end, rehearsed.changes.len()), (CommandEnd::Cancelled, 0));
}

#[tokio::test]
async fn dropping_the_future_ends_everybody_inside() {
    let place = Place::new();
    let marker = format!("{}.25", 100_000 + std::process::id());
    let request = place.request(&format!("setsid sleep {marker} & sleep {marker}"));
    let surroundings = place.surroundings();
    let sleeps = || is_running(&["sleep", &marker]);
    {
        let mut running = std::pin::pin!(Rehearsal::start(&request, &surroundings, &place.cancel, &|_| {}));
        tokio::select! {
            _ = &mut running => unreachable!("it does not end by itself"),
            () = eventually(|| (sleeps() == 2).then_some(())) => {}
        }
    }
    eventually(|| (sleeps() == 0).then_some(())).await;
    drop(request);
    assert!(place.state_is_empty());
}

/// How many processes have these arguments.
pub(crate) fn is_running(arguments: &[&str]) -> usize {
    let wanted: Vec<u8> = arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat()).collect();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted)).count()
}

/// How often something is tried that a busy machine may be too slow for.
const TRIES: usize = 20;

#[tokio::test]
async fn what_is_left_running_is_ended_and_named() {
    let place = Place::new();
    let marker = format!("{}.5", 200_000 + std::process::id());
    let begun = Instant::now();
    let command = format!("(setsid nohup sleep {marker} >/dev/null 2>&1 &); sleep {marker} & echo started");
    let rehearsed = place.rehearse(&command).await;
    assert_eq!(rehearsed.outcome.output.text, "started\n");
    assert_eq!(rehearsed.left_running, ["sleep", "sleep"]);
    assert_eq!(is_running(&["sleep", &marker]), 0);
    assert!(begun.elapsed() < Duration::from_secs(20));
    // Whoever ends soon is waited for; what is soon on a quiet machine may take long on another.
    for _ in 0..TRIES {
        let rehearsed = place.rehearse("(sleep 0.02; echo late > late) &").await;
        if (rehearsed.left_running.len(), rehearsed.changes.len()) == (0, 1) {
            return;
        }
    }
    panic!("nobody was waited for");
}

#[tokio::test]
async fn a_flood_of_output_is_kept_as_a_direct_run_keeps_it() {
    let place = Place::new();
    let rehearsed = place.rehearse("yes 'one line among many' | head -c 5000000").await;
    let output = &rehearsed.outcome.output;
    assert_eq!(output.total_bytes, 5_000_000);
    assert!(output.truncated.is_some() && output.text.len() < 600_000);
    let artifact = place.surroundings().artifacts.find(output.full_output.unwrap()).unwrap();
    assert_eq!(fs::metadata(artifact).unwrap().len(), 5_000_000);
}

#[tokio::test]
async fn writes_outside_fail_or_are_told_and_dropped() {
    let place = Place::new();
    for directory in ["elsewhere", "home"] {
        fs::create_dir(place.root().join(directory)).unwrap();
        fs::write(place.root().join(directory).join("file"), "old").unwrap();
    }
    let request = RehearsalRequest {
        watched: vec![place.root().join("home"), place.root().join("nowhere")],
        ..place.request("echo new > ../elsewhere/file || echo refused; echo new > ../home/file && rm -f ../home/file; echo x > ../home/made; cat ../home/made; rm ../elsewhere/file || echo refused; touch mine")
    };
    let rehearsed = place.start(&request).await.unwrap();
    let text = &rehearsed.outcome.output.text;
    assert_eq!(text.matches("refused").count(), 2, "{text}");
    assert!(text.contains("Read-only file system") && text.contains("\nx\n"), "{text}");
    let writes: Vec<_> =
        rehearsed.outside_writes.iter().map(|write| (write.path.as_path().to_owned(), write.kind)).collect();
    let home = place.root().join("home");
    assert_eq!(writes, [(home.join("file"), OutsideKind::Deleted), (home.join("made"), OutsideKind::Created)]);
    let changed: Vec<_> = rehearsed.changes.iter().map(|change| change.path.as_path().to_owned()).collect();
    assert_eq!(changed, [place.at("mine")]);
    assert_eq!(fs::read_to_string(place.root().join("elsewhere/file")).unwrap(), "old");
}

#[tokio::test]
async fn its_own_state_and_hidden_directories_seem_empty() {
    let place = Place::new();
    fs::create_dir(place.root().join("secret")).unwrap();
    fs::write(place.root().join("secret/key"), "key").unwrap();
    let state = place.state();
    let mut request = place.request(&format!("ls -A ../secret {}; touch ../secret/x || echo refused", state.display()));
    request.hidden = vec![place.root().join("secret")];
    let rehearsed = place.start(&request).await.unwrap();
    let text = rehearsed.outcome.output.text;
    assert_eq!(
        text,
        format!(
            "../secret:\n\n{}:\ntouch: cannot touch '../secret/x': Read-only file system\nrefused\n",
            state.display()
        )
    );
}

#[tokio::test]
async fn a_tree_that_has_moved_on_is_refused() {
    let place = Place::new();
    fs::write(place.at("file"), "one").unwrap();
    fs::create_dir(place.at("directory")).unwrap();
    fs::write(place.at("directory/a"), "a").unwrap();
    let rehearsed = place.rehearse("echo two > file; rm -r directory; touch new").await;
    fs::write(place.at("directory/b"), "somebody's").unwrap();
    let before = place.print();
    let error = place.apply(&rehearsed).unwrap_err();
    let ApplyError::Stale { paths } = error else { panic!("{error}") };
    assert_eq!(paths, [dryad_protocol::path::FilePath::new(place.at("directory/b"))]);
    assert_eq!(place.print(), before);
    fs::remove_file(place.at("directory/b")).unwrap();
    fs::write(place.at("file"), "eno").unwrap();
    assert!(matches!(place.apply(&place.rehearse("echo two > file").await), Ok(())));
}

#[tokio::test]
async fn what_others_change_while_it_runs_is_told() {
    let place = Place::new();
    fs::write(place.at("raced"), "one").unwrap();
    fs::write(place.at("quiet"), "one").unwrap();
    let printed = Mutex::new(String::new());
    let request = place.request(
        "cat raced; echo; while [ $(cat raced) = one ]; do sleep 0.01; done; echo end >> raced; echo end >> quiet",
    );
    let surroundings = place.surroundings();
    let on_update = |text: String| *printed.lock().unwrap() = text;
    let running = Rehearsal::start(&request, &surroundings, &place.cancel, &on_update);
    let race = async {
        eventually(|| printed.lock().unwrap().contains("one").then_some(())).await;
        fs::write(place.at("raced"), "two").unwrap();
    };
    let (rehearsed, ()) = tokio::join!(running, race);
    let rehearsed = rehearsed.unwrap();
    assert_eq!(rehearsed.changed_meanwhile, [dryad_protocol::path::FilePath::new(place.at("raced"))]);
    assert_eq!(rehearsed.changes.len(), 2);
}

/// Somebody's temporary directory has a layer of its own where other file systems are mounted beside it.
#[tokio::test]
async fn a_watched_place_that_goes_meanwhile_is_no_loss() {
    let place = Place::new();
    let gone = place.root().join("gone");
    fs::create_dir(&gone).unwrap();
    fs::write(place.at("flag"), "stay").unwrap();
    let printed = Mutex::new(String::new());
    let command = "echo ready; until [ $(cat flag) = gone ]; do sleep 0.01; done; echo x > ../gone/x; touch made";
    let request = RehearsalRequest { watched: vec![gone.clone()], ..place.request(command) };
    let surroundings = place.surroundings();
    let on_update = |text: String| *printed.lock().unwrap() = text;
    let running = Rehearsal::start(&request, &surroundings, &place.cancel, &on_update);
    let removal = async {
        eventually(|| printed.lock().unwrap().contains("ready").then_some(())).await;
        fs::remove_dir(&gone).unwrap();
        fs::write(place.at("flag"), "gone").unwrap();
    };
    let (rehearsed, ()) = tokio::join!(running, removal);
    let rehearsed = rehearsed.unwrap();
    let changed: Vec<_> = rehearsed.changes.iter().map(|change| change.path.as_path().to_owned()).collect();
    assert_eq!(changed, [place.at("made")]);
}

#[tokio::test]
async fn work_in_a_watched_home_that_holds_the_state_as_well() {
    let place = Place::new();
    fs::write(place.at("file"), "mine").unwrap();
    fs::create_dir(place.at("tree")).unwrap();
    fs::write(place.at("tree/leaf"), "leaf").unwrap();
    fs::write(place.root().join("theirs"), "theirs").unwrap();
    let before = place.print();
    // Between the two trees a rename works, as it does outside, where they are one.
    let command = "perl -e 'rename(q(file), q(../moved)) or die $!; rename(q(tree), q(../tree)) or die $!; \
                   rename(q(../theirs), q(here)) or die $!'; cat ../moved ../tree/leaf here";
    let request = RehearsalRequest { watched: vec![place.root()], ..place.request(command) };
    let running = place.start(&request);
    let is_send = |_: &dyn Send| {};
    is_send(&running);
    let rehearsed = running.await.unwrap();
    assert_eq!(rehearsed.outcome.output.text, "mineleaftheirs");
    assert_eq!(place.print(), before);
    let under = |path: &std::path::Path| path.strip_prefix(place.root()).unwrap().display().to_string();
    let changed: Vec<String> = rehearsed.changes.iter().map(|change| under(change.path.as_path())).collect();
    assert_eq!(changed, ["work/file", "work/here", "work/tree", "work/tree/leaf"]);
    let written: Vec<(String, OutsideKind)> =
        rehearsed.outside_writes.iter().map(|write| (under(write.path.as_path()), write.kind)).collect();
    let created = |name: &str| (name.to_owned(), OutsideKind::Created);
    let expected =
        [created("moved"), ("theirs".to_owned(), OutsideKind::Deleted), created("tree"), created("tree/leaf")];
    assert_eq!(written, expected);
    assert_eq!(rehearsed.limits, []);
}
