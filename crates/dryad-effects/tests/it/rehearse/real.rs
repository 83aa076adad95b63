//! The rungs that are no dry run: the command really runs, and what it changed can be taken back.

use super::changes::{CASES, CLOSED, FIXTURE, UNREADABLE, shell, unnumbered};
use super::generated::Dice;
use super::place::{LAST_WORDS, Place, Print, difference, eventually, is_root, print_of};
use dryad_effects::rehearse::{OutsideKind, Rehearsal, RehearsalError, RehearsalRequest, Rehearsed, Rung, Uncarried};
use dryad_protocol::command::CommandEnd;
use dryad_protocol::image::Image;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

fn on(place: &Place, rung: Rung, command: &str) -> RehearsalRequest {
    RehearsalRequest { highest: rung, lowest: rung, ..place.request(command) }
}

async fn run_on(place: &Place, rung: Rung, command: &str) -> Rehearsed {
    let done = place.start(&on(place, rung, command)).await.unwrap();
    assert_eq!(done.rung, rung);
    done
}

/// Runs a command on a rung and, in a copy, directly; compares, takes back, compares again.
async fn equals_a_direct_run(place: &Place, rung: Rung, command: &str) -> Vec<String> {
    let direct = place.root().join("direct");
    fs::create_dir(&direct).unwrap();
    shell(&format!("cp -a '{}/.' .", place.work().display()), &direct);
    let original = place.print();
    let (_, printed) = place.run_directly(command, &direct);
    let done = run_on(place, rung, command).await;
    let mut failures = Vec::new();
    let mut differs = |what: &str, left: &Print, right: &Print| {
        if left != right {
            failures.push(format!("{rung} {what}: {}", difference(left, right)));
        }
    };
    differs("does something else", &place.print(), &print_of(&direct));
    done.hand_over(&place.vault()).unwrap();
    if let Err(error) = place.undo(&done) {
        return vec![format!("{rung} undo: {error}")];
    }
    differs("undone", &place.print(), &original);
    if unnumbered(&done.outcome.output.text) != unnumbered(&printed) {
        failures.push(format!("{rung} prints {}instead of {printed}", done.outcome.output.text));
    }
    shell("chmod -R u+rwx .", &place.root());
    failures
}

