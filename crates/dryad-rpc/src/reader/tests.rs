//! Streams cut in every way, and the frames they give.

use super::*;
use proptest::prelude::*;

/// What the bytes give when they arrive in these chunks: `kind` of a frame, or a failure's text.
fn read(chunks: &[&[u8]], limit: usize) -> Vec<Result<String, String>> {
    let mut reader = FrameReader::with_limit(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        reader.push(chunk);
        while let Some(next) = reader.next_frame() {
            found.push(next);
        }
    }
    found.extend(reader.finish());
    found.into_iter().map(|next| next.map(|frame| frame.kind).map_err(|failure| failure.to_string())).collect()
}

fn kinds(bytes: &[u8]) -> Vec<String> {
    read(&[bytes], MAX_FRAME_BYTES).into_iter().map(Result::unwrap).collect()
}

#[test]
fn lines_end_with_lf_and_lose_one_cr() {
    assert_eq!(kinds(b"{\"type\":\"a\"}\n{\"type\":\"b\"}\r\n"), ["a", "b"]);
    // A second CR is white space between tokens, which JSON allows.
    assert_eq!(kinds(b"{\"type\":\"c\"}\r\r\n"), ["c"]);
}

#[test]
fn blank_lines_are_passed_over() {
    assert_eq!(kinds(b"\n\r\n  \t \n{\"type\":\"a\"}\n\n"), ["a"]);
}

#[test]
fn unicode_line_separators_stay_in_their_string() {
    let mut reader = FrameReader::default();
    reader.push("{\"type\":\"a\",\"text\":\"x\u{2028}y\u{2029}z\u{85}\"}\n".as_bytes());
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!(frame.fields["text"], "x\u{2028}y\u{2029}z\u{85}");
}

#[test]
fn a_failure_does_not_end_the_stream() {
    let found = read(&[b"nonsense\n{\"type\":\"\xff\"}\n[]\n{\"type\":\"a\"}\n"], MAX_FRAME_BYTES);
    assert_eq!(found.len(), 4);
    assert!(found[..3].iter().all(|next| next.as_ref().unwrap_err().starts_with("Failed to parse command: ")));
    assert_eq!(found[3], Ok("a".to_owned()));
}

#[test]
fn a_last_line_without_lf_counts() {
    assert_eq!(kinds(b"{\"type\":\"a\"}\n{\"type\":\"b\"}"), ["a", "b"]);
}

#[test]
fn a_line_of_exactly_the_limit_is_read() {
    let line = br#"{"type":"a"}"#;
    assert_eq!(read(&[line, b"\n"], line.len()), [Ok("a".to_owned())]);
    let too_long = format!("Failed to parse command: the line is longer than {} bytes", line.len() - 1);
    assert_eq!(read(&[line, b"\n"], line.len() - 1), [Err(too_long)]);
}

#[test]
fn an_endless_line_is_refused_once_and_not_kept() {
    let mut reader = FrameReader::with_limit(1000);
    let mut failures = 0;
    for _ in 0..1000 {
        reader.push(&[b'x'; 100]);
        while let Some(next) = reader.next_frame() {
            assert!(matches!(next, Err(ParseFailure::TooLong { limit: 1000 })));
            failures += 1;
        }
        assert!(reader.buffer.len() <= 1000);
    }
    assert_eq!(failures, 1);
    reader.push(b"\n{\"type\":\"after\"}\n");
    assert_eq!(reader.next_frame().unwrap().unwrap().kind, "after");
}

#[test]
fn the_default_limit_lets_large_frames_through() {
    let text = "p".repeat(3 * 1024 * 1024);
    let line = format!("{{\"type\":\"prompt\",\"message\":\"{text}\"}}\n");
    let chunks: Vec<&[u8]> = line.as_bytes().chunks(64 * 1024).collect();
    assert_eq!(read(&chunks, MAX_FRAME_BYTES), [Ok("prompt".to_owned())]);
}

/// Lines as they come from clients good and bad.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let frame = "[a-zé\u{2028}]{0,12}".prop_map(|text| format!(r#"{{"type":"{text}","n":1}}"#).into_bytes());
    let noise = proptest::collection::vec(any::<u8>(), 0..30);
    let line = prop_oneof![3 => frame, 1 => noise, 1 => Just(b" \r".to_vec())];
    let ending = prop_oneof![Just(b"\n".to_vec()), Just(b"\r\n".to_vec()), Just(Vec::new())];
    proptest::collection::vec((line, ending), 0..12)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, ending)| [line, ending]).flatten().collect())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_frames(
        bytes in any_stream(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        limit in prop_oneof![Just(20), Just(45), Just(MAX_FRAME_BYTES)],
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&chunks, limit), read(&[&bytes], limit));
    }
}
