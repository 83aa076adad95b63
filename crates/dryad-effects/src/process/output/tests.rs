//! Cuts, edges and artifacts, without a process.

use super::*;
use crate::artifact::Artifacts;
use crate::mask::Mask;
use std::fs;
use tempfile::TempDir;

struct Sample {
    output: Output,
    artifacts: Artifacts,
    _directory: TempDir,
}

fn sample() -> Sample {
    let directory = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::new(directory.path().join("kept"));
    let mask = Mask::new(["sk-secret-1234".to_owned()]);
    let output = Output::new(&Surroundings { mask, artifacts: artifacts.clone() });
    Sample { output, artifacts, _directory: directory }
}

#[test]
fn an_output_of_exactly_two_halves_is_whole() {
    let mut sample = sample();
    sample.output.push(&vec![b'x'; 2 * HALF]);
    let kept = sample.output.finish();
    assert_eq!((kept.text.len(), kept.truncated, kept.full_output), (2 * HALF, None, None));
    assert_eq!(sample.artifacts.numbers().unwrap().count(), 0);
}

#[test]
fn one_byte_more_is_cut_and_kept_in_an_artifact() {
    let mut sample = sample();
    let all = vec![b'x'; 2 * HALF + 1];
    for piece in all.chunks(1000) {
        sample.output.push(piece);
    }
    let kept = sample.output.finish();
    assert_eq!(kept.truncated, Some(KeptBytes { head_bytes: HALF as u64, tail_bytes: HALF as u64 }));
    let half = "x".repeat(HALF);
    assert_eq!(kept.text, format!("{half}\n[... 1 bytes truncated ...]\n{half}"));
    assert_eq!(fs::read(sample.artifacts.find(kept.full_output.unwrap()).unwrap()).unwrap(), all);
}

#[test]
fn cuts_move_to_a_line_break_when_one_is_near() {
    let mut sample = sample();
    let line = "a line of some length, so that none ends at the cut\n";
    let all = line.repeat(20_000);
    sample.output.push(all.as_bytes());
    let kept = sample.output.finish();
    let (head, tail) = kept.text.split_once("\n[... ").unwrap();
    assert!(head.ends_with("cut\n"));
    assert!(tail.split_once(" bytes truncated ...]\n").unwrap().1.starts_with("a line of"));
    let sizes = kept.truncated.unwrap();
    assert_eq!(sizes.head_bytes, (HALF / line.len() * line.len()) as u64);
    assert_eq!((kept.total_bytes, kept.total_lines), (all.len() as u64, 20_000));
}

#[test]
fn no_cut_tears_a_character() {
    for shift in 0..4 {
        let mut sample = sample();
        let all = format!("{}{}", "x".repeat(shift), "🌳".repeat(200_000));
        sample.output.push(all.as_bytes());
        let kept = sample.output.finish();
        assert!(!kept.text.contains('\u{fffd}'), "shifted by {shift}");
        let sizes = kept.truncated.unwrap();
        let missing = all.len() as u64 - sizes.head_bytes - sizes.tail_bytes;
        assert!(kept.text.contains(&format!("\n[... {missing} bytes truncated ...]\n")), "shifted by {shift}");
    }
}

#[test]
fn a_view_leaves_out_the_beginning_of_a_character() {
    let mut sample = sample();
    let tree = "🌳".as_bytes();
    sample.output.push(b"a ");
    sample.output.push(tree.get(..3).unwrap());
    assert_eq!(sample.output.view(), "a ");
    sample.output.push(tree.get(3..).unwrap());
    assert_eq!(sample.output.view(), "a 🌳");
    sample.output.push(b" \xff");
    assert_eq!(sample.output.view(), "a 🌳 \u{fffd}");
    assert_eq!(sample.output.finish().text, "a 🌳 \u{fffd}");
}

#[test]
fn a_secret_at_the_cut_is_covered_in_text_and_artifact() {
    let mut sample = sample();
    let all = format!("{}sk-secret-1234{}", "x".repeat(HALF - 7), "y".repeat(2 * HALF));
    for piece in all.as_bytes().chunks(4099) {
        sample.output.push(piece);
    }
    let kept = sample.output.finish();
    assert!(!kept.text.contains("secret-1"));
    let artifact = fs::read_to_string(sample.artifacts.find(kept.full_output.unwrap()).unwrap()).unwrap();
    assert_eq!(artifact, all.replace("sk-secret-1234", "[secret]"));
}

#[test]
fn an_artifact_that_cannot_be_made_is_not_named() {
    let mut sample = sample();
    let blocked = sample._directory.path().join("a file");
    fs::write(&blocked, "").unwrap();
    sample.output.surroundings.artifacts = Artifacts::new(blocked.join("inside"));
    sample.output.push(&vec![b'x'; 3 * HALF]);
    // A later success would hold only a part and still look whole.
    sample.output.surroundings.artifacts = sample.artifacts.clone();
    sample.output.push(b"more");
    let kept = sample.output.finish();
    assert_eq!((kept.full_output, kept.total_bytes), (None, 3 * HALF as u64 + 4));
    assert_eq!(sample.artifacts.numbers().unwrap().count(), 0);
}

#[test]
fn an_artifact_stops_growing_and_says_so() {
    let mut sample = sample();
    sample.output.artifact_limit = 3 * HALF as u64;
    for _ in 0..5 {
        sample.output.push(&vec![b'x'; HALF]);
    }
    let kept = sample.output.finish();
    let artifact = fs::read_to_string(sample.artifacts.find(kept.full_output.unwrap()).unwrap()).unwrap();
    assert_eq!(artifact, "x".repeat(3 * HALF) + "\n[... what was printed after this is not kept ...]\n");
}
