//! Ends of files that were torn or garbled, and losses of power.

use crate::stage::*;
use dryad_session::problem::Problem;
use dryad_session::session::Session;
use std::path::{Path, PathBuf};

fn stored(home: &Home) -> (PathBuf, Vec<u8>) {
    let mut session = home.create();
    for body in [user("one"), assistant("two"), user("drei ü"), assistant("vier \"4\"")] {
        session.append(body, NOW);
    }
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    drop(session);
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

fn line_ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

#[test]
fn a_file_cut_at_any_byte_of_its_last_two_lines_opens_with_everything_before() {
    let home = Home::new();
    let (path, bytes) = stored(&home);
    let ends = line_ends(&bytes);
    let aside = PathBuf::from(format!("{}.broken", path.display()));
    let all = ["one", "two", "drei ü", "vier \"4\""];
    for cut in ends[2]..=bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        std::fs::remove_file(&aside).ok();
        // A line that lacks nothing but its line break is whole.
        let whole = ends.iter().skip(1).filter(|&&end| end - 1 <= cut).count();
        let mut session = home.open(&path).unwrap();
        assert_eq!(texts(&session), all[..whole], "cut at {cut}");
        let good = if ends.contains(&(cut + 1)) { cut } else { *ends.iter().filter(|&&end| end <= cut).max().unwrap() };
        match cut - good {
            0 => assert_eq!(session.problems(), []),
            torn => {
                let problem = Problem::BadTail { bytes: torn as u64, aside: Some(aside.clone()) };
                assert_eq!(session.problems(), [problem]);
                assert_eq!(std::fs::read(&aside).unwrap(), &bytes[good..cut]);
            }
        }
        // Each of these waits for the disk: enough cuts of each kind are carried on.
        if cut % 9 != 0 && !ends.iter().any(|end| end.abs_diff(cut) < 3) {
            continue;
        }
        session.append(user("on"), NOW);
        session.flush().unwrap();
        drop(session);
        let mut expected = all[..whole].to_vec();
        expected.push("on");
        let again = home.open(&path).unwrap();
        assert_eq!(
            (texts(&again), again.problems()),
            (expected.iter().map(|text| (*text).to_owned()).collect(), &[][..])
        );
    }
}

#[test]
fn a_garbled_end_is_put_aside_whatever_it_is() {
    let home = Home::new();
    let (path, bytes) = stored(&home);
    let garbage: [&[u8]; 5] = [&[0; 4096], b"\xff\xfe\n\xff\n", b"{\"type\":\"message\"", b"not json\n\n{}\n", b"[]\n"];
    for tail in garbage {
        let mut broken = bytes.clone();
        broken.extend_from_slice(tail);
        std::fs::write(&path, &broken).unwrap();
        let session = home.open(&path).unwrap();
        assert_eq!(texts(&session).len(), 4);
        assert!(matches!(session.problems(), [Problem::BadTail { bytes, .. }] if *bytes == tail.len() as u64));
        drop(session);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    let aside = std::fs::read(format!("{}.broken", path.display())).unwrap();
    assert_eq!(aside, garbage.concat());
}

#[test]
fn looking_at_a_torn_session_leaves_it_as_it_is() {
    let home = Home::new();
    let (path, bytes) = stored(&home);
    let torn = &bytes[..bytes.len() - 5];
    std::fs::write(&path, torn).unwrap();
    let session = Session::open_for_reading(&path, &home.opening()).unwrap();
    assert_eq!(texts(&session).len(), 3);
    assert!(matches!(session.problems(), [Problem::BadTail { aside: None, .. }]));
    drop(session);
    assert_eq!(std::fs::read(&path).unwrap(), torn);
}

#[test]
fn garbage_between_good_lines_is_skipped_and_stays() {
    let home = Home::new();
    let (path, bytes) = stored(&home);
    let ends = line_ends(&bytes);
    let mut broken = bytes[..ends[2]].to_vec();
    broken.extend_from_slice(b"garbage\n");
    broken.extend_from_slice(&bytes[ends[2]..]);
    std::fs::write(&path, &broken).unwrap();
    let session = home.open(&path).unwrap();
    assert_eq!((texts(&session).len(), session.problems()), (4, &[Problem::UnreadableLine { line: 4 }][..]));
    drop(session);
    assert_eq!(std::fs::read(&path).unwrap(), broken);
}

#[test]
fn a_file_that_lost_its_header_is_put_aside_and_begun_anew() {
    let home = Home::new();
    let (path, bytes) = stored(&home);
    let header = line_ends(&bytes)[0];
    for cut in [0, 1, 10, header - 2] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let mut session = home.open(&path).unwrap();
        assert!(texts(&session).is_empty());
        session.append(assistant("new"), NOW);
        session.flush().unwrap();
        drop(session);
        assert_eq!(texts(&home.open(&path).unwrap()), ["new"]);
        let aside = PathBuf::from(format!("{}.broken", path.display()));
        if cut > 0 {
            assert_eq!(std::fs::read(&aside).unwrap(), &bytes[..cut]);
            std::fs::remove_file(&aside).unwrap();
        }
    }
}

