//! Pictures stay as long as anything names them, and go when nothing does.

use crate::stage::*;
use base64::Engine as _;
use dryad_protocol::time::Timestamp;
use dryad_session::blobs::{Collected, Way, collect};
use dryad_session::context;
use dryad_session::open::Opening;
use dryad_session::removal;
use dryad_session::session::Session;
use serde_json::json;
use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The files of all pictures, by name.
pub(crate) fn stored(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.places.blobs()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| name(path).len() == 64).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A message with a picture of its own.
fn picture(seed: u8) -> dryad_protocol::entry::EntryBody {
    let bytes: Vec<u8> = (0..2000_u32).map(|number| (number as u8).wrapping_mul(seed)).collect();
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    message(
        json!({"role": "user", "timestamp": 1, "content": [{"type": "image", "data": data, "mimeType": "image/png"}]}),
    )
}

/// A stored session with a picture; the file of that picture.
fn with_picture(home: &Home, mut session: Session, seed: u8) -> (PathBuf, PathBuf) {
    let before = if home.places.blobs().is_dir() { stored(home) } else { Vec::new() };
    session.append(picture(seed), NOW);
    session.append(assistant("seen"), NOW);
    session.flush().unwrap();
    let new = stored(home).into_iter().find(|path| !before.contains(path)).unwrap();
    (session.file().unwrap().to_owned(), new)
}

/// As if everything had been stored 31 days ago.
fn age(home: &Home) {
    let then = SystemTime::now() - Duration::from_secs(31 * 24 * 60 * 60);
    for path in stored(home) {
        File::options().append(true).open(path).unwrap().set_times(FileTimes::new().set_modified(then)).unwrap();
    }
}

fn today() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

fn collected(home: &Home, way: Way) -> Collected {
    collect(&home.places, today(), way).unwrap()
}

#[test]
fn what_no_session_names_goes_after_a_while() {
    let home = Home::new();
    let (gone, orphan) = with_picture(&home, home.create(), 3);
    let (_, kept) = with_picture(&home, home.create(), 5);
    std::fs::remove_file(gone).unwrap();
    std::fs::write(home.places.blobs().join("notes.txt"), "mine").unwrap();
    assert_eq!(collected(&home, Way::Remove), Collected { removed: vec![], kept_bytes: 4000 }, "it is young");
    age(&home);
    let expected = Collected { removed: vec![(name(&orphan).to_owned(), 2000)], kept_bytes: 2000 };
    assert_eq!(collected(&home, Way::DryRun), expected);
    assert_eq!(stored(&home).len(), 2, "a dry run removes nothing");
    assert_eq!(collected(&home, Way::Remove), expected);
    assert_eq!(stored(&home), [kept]);
    assert!(home.places.blobs().join("notes.txt").exists());
    assert_eq!(collected(&home, Way::Remove), Collected { removed: vec![], kept_bytes: 2000 });
}

#[test]
fn whatever_may_be_a_session_keeps_its_pictures() {
    let home = Home::new();
    let (file, _) = with_picture(&home, home.create(), 3);
    removal::remove(&file, &home.places).unwrap();
    let outside = home.root.path().join("outside/mine.jsonl");
    with_picture(&home, home.open(&outside).unwrap(), 5);
    let flat = home.places.clone().with_sessions(home.root.path().join("flat"));
    with_picture(&home, Session::create(&flat, home.cwd(), None, NOW), 7);
    let (torn, _) = with_picture(&home, home.create(), 11);
    std::fs::rename(&torn, torn.with_extension("jsonl.broken")).unwrap();
    // A copy of the lines that lies elsewhere, and whose original is gone.
    let (original, _) = with_picture(&home, home.create(), 13);
    let opening = Opening { places: &flat, ..home.opening() };
    let copy = Session::open(&original, &opening).unwrap().fork(home.cwd(), NOW).unwrap();
    std::fs::remove_file(original).unwrap();
    age(&home);
    assert_eq!(collected(&home, Way::Remove), Collected { removed: vec![], kept_bytes: 10_000 });
    assert_eq!(context::build(&copy).problems, []);
    std::fs::remove_file(outside).unwrap();
    assert_eq!(collected(&home, Way::Remove).removed.len(), 1, "a session that is gone names nothing");
}

#[test]
fn a_picture_that_is_named_anew_is_young_again() {
    let home = Home::new();
    let (file, picture_file) = with_picture(&home, home.create(), 3);
    std::fs::remove_file(file).unwrap();
    age(&home);
    let mut session = home.create();
    session.append(picture(3), NOW);
    session.append(assistant("seen"), NOW);
    std::fs::remove_file(session.file().unwrap()).unwrap();
    assert_eq!(collected(&home, Way::Remove).removed, []);
    assert_eq!(stored(&home), [picture_file]);
}

#[test]
fn a_name_is_found_wherever_it_stands_in_a_file() {
    let home = Home::new();
    let (file, kept) = with_picture(&home, home.create(), 3);
    age(&home);
    let reference = format!("blob:sha256:{}", name(&kept));
    for before in [0, (1 << 20) - 80, (1 << 20) - 76, (1 << 20) - 40, (1 << 20) - 1, 1 << 20, (2 << 20) - 20] {
        std::fs::write(&file, [&vec![b'x'; before][..], reference.as_bytes()].concat()).unwrap();
        assert_eq!(collected(&home, Way::DryRun).removed, [], "{before}");
    }
    std::fs::write(&file, &reference.as_bytes()[..70]).unwrap();
    assert_eq!(collected(&home, Way::DryRun).removed.len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_keeps_everything() {
    let home = Home::new();
    let (file, _) = with_picture(&home, home.create(), 3);
    std::fs::remove_file(&file).unwrap();
    age(&home);
    // It leads to itself.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let error = collect(&home.places, today(), Way::Remove).unwrap_err();
    assert_eq!(error.path, file);
    assert!(error.to_string().starts_with(&format!("cannot read {}", file.display())), "{error}");
    assert_eq!(stored(&home).len(), 1);
}

#[test]
fn what_is_named_anew_while_old_pictures_go_is_there() {
    let home = Home::new();
    for seed in 1..=40_u8 {
        let (file, _) = with_picture(&home, home.create(), seed);
        std::fs::remove_file(file).unwrap();
    }
    age(&home);
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| (0..20).map(|_| collected(&home, Way::Remove).removed.len()).sum::<usize>());
        for _ in 0..2 {
            scope.spawn(|| {
                for seed in (1..40_u8).rev() {
                    let mut session = home.create();
                    session.append(picture(seed), NOW);
                    session.append(assistant("seen"), NOW);
                    session.flush().unwrap();
                    let problems = context::build(&home.open_for_reading(session.file().unwrap())).problems;
                    assert_eq!(problems, [], "{seed}");
                }
            });
        }
        assert!(collector.join().unwrap() > 0, "one is never named again");
    });
    assert_eq!(stored(&home).len(), 39);
}
