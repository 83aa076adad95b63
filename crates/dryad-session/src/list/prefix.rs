//! What the first bytes of a session's file tell, even where they end in the middle of a line.

use dryad_protocol::entry::SessionHeader;
use serde::Deserialize;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// How much of a file is read.
const PREFIX: usize = 4096;
/// How much of a prompt is kept, in characters.
const PROMPT: usize = 200;

pub(super) struct Told {
    pub(super) header: SessionHeader,
    pub(super) name: Option<String>,
    pub(super) first_prompt: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
}

/// The first bytes of a file, and what its directory says of it.
pub(super) fn read(path: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let file = File::open(path)?;
    let mut prefix = vec![0; PREFIX];
    let mut length = 0;
    while let Some(rest) = prefix.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    prefix.truncate(length);
    let metadata = file.metadata()?;
    Ok((prefix, metadata))
}

/// What they tell; nothing when they do not begin with a header.
pub(super) fn tell(prefix: &[u8]) -> Option<Told> {
    let mut lines = prefix.split(|&byte| byte == b'\n');
    let header = serde_json::from_slice(lines.next()?).ok()?;
    let mut told = Told { header, name: None, first_prompt: None };
    for line in lines {
        if told.first_prompt.is_none() && is_user(line) {
            told.first_prompt = first_text(line);
        }
        if let Ok(Line { kind, name }) = serde_json::from_slice(line)
            && kind == "session_info"
        {
            told.name = name;
        }
    }
    Some(told)
}

fn is_user(line: &[u8]) -> bool {
    memchr::memmem::find(line, br#""role":"user""#).is_some()
}

/// The first text of a message, as much of it as there is.
fn first_text(line: &[u8]) -> Option<String> {
    let starts = [&br#""text":""#[..], &br#""content":""#[..]];
    let start = starts.iter().find_map(|key| Some(memchr::memmem::find(line, key)? + key.len()))?;
    let mut text = line.get(start..)?;
    if let Some(end) = closing_quote(text) {
        text = text.get(..end)?;
    }
    Some(unescaped(&String::from_utf8_lossy(text)))
}

fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// The text with its escapes replaced; one that is cut off or has no simple meaning becomes a space.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next().filter(|_| plain.chars().count() < PROMPT) {
        match character {
            '\\' => match characters.next() {
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    plain.push(code.and_then(char::from_u32).unwrap_or(' '));
                }
                Some(quoted @ ('"' | '\\' | '/')) => plain.push(quoted),
                Some(_) | None => plain.push(' '),
            },
            char::REPLACEMENT_CHARACTER => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"x","timestamp":"2025-01-31T09:05:00.000Z","cwd":"/w"}"#;

    fn prompt(line: &str) -> Option<String> {
        tell(format!("{HEADER}\n{line}").as_bytes()).unwrap().first_prompt
    }

    #[test]
    fn the_first_prompt_is_found_in_both_forms() {
        let text = r#"{"type":"message","message":{"role":"user","content":"say \"hi\"\n\u00fc"}}"#;
        assert_eq!(prompt(text).as_deref(), Some("say \"hi\" ü"));
        let blocks = r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}"#;
        assert_eq!(prompt(blocks).as_deref(), Some("hello"));
    }

    #[test]
    fn a_prompt_that_is_cut_off_is_still_a_prompt() {
        let whole = r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"größe \u00fc x"#;
        for end in 79..=whole.len() {
            let cut = String::from_utf8_lossy(&whole.as_bytes()[..end]).into_owned();
            assert!(prompt(&cut).unwrap().starts_with("gr"), "{cut}");
        }
    }

    #[test]
    fn other_files_tell_nothing() {
        assert!(tell(b"").is_none());
        assert!(tell(b"{\"type\":\"other\",\"id\":\"x\"}\n").is_none());
        assert!(tell(b"\xff\xfe\n").is_none());
    }
}
