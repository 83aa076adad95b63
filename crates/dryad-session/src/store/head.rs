//! What an entry is, found out from the beginning of its line.
//!
//! Programs write the short fields first. For messages, which are nearly all of a long session, reading
//! stops where the long ones begin; whatever looks different in any way is read as a whole.

use crate::kind::Kind;
use dryad_protocol::id::EntryId;
use serde::Deserialize;

/// What an entry is, without what it says.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Head {
    /// Absent for a header that was written a second time.
    pub(super) id: Option<EntryId>,
    pub(super) parent: Option<EntryId>,
    pub(super) kind: Kind,
    pub(super) more: More,
}

/// What some entries say that the tree must know.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum More {
    Nothing,
    Label { target: Option<EntryId>, label: Option<String> },
    Name(Option<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    r#type: String,
    #[serde(default)]
    id: Option<EntryId>,
    #[serde(default)]
    parent_id: Option<EntryId>,
    #[serde(default)]
    message: Option<MessageForm>,
    #[serde(default)]
    target_id: Option<EntryId>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageForm {
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    tool_name: Option<String>,
}

/// What a line is; nothing when it is no entry. The end of a long line is only looked at by [`whole`].
pub(super) fn quick(line: &[u8]) -> Option<Head> {
    match beginning(line) {
        Some(head) if line.ends_with(b"}") => Some(head),
        Some(_) | None => whole(line),
    }
}

/// What a line is, read to its end; nothing when it is no entry.
pub(super) fn whole(line: &[u8]) -> Option<Head> {
    let form: Form = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
    let is_header = form.r#type == "session";
    if form.id.is_none() && !is_header {
        return None;
    }
    let (role, tool) = form.message.map_or((None, None), |message| (message.role, message.tool_name));
    let kind = Kind::named(&form.r#type, role.as_deref(), tool.as_deref());
    let more = match kind {
        Kind::Label => More::Label { target: form.target_id, label: form.label },
        Kind::SessionInfo => More::Name(form.name),
        _ => More::Nothing,
    };
    Some(Head { id: form.id.filter(|_| !is_header), parent: form.parent_id, kind, more })
}

/// Reads the short fields of a message that come first; nothing when they do not.
fn beginning(line: &[u8]) -> Option<Head> {
    let mut rest = Rest(line);
    rest.skip(b"{")?;
    let (mut id, mut parent, mut entry_type) = (None, None, None);
    loop {
        match rest.text()? {
            "message" => break,
            key => {
                rest.skip(b":")?;
                let value = rest.text_or_null()?;
                match key {
                    "id" => id = Some(value?),
                    "parentId" => parent = Some(value),
                    "type" => entry_type = Some(value?),
                    "timestamp" => {}
                    _ => return None,
                }
            }
        }
        rest.skip(b",")?;
    }
    let (id, parent) = (id?, parent?);
    entry_type.filter(|&entry_type| entry_type == "message")?;
    rest.skip(b":{\"role\":")?;
    let role = rest.text()?;
    let tool = if role == "toolResult" { Some(rest.tool_name()?) } else { None };
    let kind = Kind::named("message", Some(role), tool);
    Some(Head { id: Some(id.into()), parent: parent.map(EntryId::from), kind, more: More::Nothing })
}

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// A text without escapes.
    fn text(&mut self) -> Option<&'a str> {
        self.skip(b"\"")?;
        // The short fields are short: a long way to the quote means something else.
        let end = self.0.iter().take(256).position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    fn text_or_null(&mut self) -> Option<Option<&'a str>> {
        match self.skip(b"null") {
            Some(()) => Some(None),
            None => self.text().map(Some),
        }
    }

    fn tool_name(&mut self) -> Option<&'a str> {
        self.skip(b",\"toolCallId\":")?;
        self.text()?;
        self.skip(b",\"toolName\":")?;
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_same_as_the_whole() {
        let lines = [
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"role":"user","content":"b"}}"#,
            r#"{"id":"a","parentId":"p","timestamp":"x","type":"message","message":{"role":"assistant","content":[]}}"#,
            r#"{"type":"message","id":"a","parentId":"p","timestamp":"x","message":{"role":"toolResult","toolCallId":"c","toolName":"todo_write","content":[]}}"#,
            r#"{"type":"message","id":"a","parentId":"p","timestamp":"x","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[]}}"#,
        ];
        for line in lines {
            assert_eq!(beginning(line.as_bytes()), whole(line.as_bytes()), "{line}");
            assert!(beginning(line.as_bytes()).is_some(), "{line}");
        }
    }

    #[test]
    fn what_looks_different_is_read_as_a_whole() {
        let lines = [
            r#"{"type":"message","id":"a\u0062","parentId":null,"timestamp":"x","message":{"role":"user"}}"#,
            r#"{"type":"message","id":"a","timestamp":"x","message":{"role":"user","content":"b"}}"#,
            r#"{"type":"message","id":"a","parentId":null,"timestamp":5,"message":{"role":"user"}}"#,
            r#"{"type":"message","message":{"role":"user"},"id":"a","parentId":null}"#,
            r#"{"type":"message","id":"a","parentId":null,"message":{"content":"b","role":"user"}}"#,
            r#"{ "type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
            r#"{"type":"message","id":"a","parentId":null,"odd":"x","message":{"role":"user"}}"#,
            r#"{"type":"label","id":"a","parentId":null,"targetId":"b","label":"c"}"#,
        ];
        for line in lines {
            assert_eq!(beginning(line.as_bytes()), None, "{line}");
            assert!(quick(line.as_bytes()).is_some(), "{line}");
        }
        for line in [
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user""#,
            "{}",
            "",
            "\u{0}",
            r#"{"type":"custom"}"#,
        ] {
            assert_eq!(quick(line.as_bytes()), None, "{line}");
        }
    }
}
