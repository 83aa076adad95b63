//! Which rung is taken where: forced, refused, remembered.

use super::place::{Place, helper, print_of};
use super::user::public_copy;
use dryad_effects::rehearse::{
    Helper, Hold, Ladder, Limit, ProbeRequest, RehearsalError, RehearsalRequest, Rung, SWITCH, Streams, sweep,
};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Probes with a helper of another name each time, so that other tests' results do not count.
fn probe(place: &Place, highest: Rung, cache: Option<&Path>) -> Ladder {
    let name = place.root().join("helper");
    std::os::unix::fs::symlink(helper(), &name).ok();
    let helper = Helper::At(name);
    let (state, work) = (place.state(), place.work());
    Ladder::find(&ProbeRequest { helper: &helper, state: &state, root: &work, cache, highest })
}

#[test]
fn the_best_rung_works_here_and_the_others_are_not_tried() {
    let place = Place::new();
    let ladder = probe(&place, Rung::Overlay, None);
    assert_eq!(ladder.best(), Rung::Overlay, "{ladder:?}");
    assert_eq!(ladder.unwatched, None);
    let holds: Vec<&Hold> = ladder.rungs.iter().map(|footing| &footing.hold).collect();
    assert_eq!(holds, [&Hold::Works, &Hold::Untried, &Hold::Untried, &Hold::Untried, &Hold::Untried]);
    assert!(place.state_is_empty());
}

#[test]
fn each_rung_can_be_the_first() {
    for rung in Rung::ALL {
        let place = Place::new();
        let ladder = probe(&place, rung, None);
        assert_eq!(ladder.best(), rung, "{ladder:?}");
        for above in Rung::ALL.into_iter().filter(|above| *above < rung) {
            assert_eq!(ladder.reason(above), Some(format!("{SWITCH}={rung}").as_str()));
        }
    }
}

#[test]
fn what_was_found_is_remembered_in_a_file() {
    let place = Place::new();
    let cache = place.root().join("cache.json");
    let found = probe(&place, Rung::Overlay, Some(&cache));
    let text = fs::read_to_string(&cache).unwrap();
    // Another process would read it from there; here the memory answers, so that a new key must miss.
    assert!(text.contains("\"works\""), "{text}");
    let begun = Instant::now();
    assert_eq!(probe(&place, Rung::Overlay, Some(&cache)), found);
    assert!(begun.elapsed().as_millis() < 5, "{:?}", begun.elapsed());
    fs::write(&cache, "{ torn").unwrap();
    assert_eq!(probe(&place, Rung::Tmpfs, Some(&cache)).best(), Rung::Tmpfs);
}

