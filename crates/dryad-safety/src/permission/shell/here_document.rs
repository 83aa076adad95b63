//! Here-documents: the text between the operator's line and the line that is the delimiter.
//!
//! The grammar has been seen to end them at the wrong place, which would hide commands in them; so the end is
//! looked for once more, and a document about which the two disagree is not understood.

use super::Word;
use tree_sitter::Node;

/// The text of a here-document; `None` if it is not where the grammar says.
pub(super) fn read(node: Node<'_>, source: &str) -> Option<Word> {
    let mut cursor = node.walk();
    let mut children = node.children(&mut cursor);
    let operator = children.next()?;
    let start = children.find(|child| child.kind() == "heredoc_start")?;
    let mut end = None;
    for child in children {
        if child.kind() == "heredoc_end" {
            end = Some(child);
        }
    }
    let written = source.get(start.byte_range())?;
    let delimiter: String = unquote(written)?;
    let strips_tabs = operator.kind() == "<<-";
    let first_line = start.end_byte() + source.get(start.end_byte()..)?.find('\n')? + 1;
    let (body, end_at) = body(source.get(first_line..)?, &delimiter, strips_tabs)?;
    let seen = end?;
    if seen.start_byte() != first_line + end_at || seen.end_byte() != first_line + end_at + delimiter.len() {
        return None;
    }
    let quoted = written.contains(['\'', '"', '\\']);
    let known = quoted || !body.contains(['$', '`', '\\']);
    if !quoted && super::sources::hides_backtick(&body) {
        return None;
    }
    Some(Word { text: body, known, glob: false, tilde: false })
}

/// The lines before the delimiter, and where the delimiter begins.
fn body(text: &str, delimiter: &str, strips_tabs: bool) -> Option<(String, usize)> {
    let mut body = String::new();
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let shown = if strips_tabs { content.trim_start_matches('\t') } else { content };
        if shown == delimiter {
            return Some((body, position + content.len() - shown.len()));
        }
        body.push_str(shown);
        body.push('\n');
        position += line.len();
    }
    None
}

/// The delimiter as the shell compares it: plain, or quoted as a whole.
fn unquote(written: &str) -> Option<String> {
    let quoted = |mark: char| written.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    let inner = match written.chars().next()? {
        '\'' => quoted('\'')?,
        '"' => quoted('"')?,
        '\\' => written.strip_prefix('\\')?,
        _ => written,
    };
    let plain = inner.chars().all(|character| character.is_alphanumeric() || " _-.!+%:@,=/".contains(character));
    (plain && !inner.is_empty()).then(|| inner.to_owned())
}
