//! RPC mode: the built program with a host in front of it.

mod fuzz;
mod hosts;
mod load;
mod pattern;
mod transcript;

use std::path::{Path, PathBuf};
use transcript::Transcript;

/// Plays every transcript of a directory, several at a time, and tells all that went wrong.
fn play_all(directory: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rpc").join(directory);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no transcripts in {}", directory.display());
    let failures: Vec<String> = std::thread::scope(|scope| {
        let playing: Vec<_> =
            files.chunks(files.len().div_ceil(4)).map(|part| scope.spawn(|| play_part(part))).collect();
        playing.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn play_part(files: &[PathBuf]) -> Vec<String> {
    let failed = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        let played = Transcript::parse(&text).and_then(|transcript| transcript.play());
        played.err().map(|problem| format!("{}: {problem}", file.file_name().unwrap().display()))
    });
    failed.collect()
}

#[test]
fn commands_are_answered_as_the_transcripts_say() {
    play_all("commands");
}

#[test]
fn bad_input_is_answered_and_ends_nothing() {
    play_all("bad_input");
}

#[test]
fn conversations_of_the_founding_implementation_go_the_same_way() {
    play_all("founding");
}