/// What came before a flush was synced (the syncer's own tests see to that); of what came after it, a loss of
/// power leaves any part.
#[test]
fn what_was_flushed_survives_a_loss_of_power() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    for round in 0..20 {
        let promised = std::fs::metadata(&path).unwrap().len() as usize;
        let said = texts(&session).len();
        session.append(user(&format!("round {round}")), NOW);
        session.append(assistant("yes"), NOW);
        let written = std::fs::read(&path).unwrap();
        // Power goes before the sync: any part of what was not promised may be missing or zero.
        for kept in [promised, promised + 1, (promised + written.len()) / 2, written.len() - 1] {
            for zeros in [0, written.len() - kept] {
                let lost = Home::new();
                let mut bytes = written[..kept].to_vec();
                bytes.resize(kept + zeros, 0);
                let copy = lost.file(&bytes);
                assert!(texts(&lost.open(&copy).unwrap()).len() >= said);
            }
        }
        session.flush().unwrap();
    }
}

/// The test runs itself once more as a process that appends and rewrites until it is killed.
#[test]
fn a_killed_process_leaves_every_entry_it_told_of() {
    use std::io::{BufRead as _, BufReader, Write as _};
    const HOME: &str = "DRYAD_TEST_KILLED";
    if let Some(path) = std::env::var_os(HOME) {
        let places = dryad_session::places::Places::below(std::path::Path::new("/nowhere"));
        let opening =
            dryad_session::open::Opening { places: &places, cwd: None, here: std::path::Path::new("/"), now: NOW };
        let mut session = Session::open(std::path::Path::new(&path), &opening).unwrap();
        for number in session.tree().nodes().len().. {
            let id = session.append(user(&format!("{number} {}", "x".repeat(number % 5000))), NOW);
            if number % 7 == 0 {
                session.set_name(&format!("name {number}"), dryad_protocol::entry::TitleSource::Auto, NOW).unwrap();
            }
            writeln!(std::io::stdout(), "appended {id}").unwrap();
        }
    }
    let home = Home::new();
    let (path, _) = stored(&home);
    let name = "durability::a_killed_process_leaves_every_entry_it_told_of";
    for round in 0..12 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(HOME, &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ids = lines.filter_map(|line| line.strip_prefix("appended ").map(str::to_owned));
        let told: Vec<String> = ids.take(3 + round * 11).collect();
        assert_eq!(told.len(), 3 + round * 11, "the process went on until it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        let session = home.open(&path).unwrap();
        for id in &told {
            session.entry(&id.as_str().into()).unwrap();
        }
        assert!(!session.problems().iter().any(|problem| !matches!(problem, Problem::BadTail { .. })));
        assert_eq!(texts(&session).len(), session.tree().nodes().len());
    }
}

fn drafts(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "draft")).collect()
}

fn tell(process: u32, signal: &str) {
    assert!(std::process::Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// The test runs itself once more as a process that rewrites a long session until it is stopped in the middle.
#[test]
fn what_a_killed_rewrite_leaves_is_swept_and_what_a_living_one_needs_is_not() {
    const FILE: &str = "DRYAD_TEST_REWRITTEN";
    if let Some(path) = std::env::var_os(FILE) {
        let places = dryad_session::places::Places::below(Path::new("/nowhere"));
        let opening = dryad_session::open::Opening { places: &places, cwd: None, here: Path::new("/"), now: NOW };
        let mut session = Session::open(Path::new(&path), &opening).unwrap();
        for number in 0.. {
            session.set_name(&format!("name {number}"), dryad_protocol::entry::TitleSource::Auto, NOW).unwrap();
        }
    }
    let home = Home::new();
    let (path, _) = stored(&home);
    let mut session = home.open(&path).unwrap();
    for number in 0..60 {
        session.append(user(&format!("{number} {}", "x".repeat(400_000))), NOW);
    }
    session.flush().unwrap();
    let said = texts(&session);
    drop(session);
    let directory = path.parent().unwrap();
    let strange = directory.join(".notes.draft");
    std::fs::write(&strange, "somebody else's").unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["durability::what_a_killed_rewrite_leaves_is_swept_and_what_a_living_one_needs_is_not", "--exact"])
        .env(FILE, &path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It is stopped again and again until that is in the middle of a rewrite.
    let started = std::time::Instant::now();
    let left = loop {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "it never rewrites");
        tell(child.id(), "-STOP");
        let left: Vec<PathBuf> = drafts(directory).into_iter().filter(|draft| *draft != strange).collect();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let is_stopped = || state().rsplit_once(')').unwrap().1.trim_start().starts_with('T');
        while !is_stopped() {
            std::thread::yield_now();
        }
        if !left.is_empty() && left.iter().all(|draft| draft.exists()) {
            break left;
        }
        tell(child.id(), "-CONT");
        std::thread::yield_now();
    };
    let other = home.open(&directory.join("other.jsonl")).unwrap();
    assert!(left.iter().all(|draft| draft.exists()), "whoever made it lives: {left:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(left.iter().all(|draft| draft.exists()), "nobody has swept yet");
    drop(other);
    let session = home.open(&path).unwrap();
    assert_eq!((texts(&session), session.problems()), (said, &[][..]));
    assert_eq!(drafts(directory), [strange], "only what is known to be left over is removed");
}