#[tokio::test]
async fn layers_in_memory_give_the_same_changes() {
    let place = Place::new();
    fs::write(place.at("file"), "one\n").unwrap();
    fs::create_dir_all(place.at("dir/sub")).unwrap();
    fs::write(place.at("dir/sub/x"), "x").unwrap();
    let original = place.print();
    let command = "echo two >> file; mv dir moved; rm moved/sub/x; mkdir moved/new; chmod 700 moved/new; ln -s a l";
    let mut request = place.request(command);
    let on_disk = place.start(&request).await.unwrap();
    request.highest = Rung::Tmpfs;
    let in_memory = place.start(&request).await.unwrap();
    assert_eq!((on_disk.rung, in_memory.rung), (Rung::Overlay, Rung::Tmpfs));
    let names = |rehearsed: &dryad_effects::rehearse::Rehearsed| {
        rehearsed
            .changes
            .iter()
            .map(|change| (change.path.clone(), change.before.clone(), change.after.blob()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&on_disk), names(&in_memory));
    place.apply(&in_memory).unwrap();
    place.undo(&in_memory).unwrap();
    assert_eq!(place.print(), original);
    let full = RehearsalRequest { quota: 8 << 20, ..place.request("head -c 20M /dev/zero > big || echo full") };
    let full = RehearsalRequest { highest: Rung::Tmpfs, ..full };
    let error = place.start(&full).await.unwrap_err();
    assert!(matches!(error, RehearsalError::Quota { .. }), "{error}");
}

/// Starts this program again to run one test inside another place; `prepare` is run there first, as root of it.
fn inside(prepare: &str, test: &str, place: &Path) {
    let (program, helping) = public_copy(place);
    let files = place.join("files");
    let script =
        format!("set -e; cd '{}'; {prepare}; exec '{}' --exact {test} --nocapture", files.display(), program.display());
    let output = Command::new("unshare")
        .args(["-m", "-U", "--map-root-user"])
        .args(["/bin/bash", "-c", &script])
        .env("DRYAD_TEST_HELPER", helping)
        .env("DRYAD_TEST_INSIDE", &files)
        .env("TMPDIR", &files)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

fn files() -> Option<std::path::PathBuf> {
    std::env::var_os("DRYAD_TEST_INSIDE").map(Into::into)
}

#[test]
fn an_overlay_that_cannot_hold_a_layer_gets_one_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let prepare = "mkdir l u w m; mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w,userxattr m";
    inside(prepare, "rehearse::ladder::inside_an_overlay", place.path());
}

#[tokio::test]
async fn inside_an_overlay() {
    let Some(files) = files() else { return };
    let place = Place::within(&files.join("m"));
    fs::write(place.at("file"), "one\n").unwrap();
    fs::create_dir(place.at("dir")).unwrap();
    let rehearsed = place.rehearse("echo two >> file; mv dir other").await;
    assert_eq!(rehearsed.rung, Rung::Tmpfs);
    let ladder = probe(&place, Rung::Overlay, None);
    assert!(ladder.reason(Rung::Overlay).is_some_and(|reason| reason.contains("upperdir")), "{ladder:?}");
    place.apply(&rehearsed).unwrap();
    assert_eq!(fs::read_to_string(place.at("file")).unwrap(), "one\ntwo\n");
    assert!(place.at("other").is_dir());
}

#[test]
fn a_tree_with_a_mount_in_it_is_split() {
    let place = tempfile::tempdir().unwrap();
    inside("mkdir -p base; mount -t tmpfs none base", "rehearse::ladder::inside_with_a_mount", place.path());
}

#[tokio::test]
async fn inside_with_a_mount() {
    let Some(files) = files() else { return };
    let place = Place::within(&files);
    for directory in ["a", "m"] {
        fs::create_dir(place.at(directory)).unwrap();
    }
    let mount = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(place.at("m")).status().unwrap();
    assert!(mount.success());
    fs::write(place.at("m/file"), "one\n").unwrap();
    let rehearsed = place.rehearse("echo two >> m/file; echo x > a/x; touch here || echo refused").await;
    assert!(rehearsed.outcome.output.text.ends_with("refused\n"), "{}", rehearsed.outcome.output.text);
    assert!(rehearsed.limits.contains(&Limit::Split(place.work())), "{:?}", rehearsed.limits);
    assert_eq!(fs::read_to_string(place.at("m/file")).unwrap(), "one\n");
    place.apply(&rehearsed).unwrap();
    assert_eq!(fs::read_to_string(place.at("m/file")).unwrap(), "one\ntwo\n");
    assert!(place.at("a/x").exists());
}

#[test]
fn where_namespaces_are_forbidden_that_is_said() {
    let place = tempfile::tempdir().unwrap();
    inside("echo 0 > /proc/sys/user/max_user_namespaces", "rehearse::ladder::inside_without_namespaces", place.path());
}

#[tokio::test]
async fn inside_without_namespaces() {
    if files().is_none() {
        return;
    }
    let place = Place::new();
    let error = place.start(&place.request("touch file")).await.unwrap_err();
    let RehearsalError::NoRung { reasons } = &error else { panic!("{error}") };
    assert!(reasons[0].contains("user namespaces are allowed"), "{error}");
    assert!(!place.at("file").exists());
    assert_eq!(probe(&place, Rung::Overlay, None).best(), Rung::Journal);
    let request = RehearsalRequest { lowest: Rung::Journal, ..place.request("echo x > file") };
    let journalled = place.start(&request).await.unwrap();
    assert_eq!((journalled.rung, journalled.changes.len()), (Rung::Journal, 1));
    assert!(place.at("file").exists());
}

/// Numbers of the system calls prctl, seccomp and connect.
#[cfg(target_arch = "x86_64")]
const CALLS: [u32; 3] = [157, 317, 42];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [u32; 3] = [167, 277, 203];

#[test]
fn where_a_supervisor_answers_connections_that_is_said() {
    let [prctl, seccomp, connect] = CALLS;
    // A filter of four instructions: whoever connects is told that the network is down.
    let supervise = format!(
        "syscall({prctl}, 38, 1, 0, 0, 0); \
         my $filter = pack('SCCL' x 4, 32, 0, 0, 0, 21, 0, 1, {connect}, 6, 0, 0, 0x50064, 6, 0, 0, 0x7fff0000); \
         syscall({seccomp}, 1, 0, pack('Sx6P', 4, $filter)) == 0 or die $!; exec @ARGV"
    );
    let output = Command::new("perl")
        .args(["-e", &supervise])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "rehearse::ladder::inside_a_supervisor", "--nocapture"])
        .env("DRYAD_TEST_HELPER", helper())
        .env("DRYAD_TEST_INSIDE", "supervisor")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn inside_a_supervisor() {
    if files().is_none() {
        return;
    }
    let place = Place::new();
    for highest in [Rung::Overlay, Rung::Journal] {
        let command = "(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1; mkdir -p a; mv a b";
        let request = RehearsalRequest { highest, lowest: Rung::Journal, ..place.request(command) };
        let rehearsed = place.start(&request).await.unwrap();
        assert!(rehearsed.outcome.output.text.contains("Network is down"), "{}", rehearsed.outcome.output.text);
        assert_eq!((rehearsed.limits.as_slice(), rehearsed.network_attempts.len()), (&[Limit::Deaf][..], 0));
        assert_eq!(rehearsed.changes.len(), 1);
    }
}

