//! The delete floor of commands that run directly.

use super::place::Place;
use dryad_effects::landlock::{Floor, FloorError, version};
use dryad_effects::process::run_above;
use dryad_protocol::command::CommandEnd;
use std::fs;

#[tokio::test]
async fn above_the_floor_nothing_outside_the_granted_roots_can_be_deleted() {
    let place = Place::new();
    let outside = place.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(outside.join("empty")).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    fs::write(place.at("file"), "goes").unwrap();
    let floor = match (Floor::new(&[place.work()]), version()) {
        (Ok(floor), Some(_)) => floor,
        (Err(FloorError::Missing), None) => return,
        (other, version) => panic!("{other:?} although landlock is {version:?}"),
    };
    let command = "rm -f ../outside/file; rmdir ../outside/empty; echo x > ../outside/file; mv ../outside/file .; mv file ../outside/file; \
                   truncate -s 0 ../outside/file; cp file copy && rm copy && echo inside; echo new > ../outside/new && echo outside; \
                   echo gone > /dev/null && echo device; mkdir d && mv file d/file && ln d/file d/link && rm -r d && echo moved";
    let spec = place.spec(command);
    let outcome = run_above(Some(&floor), &spec, &place.surroundings(), &place.cancel, &|_| {}).await.unwrap();
    let said: Vec<&str> = outcome.output.text.lines().filter(|line| !line.contains(':')).collect();
    assert_eq!(said, ["inside", "outside", "device", "moved"], "{}", outcome.output.text);
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
    assert!(floor.covers_truncation());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "kept");
    assert!(outside.join("empty").exists());
}
