//! Large files, of which both sides are read together: what differs is found, and what is alike is no change.

use super::changes::shell;
use super::place::{Place, print_of, times_of};
use std::fs;
use std::path::Path;

/// Large enough to be read apart from the rest.
const FIXTURE: &str = "mkdir old; for n in 1 2 3; do yes \"line $n\" | head -c 700000 > old/$n; done; \
    touch -d @1000000000.123456789 old/*; ln old/3 old/three; head -c 300000 /dev/zero > zeros";

/// Commands, and the paths that they change.
const CASES: [(&str, &[&str]); 9] = [
    // What is opened for writing comes into the layer, and nothing else happens to it.
    ("for f in old/*; do exec 3<>$f; done", &[]),
    ("ln old/1 new; ln old/2 old/second", &["new", "old/second"]),
    (
        "mkdir next; ln old/1 next/1; ln old/2 next/2; rm -r old",
        &["next", "next/1", "next/2", "old", "old/1", "old/2", "old/3", "old/three"],
    ),
    ("mv old/1 moved", &["moved", "old/1"]),
    // Neither size nor time tells of these.
    ("printf X | dd of=old/1 bs=1 seek=0 conv=notrunc status=none; touch -d @1000000000.123456789 old/1", &["old/1"]),
    (
        "printf X | dd of=old/2 bs=1 seek=699999 conv=notrunc status=none; touch -d @1000000000.123456789 old/2",
        &["old/2"],
    ),
    ("cp -p old/2 copy; cat copy > old/1; touch -r copy old/1", &["copy", "old/1"]),
    ("cat old/1 > both; cat both > old/1", &["both", "old/1"]),
    ("truncate -s 299999 zeros; printf 1 >> old/3", &["old/3", "zeros"]),
];

#[tokio::test]
async fn what_differs_is_found_and_what_is_alike_is_no_change() {
    for (command, expected) in CASES {
        let place = Place::new();
        shell(FIXTURE, &place.work());
        let direct = place.root().join("direct");
        fs::create_dir(&direct).unwrap();
        shell(&format!("cp -a '{}/.' .", place.work().display()), &direct);
        let (original, times) = (place.print(), times_of(&place.work()));
        assert_eq!(place.run_directly(command, &direct), (0, String::new()), "{command}");
        let rehearsed = place.rehearse(command).await;
        let paths: Vec<String> = rehearsed
            .changes
            .iter()
            .map(|change| change.path.as_path().strip_prefix(place.work()).unwrap().display().to_string())
            .collect();
        assert_eq!(paths, expected, "{command}");
        place.apply(&rehearsed).unwrap();
        let (mut applied, mut wanted) = (place.print(), print_of(&direct));
        if command.contains(">> old/3") {
            // The other name of a file keeps what it held, which is told.
            for print in [&mut applied, &mut wanted] {
                print.remove(Path::new("old/three"));
            }
        }
        assert_eq!(applied, wanted, "{command}");
        place.undo(&rehearsed).unwrap();
        assert_eq!((place.print(), times_of(&place.work())), (original, times), "{command}, undone");
    }
}
