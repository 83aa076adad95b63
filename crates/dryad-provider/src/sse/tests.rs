//! Streams of events, cut and spelled in every way.

use super::*;
use proptest::prelude::*;

type Event = (String, String);

fn decode(chunks: &[&[u8]]) -> Result<Vec<Event>, ProviderError> {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let mut take = |event: SseEvent<'_>| {
        events.push((event.name.to_owned(), event.data.to_owned()));
        Ok(Flow::More)
    };
    for chunk in chunks {
        decoder.feed(chunk, &mut take)?;
    }
    decoder.finish(&mut take)?;
    Ok(events)
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let expected: Vec<Event> = expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
    assert_eq!(decode(&[text.as_bytes()]).unwrap(), expected);
}

#[test]
fn reads_names_and_data() {
    check("event: a\ndata: 1\n\ndata:2\n\n", &[("a", "1"), ("", "2")]);
}

#[test]
fn joins_data_lines_with_line_feeds() {
    check("data: a\ndata\ndata:  b\n\n", &[("", "a\n\n b")]);
}

#[test]
fn all_line_ends_are_the_same() {
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
}

#[test]
fn skips_mark_comments_and_unknown_fields() {
    check("\u{feff}data: a\n: ping\nid: 7\nretry: 1\nnonsense\n\n:\n\n", &[("", "a")]);
}

#[test]
fn an_event_without_data_is_none_and_leaves_no_name() {
    check("event: a\n\ndata: b\n\n", &[("", "b")]);
}

#[test]
fn the_last_event_needs_no_empty_line() {
    check("data: a\n\ndata: [DONE]", &[("", "a"), ("", "[DONE]")]);
    check("data: a\n", &[("", "a")]);
}

#[test]
fn a_character_split_between_chunks_is_whole_again() {
    let events = decode(&[b"data: \xf0\x9f", b"\x8c\xb3\n\n"]).unwrap();
    assert_eq!(events, [(String::new(), "🌳".to_owned())]);
}

#[test]
fn text_that_is_not_utf8_breaks_the_stream() {
    let error = decode(&[b"data: \xff\n\n"]).unwrap_err();
    assert_eq!(error.to_string(), "stream broken: the server sent text that is not UTF-8");
}

#[test]
fn an_endless_line_breaks_the_stream() {
    let chunk = vec![b'x'; 1024 * 1024];
    let error = decode(&[&chunk[..]; 17]).unwrap_err();
    assert_eq!(error.to_string(), "stream broken: the server sent an event of more than 16 MiB");
}

#[test]
fn an_endless_event_breaks_the_stream() {
    let mut line = b"data: ".to_vec();
    line.resize(1024 * 1024, b'x');
    line.push(b'\n');
    assert!(matches!(decode(&[&line[..]; 17]), Err(ProviderError::StreamBroken { .. })));
}

#[test]
fn a_long_line_in_small_chunks_is_kept_whole() {
    let text = "ä".repeat(400_000);
    let wire = format!("data: {text}\n\n");
    let chunks: Vec<&[u8]> = wire.as_bytes().chunks(7).collect();
    assert_eq!(decode(&chunks).unwrap(), [(String::new(), text)]);
}

#[test]
fn nothing_is_handed_over_after_the_last_event() {
    let mut seen = 0;
    let flow = SseDecoder::new().feed(b"data: 1\n\ndata: 2\n\n", |_| {
        seen += 1;
        Ok(Flow::Done)
    });
    assert_eq!((flow.unwrap(), seen), (Flow::Done, 1));
}

/// Pieces of streams, with everything that has a meaning in them.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: "),
        Just("data"),
        Just("event: x"),
        Just(":"),
        Just(" "),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\u{feff}"),
        Just("🌳ä"),
        Just("{\"a\":1}"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(wire in wire(), cuts in proptest::collection::vec(any::<u16>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut as usize % (wire.len() + 1)).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &wire[cut[0]..cut[1]]).collect();
        prop_assert_eq!(decode(&chunks), decode(&[&wire]));
    }

    #[test]
    fn no_bytes_make_it_panic(wire in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode(&[&wire]).ok();
    }
}
