//! Frames written and frames parsed, good and bad.

use super::*;
use serde_json::json;
use serde_json::value::RawValue;

fn failure(line: &[u8]) -> String {
    InboundFrame::parse(line).unwrap_err().to_string()
}

#[test]
fn a_frame_is_one_line_in_one_write() {
    /// Counts the writes and the flushes.
    #[derive(Default)]
    struct Watched {
        writes: Vec<Vec<u8>>,
        flushes: usize,
    }
    impl io::Write for Watched {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes.push(bytes.to_vec());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }
    let mut out = Watched::default();
    write_frame(&mut out, &json!({"type": "ready", "text": "a\nb\u{2028}c"})).unwrap();
    assert_eq!(out.writes, ["{\"type\":\"ready\",\"text\":\"a\\nb\u{2028}c\"}\n".as_bytes()]);
    assert_eq!(out.flushes, 1);
}

#[test]
fn raw_json_over_several_lines_becomes_one() {
    #[derive(Serialize)]
    struct Outer {
        schema: Box<RawValue>,
    }
    let schema = RawValue::from_string("{\n  \"a\": \"x\\ny\"\n}".to_owned()).unwrap();
    let line = encode_frame(&Outer { schema }).unwrap();
    assert_eq!(String::from_utf8(line).unwrap(), "{\"schema\":{   \"a\": \"x\\ny\" }}\n");
}

#[test]
fn what_cannot_be_serialised_leaves_nothing_behind() {
    let nameless = std::collections::BTreeMap::from([((1, 2), 3)]);
    let mut out = Vec::new();
    assert!(write_frame(&mut out, &nameless).is_err());
    assert!(out.is_empty());
}

#[test]
fn a_frame_keeps_every_field_in_order() {
    let frame = InboundFrame::parse(br#"{"id":"7","type":"prompt","message":"hi"}"#).unwrap();
    assert_eq!(frame.kind, "prompt");
    assert_eq!(Value::Object(frame.fields), json!({"id": "7", "type": "prompt", "message": "hi"}));
}

#[test]
fn an_id_is_kept_as_it_is_written() {
    let id = |line: &str| InboundFrame::parse(line.as_bytes()).unwrap().id;
    for written in ["12345678901234567890123", "1.10", "-0", r#""\u0041""#, r#"[ 1e2 , {"a":1.0} ]"#, "false"] {
        let line = format!(r#"{{ "type" : "t" , "id" : {written} }}"#);
        assert_eq!(id(&line).unwrap().as_json(), written);
    }
    assert_eq!(id(r#"{"type":"t","id":null}"#), None);
    assert_eq!(id(r#"{"type":"t"}"#), None);
    assert_eq!(id(r#"{"id":1.0,"type":"t","\u0069d":2.0}"#).unwrap().as_json(), "2.0");
    assert_eq!(id(r#"{"type":"t","id":"\ud83d"}"#).unwrap().to_text().unwrap(), "\u{fffd}");
    let deep = format!(r#"{{"type":"t","id":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(failure(deep.as_bytes()).contains("recursion limit exceeded"));
}

#[test]
fn half_a_character_is_replaced_and_the_rest_kept() {
    let said = |line: &str| {
        let frame = InboundFrame::parse(line.as_bytes()).unwrap();
        frame.fields["m"].as_str().unwrap().to_owned()
    };
    for (escaped, expected) in [
        (r"cut \ud83d", "cut \u{fffd}"),
        (r"\uDE00\ud83d\uDE00\ud83d\n", "\u{fffd}\u{1f600}\u{fffd}\n"),
        (r"\ud83d\ud83d\ude00 \\ud83d", "\u{fffd}\u{1f600} \\ud83d"),
    ] {
        assert_eq!(said(&format!(r#"{{"type":"t","m":"{escaped}"}}"#)), expected);
    }
    assert!(failure(br#"{"type":"t","m":"\ud83d""#).contains("EOF"));
    assert!(failure(br#"{"m":"\ud8"#).contains("EOF"));
}

#[test]
fn what_is_no_frame_is_named() {
    assert_eq!(failure(b"{"), "Failed to parse command: EOF while parsing an object at line 1 column 1");
    assert_eq!(failure(b"{\"a\":\"\xff\"}"), "Failed to parse command: byte 6 of the line is not UTF-8");
    for (line, found) in
        [("null", "null"), ("[1]", "a list"), ("4", "a number"), ("\"x\"", "a string"), ("true", "a boolean")]
    {
        let expected = format!("Failed to parse command: expected an object, found {found}");
        assert_eq!(failure(line.as_bytes()), expected);
    }
    for line in ["{}", r#"{"type":3}"#, r#"{"type":null}"#, r#"{"id":"1"}"#] {
        let expected = "Failed to parse command: expected a string in the field `type`";
        assert_eq!(failure(line.as_bytes()), expected, "{line}");
    }
}
