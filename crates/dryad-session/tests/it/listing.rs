//! Lists of sessions, and finding one.

use crate::stage::*;
use dryad_protocol::entry::TitleSource;
use dryad_session::list::{self, FindError};
use dryad_session::session::Session;
use dryad_session::{breadcrumb, problem};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

fn stored(home: &Home, cwd: &str, prompt: &str, age: u64) -> Session {
    let mut session = Session::create(&home.places, Path::new(cwd), None, NOW);
    session.append(user(prompt), NOW);
    session.append(assistant("an answer"), NOW);
    session.flush().unwrap();
    let file = std::fs::File::open(session.file().unwrap()).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age)).unwrap();
    session
}

#[test]
fn the_newest_comes_first_and_each_has_a_line() {
    let home = Home::new();
    let old = stored(&home, "/w", &format!("please   do\nthe {}", "long ".repeat(30)), 60);
    let mut named = stored(&home, "/w", "something", 0);
    named.set_name("The name", TitleSource::User, NOW).unwrap();
    stored(&home, "/other", "elsewhere", 5);
    std::fs::write(home.places.sessions_of(Path::new("/w")).join("notes.jsonl"), "no session\n").unwrap();
    let sessions = list::quick(&home.places.sessions_of(Path::new("/w"))).unwrap();
    let lines: Vec<_> = sessions.iter().map(list::Summary::line).collect();
    assert_eq!(lines, ["The name", "please do the long long long long long l"]);
    assert_eq!((&sessions[1].id, sessions[1].cwd.as_deref()), (old.id(), Some(Path::new("/w"))));
    assert_eq!(list::quick_all(&home.places).unwrap().len(), 3);
    assert!(list::quick(Path::new("/nowhere")).unwrap().is_empty());
}

#[test]
fn a_full_list_knows_what_was_said() {
    let home = Home::new();
    let session = stored(&home, "/w", "refactor the parser", 0);
    let mut empty = Session::create(&home.places, Path::new("/w"), None, NOW);
    empty.ensure_stored().unwrap();
    let summaries = list::quick(&home.places.sessions_of(Path::new("/w"))).unwrap();
    assert_eq!(summaries.len(), 2);
    let full: Vec<_> = summaries.into_iter().filter_map(|summary| list::full(summary, &home.places).unwrap()).collect();
    let [full] = full.as_slice() else { panic!("{full:?}") };
    assert_eq!((full.messages, full.summary.id.as_str()), (2, session.id().as_str()));
    for query in ["parser", "PARSER answer", session.id().as_str(), "/w refactor"] {
        assert!(full.matches(query), "{query}");
    }
    assert!(!full.matches("parser lexer"));
}

#[test]
fn a_session_is_found_by_path_and_by_the_beginning_of_its_id() {
    let home = Home::new();
    let cwd = Path::new("/w");
    let here = stored(&home, "/w", "a", 0);
    let elsewhere = stored(&home, "/other", "b", 0);
    for session in [&here, &elsewhere] {
        let path = session.file().unwrap();
        assert_eq!(list::find(session.id().as_str(), cwd, &home.places).unwrap(), path);
        assert_eq!(list::find(path.to_str().unwrap(), cwd, &home.places).unwrap(), path);
    }
    let also = stored(&home, "/w", "c", 0);
    let shared: String = here
        .id()
        .as_str()
        .chars()
        .zip(also.id().as_str().chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect();
    assert!(matches!(list::find(&shared, cwd, &home.places), Err(FindError::Ambiguous { ids, .. }) if ids.len() == 2));
    assert_eq!(list::find("zzz", cwd, &home.places), Err(FindError::Unknown("zzz".to_owned())));
    assert_eq!(list::find("/no/such.jsonl", cwd, &home.places), Err(FindError::Unknown("/no/such.jsonl".to_owned())));
}

#[test]
fn a_terminal_continues_its_own_session_or_the_newest() -> Result<(), problem::StoreError> {
    let home = Home::new();
    let cwd = Path::new("/w");
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/1"), cwd), None);
    let old = stored(&home, "/w", "a", 100);
    let new = stored(&home, "/w", "b", 0);
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/1"), cwd).as_deref(), new.file());
    breadcrumb::leave(&home.places, "pts/1", cwd, old.file().unwrap())?;
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/1"), cwd).as_deref(), old.file());
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/2"), cwd).as_deref(), new.file());
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/1"), Path::new("/other")), None);
    std::fs::remove_file(old.file().unwrap()).unwrap();
    assert_eq!(breadcrumb::to_continue(&home.places, Some("pts/1"), cwd).as_deref(), new.file());
    Ok(())
}

#[test]
fn a_thousand_sessions_are_listed_by_their_beginnings() {
    let home = Home::new();
    let directory = home.places.sessions_of(Path::new("/w"));
    std::fs::create_dir_all(&directory).unwrap();
    let session = stored(&home, "/w", "hello there", 0);
    let text = std::fs::read_to_string(session.file().unwrap()).unwrap();
    // Far more than is read of each file.
    let padding =
        format!("{{\"type\":\"custom\",\"id\":\"p\",\"parentId\":null,\"data\":\"{}\"}}\n", "x".repeat(50_000));
    for number in 1..1000 {
        std::fs::write(directory.join(format!("{number}.jsonl")), format!("{text}{padding}")).unwrap();
    }
    let started = Instant::now();
    let sessions = list::quick(&directory).unwrap();
    let took = started.elapsed();
    assert_eq!(sessions.len(), 1000);
    assert!(sessions.iter().all(|session| session.line() == "hello there"));
    // 60 ms is the promise for a release build on an idle machine; this is neither.
    assert!(took < Duration::from_millis(600), "{took:?}");
}