/// Rehearses until it is killed: not a test by itself, but what one starts.
#[tokio::test]
async fn inside_until_killed() {
    let Some(files) = files() else { return };
    let place = std::mem::ManuallyDrop::new(Place::within(&files));
    let writes = "echo x > file; mkdir closed; chmod 000 closed; touch ../../ready 2>/dev/null; echo ready > ready";
    let mut request = place.request(&format!("{writes}; sleep {}", long_sleep(std::process::id())));
    request.state = files.join("state");
    drop(place.start(&request).await);
}

/// A time to sleep that names who starts it, since this test may run twice at once.
fn long_sleep(starter: u32) -> String {
    format!("{}", 9_000_000 + starter)
}

#[tokio::test]
async fn a_killed_rehearsal_leaves_no_process_no_mount_and_the_next_start_sweeps() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().canonicalize().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rehearse::ladder::inside_until_killed", "--nocapture"])
        .env("DRYAD_TEST_INSIDE", &files)
        .env("DRYAD_TEST_HELPER", helper())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let state = files.join("state");
    let is_there = || {
        let claims = fs::read_dir(&state).ok()?.filter_map(Result::ok).map(|entry| entry.path());
        claims.map(|claim| claim.join("0/upper/ready")).find(|ready| ready.exists())
    };
    super::place::eventually(is_there).await;
    let long = long_sleep(child.id());
    let sleeps = || super::commands::is_running(&["sleep", &long]);
    super::place::eventually(|| (sleeps() == 1).then_some(())).await;
    let before = print_of(&files.join("state")).len();
    assert!(before > 3);
    child.kill().unwrap();
    child.wait().unwrap();
    super::place::eventually(|| (sleeps() == 0).then_some(())).await;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&files.display().to_string()), "{mounts}");
    assert_eq!(sweep(&state), 1);
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
}