#[tokio::test]
async fn commands_really_run_and_are_taken_back_exactly() {
    let mut failures = Vec::new();
    for rung in [Rung::Journal, Rung::Snapshot] {
        let place = Place::quick();
        let hard = [CLOSED, UNREADABLE, "chmod 000 dir/sub; true"];
        let cases: Vec<&str> = CASES.into_iter().filter(|case| is_root() || !hard.contains(case)).collect();
        let each = |(number, case): (usize, &&str)| format!("(cd {number}; {case}\n); echo {number} ends with $?\n");
        let command: String = cases.iter().enumerate().map(each).collect();
        let last = cases.len();
        let fixtures = format!("mkdir 0; (cd 0; {FIXTURE}); for n in $(seq 1 {last}); do cp -a 0 $n; done");
        shell(&fixtures, &place.work());
        failures.extend(equals_a_direct_run(&place, rung, &command).await);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn generated_scripts_really_run_and_are_taken_back_exactly() {
    let count: u64 = std::env::var("DRYAD_TEST_SCRIPTS").map_or(12, |text| text.parse().unwrap());
    let mut failures = Vec::new();
    for rung in [Rung::Journal, Rung::Snapshot] {
        let place = Place::quick();
        let (mut prepare, mut script) = (String::new(), String::new());
        for seed in 100..100 + count {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            prepare.push_str(&format!("mkdir {seed}; (cd {seed}; {}\n)\n", dice.script(25)));
            script.push_str(&format!("(cd {seed}; {}\n)\n", dice.script(20)));
        }
        place.run_directly(&prepare, &place.work());
        failures.extend(equals_a_direct_run(&place, rung, &script).await);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn a_request_for_dry_runs_alone_runs_nothing_for_real() {
    let place = Place::new();
    for highest in [Rung::Journal, Rung::Snapshot, Rung::Direct] {
        let request = RehearsalRequest { highest, lowest: Rung::Tmpfs, ..place.request("touch file") };
        let error = place.start(&request).await.unwrap_err();
        assert!(matches!(error, RehearsalError::NoRung { .. }), "{error}");
    }
    assert!(!place.at("file").exists());
    let direct = run_on(&place, Rung::Direct, "touch file; echo done").await;
    assert_eq!((direct.outcome.output.text.as_str(), direct.changes.len()), ("done\n", 0));
    assert!(place.at("file").exists());
}

#[tokio::test]
async fn writes_elsewhere_are_told_and_deletes_there_are_refused() {
    let place = Place::new();
    let outside = place.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("old"), "kept").unwrap();
    let command = "echo x > ../outside/new; echo more >> ../outside/old; rm ../outside/old || echo refused; touch mine";
    let done = run_on(&place, Rung::Journal, command).await;
    assert!(done.outcome.output.text.ends_with("refused\n"), "{}", done.outcome.output.text);
    let writes: Vec<_> =
        done.outside_writes.iter().map(|write| (write.path.as_path().to_owned(), write.kind)).collect();
    assert_eq!(writes, [(outside.join("new"), OutsideKind::Created), (outside.join("old"), OutsideKind::Changed)]);
    assert_eq!(done.changes.len(), 1);
    assert_eq!(fs::read_to_string(outside.join("old")).unwrap(), "keptmore\n");
}

#[tokio::test]
async fn pipes_are_never_opened_and_what_is_left_running_is_ended() {
    let place = Place::new();
    shell("mkfifo pipe", &place.work());
    let marker = format!("{}.75", 300_000 + std::process::id());
    let command = format!("(echo through > pipe &); cat pipe; mkfifo new; (setsid sleep {marker} &); echo end");
    let done = run_on(&place, Rung::Journal, &command).await;
    assert_eq!(done.outcome.output.text, "through\nend\n");
    assert_eq!(done.left_running.len(), 1);
    eventually(|| (super::commands::is_running(&["sleep", &marker]) == 0).then_some(())).await;
    let said: Vec<Uncarried> = done.not_carried.iter().map(|one| one.what).collect();
    assert_eq!(said, [Uncarried::SpecialFileStays]);
    let done = run_on(&place, Rung::Journal, "rm pipe").await;
    assert!(done.not_carried[0].to_string().ends_with("is gone and cannot be brought back"), "{:?}", done.not_carried);
}

#[tokio::test]
async fn what_lies_behind_a_directory_that_was_closed_is_not_forgotten() {
    // Nothing is closed to root.
    for rung in [Rung::Journal, Rung::Snapshot] {
        for command in ["rm d/f; chmod 600 d", "echo x >> d/f; chmod 000 d", "echo x >> d/f; chmod 000 d/f d"] {
            let place = Place::new();
            shell("mkdir d; echo 1 > d/f", &place.work());
            let done = run_on(&place, rung, command).await;
            let bits = fs::metadata(place.at("d")).unwrap().permissions().mode() & 0o777;
            assert_eq!((done.not_carried.len(), bits & 0o077), (0, 0), "{rung} {command}: {:?}", done.not_carried);
            let paths: Vec<_> = done.changes.iter().map(|change| change.path.as_path().to_owned()).collect();
            assert!(paths.contains(&place.at("d")) && paths.contains(&place.at("d/f")), "{rung} {command}: {paths:?}");
            let mode = done.changes.iter().find(|change| change.path.as_path() == place.at("d")).map(|c| &c.after);
            assert_eq!(mode, Some(&Image::Directory { mode: bits }), "{rung} {command}");
            shell("chmod 700 d", &place.work());
        }
    }
}

#[tokio::test]
async fn a_witnessed_command_hears_cancelling_and_runs_out_of_time() {
    let place = Place::new();
    let mut request = on(&place, Rung::Journal, "trap '' TERM; echo started > file; while :; do sleep 0.1; done");
    request.command.timeout_seconds = 1;
    let done = place.start(&request).await.unwrap();
    assert_eq!((done.outcome.end, done.changes.len()), (CommandEnd::TimedOut, 1));
    let printed = Mutex::new(String::new());
    let request = on(&place, Rung::Journal, LAST_WORDS);
    let surroundings = place.surroundings();
    let on_update = |text: String| *printed.lock().unwrap() = text;
    let running = Rehearsal::start(&request, &surroundings, &place.cancel, &on_update);
    let cancel = async {
        eventually(|| printed.lock().unwrap().contains("hello").then_some(())).await;
        place.cancel.cancel();
    };
    let (done, ()) = tokio::join!(running, cancel);
    let outcome = done.unwrap().outcome;
    assert_eq!((outcome.end, outcome.output.text.as_str()), (CommandEnd::Cancelled, "hello\nbye\n"));
}

#[tokio::test]
async fn a_second_snapshot_copies_only_what_is_new() {
    let place = Place::new();
    shell(FIXTURE, &place.work());
    let kept = || {
        let stores = fs::read_dir(place.state()).unwrap().map(|entry| entry.unwrap().path());
        let store = stores.into_iter().find(|path| path.display().to_string().contains("kept-")).unwrap();
        let files = fs::read_dir(store).unwrap().map(|entry| entry.unwrap());
        files.map(|entry| std::os::unix::fs::MetadataExt::ino(&entry.metadata().unwrap())).collect::<Vec<_>>()
    };
    drop(run_on(&place, Rung::Snapshot, "true").await);
    let first = kept();
    let unrecorded = run_on(&place, Rung::Snapshot, "echo more >> a.txt").await;
    drop(run_on(&place, Rung::Snapshot, "true").await);
    assert_eq!(kept().len(), first.len() + 1, "what is not recorded yet is still needed");
    unrecorded.discard();
    drop(run_on(&place, Rung::Snapshot, "true").await);
    let second = kept();
    assert_eq!(second.len(), first.len());
    assert_eq!(second.iter().filter(|inode| !first.contains(inode)).count(), 1);
}

#[tokio::test]
async fn what_a_closed_directory_held_is_not_new_when_it_is_opened() {
    for bits in ["000", "600"] {
        let place = Place::new();
        shell(&format!("mkdir d; echo 1 > d/f; chmod {bits} d"), &place.work());
        let done = run_on(&place, Rung::Snapshot, "chmod 755 d; echo n > n").await;
        let paths: Vec<_> = done.changes.iter().map(|change| change.path.as_path().to_owned()).collect();
        assert_eq!(paths, [place.at("d"), place.at("n")], "{bits}");
    }
}

#[tokio::test]
async fn what_could_not_be_kept_is_left_where_it_came_to() {
    for (rung, command) in [
        (Rung::Snapshot, "mv big moved; echo y > small"),
        (Rung::Snapshot, "mv big small"),
        (Rung::Journal, "mv big moved; echo x >> moved; echo y > small"),
        (Rung::Journal, "mv big small; echo x >> small"),
    ] {
        let place = Place::new();
        shell("head -c 5000 /dev/zero > big; echo x > small", &place.work());
        let request = RehearsalRequest { quota: 1000, ..on(&place, rung, command) };
        let done = place.start(&request).await.unwrap();
        let said: Vec<Uncarried> = done.not_carried.iter().map(|one| one.what).collect();
        assert!(said.contains(&Uncarried::OnlyCopy) && said.contains(&Uncarried::Lost), "{rung} {command}: {said:?}");
        let after = place.print();
        done.hand_over(&place.vault()).unwrap();
        place.undo(&done).unwrap();
        let moved = if command.contains("moved") { "moved" } else { "small" };
        let moved = std::path::Path::new(moved);
        assert_eq!(place.print().get(moved), after.get(moved), "{rung} {command}");
    }
}