#[test]
fn the_switch_is_an_environment_variable() {
    if let Some(name) = std::env::var_os("DRYAD_TEST_RUNG") {
        assert_eq!(Some(Rung::from_environment()), Rung::named(&name));
        return;
    }
    for rung in Rung::ALL {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "rehearse::ladder::the_switch_is_an_environment_variable"])
            .env(SWITCH, rung.name())
            .env("DRYAD_TEST_RUNG", rung.name())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{rung}");
    }
}

/// Rehearses with this process's own streams: not a test by itself, but what one starts on a terminal.
#[tokio::test]
async fn inside_a_terminal() {
    if std::env::var_os("DRYAD_TEST_TERMINAL").is_none() {
        return;
    }
    let place = Place::new();
    let command =
        "test -t 0 && test -t 1 && test -t 2 && read line && echo \"got [$line]\" > /dev/tty && stty size; touch made";
    for highest in [Rung::Overlay, Rung::Journal] {
        let request =
            RehearsalRequest { streams: Streams::Own, highest, lowest: Rung::Journal, ..place.request(command) };
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!((rehearsed.outcome.output.total_bytes, rehearsed.changes.len()), (0, 1));
    }
}

#[test]
fn a_terminal_is_a_terminal_to_the_command() {
    let program = std::env::current_exe().unwrap();
    let line = format!("{} --exact rehearse::ladder::inside_a_terminal --nocapture", program.display());
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("DRYAD_TEST_TERMINAL", "1")
        .env("DRYAD_TEST_HELPER", helper())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::Write as _;
    child.stdin.as_mut().unwrap().write_all(b"hello\nagain\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("got [hello]") && said.contains("got [again]"), "{said}");
}

#[tokio::test]
async fn a_copy_that_does_not_fit_into_memory_is_a_quota_that_is_hit() {
    let place = Place::new();
    fs::write(place.at("large"), vec![7; 24 << 20]).unwrap();
    let request = RehearsalRequest { quota: 8 << 20, ..place.request("echo more >> large || echo full") };
    let request = RehearsalRequest { highest: Rung::Tmpfs, lowest: Rung::Tmpfs, ..request };
    let error = place.start(&request).await.unwrap_err();
    assert!(matches!(error, RehearsalError::Quota { limit, .. } if limit == 8 << 20), "{error}");
}

#[tokio::test]
async fn a_work_tree_with_too_many_mounts_beside_directories_goes_to_the_next_rung_at_once() {
    let Some(files) = files() else { return };
    let place = Place::within(&files);
    // What another tree on the same file system has shown does not hold for this one.
    assert_eq!(probe(&place, Rung::Overlay, None).best(), Rung::Overlay);
    for number in 0..70 {
        fs::create_dir(place.at(&number.to_string())).unwrap();
    }
    fs::create_dir(place.at("m")).unwrap();
    assert!(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(place.at("m")).status().unwrap().success());
    let ladder = probe(&place, Rung::Overlay, None);
    assert_eq!(ladder.best(), Rung::Journal, "{ladder:?}");
    assert!(ladder.reason(Rung::Overlay).is_some_and(|reason| reason.contains("too many layers")), "{ladder:?}");
    assert!(ladder.reason(Rung::Tmpfs).is_some_and(|reason| reason.contains("too many layers")), "{ladder:?}");
    let request = RehearsalRequest { lowest: Rung::Snapshot, ..place.request("echo x > 7/x") };
    let rehearsed = place.start(&request).await.unwrap();
    assert_eq!((rehearsed.rung, rehearsed.changes.len()), (Rung::Journal, 1));
    rehearsed.discard();
}

#[test]
fn a_crowded_work_tree_is_not_taken_for_another() {
    let place = tempfile::tempdir().unwrap();
    let test = "rehearse::ladder::a_work_tree_with_too_many_mounts_beside_directories_goes_to_the_next_rung_at_once";
    inside("true", test, place.path());
}
