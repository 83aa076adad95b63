//! Words: quotes and escapes taken away, expansions noticed.
//!
//! The grammar says where a word begins and ends and what is expanded in it; this reads the rest once more and
//! refuses when it finds anything the grammar should have seen. `None` means: the two readings disagree.

use super::Word;
use std::iter::Peekable;
use std::str::Chars;
use tree_sitter::Node;

/// Reads the word that stands at `node`.
pub(super) fn read(node: Node<'_>, source: &str) -> Option<Word> {
    let mut reader = Reader { source, word: Word { known: true, ..Word::default() }, brace: Brace::None };
    reader.add(node, true)?;
    Some(reader.word)
}

/// Reads a word that the grammar did not see as one, such as a bare operator.
pub(super) fn read_plain(text: &str) -> Option<Word> {
    let mut reader = Reader { source: text, word: Word { known: true, ..Word::default() }, brace: Brace::None };
    reader.add_plain(text, true)?;
    Some(reader.word)
}

/// Joins a word to the one it touches.
pub(super) fn join(first: &mut Word, second: &Word) {
    first.text.push_str(&second.text);
    first.known &= second.known;
    first.glob |= second.glob;
}

struct Reader<'a> {
    source: &'a str,
    word: Word,
    brace: Brace,
}

/// How far a brace expansion such as `{a,b}` has been seen.
#[derive(Clone, Copy, PartialEq)]
enum Brace {
    None,
    Open,
    Listed,
}

impl Reader<'_> {
    fn add(&mut self, node: Node<'_>, first: bool) -> Option<()> {
        let text = self.source.get(node.byte_range())?;
        match node.kind() {
            "word" | "number" | "variable_name" | "test_operator" | "special_variable_name" => {
                self.add_plain(text, first)
            }
            "raw_string" => {
                self.word.text.push_str(text.strip_prefix('\'')?.strip_suffix('\'')?);
                Some(())
            }
            "ansi_c_string" => {
                let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
                add_ansi(&mut self.word, inner)
            }
            "string" => self.add_string(node),
            "translated_string" => {
                let mut cursor = node.walk();
                let inner = node.named_children(&mut cursor).find(|child| child.kind() == "string")?;
                self.add_string(inner)
            }
            "concatenation" | "command_name" => self.add_parts(node, first),
            "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "command_substitution"
            | "process_substitution"
            | "brace_expression" => {
                self.word.known = false;
                self.word.text.push_str(text.trim_start());
                Some(())
            }
            // A dollar sign that expands nothing.
            "$" => self.add_plain(text, first),
            _ => None,
        }
    }

    fn add_parts(&mut self, node: Node<'_>, first: bool) -> Option<()> {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for (position, child) in node.children(&mut cursor).enumerate() {
            if child.start_byte() != end {
                return None;
            }
            end = child.end_byte();
            self.add(child, first && position == 0)?;
        }
        (end == node.end_byte()).then_some(())
    }

    /// A double-quoted text. The grammar leaves blanks out of its parts, so what lies between is read here.
    fn add_string(&mut self, node: Node<'_>) -> Option<()> {
        let inside = node.start_byte() + 1..node.end_byte().checked_sub(1)?;
        if !self.source.get(node.byte_range())?.starts_with('"') {
            return None;
        }
        let mut position = inside.start;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|child| child.kind() != "string_content") {
            self.add_quoted(self.source.get(position..child.start_byte())?)?;
            self.word.known = false;
            self.word.text.push_str(self.source.get(child.byte_range())?);
            position = child.end_byte();
        }
        self.add_quoted(self.source.get(position..inside.end)?)
    }

    fn add_quoted(&mut self, text: &str) -> Option<()> {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' | '`' => return None,
                '$' if characters.peek().is_some_and(|&next| starts_expansion(next)) => return None,
                '\\' => match characters.peek() {
                    Some('\n') => return None,
                    Some(&next @ ('$' | '`' | '"' | '\\')) => {
                        self.word.text.push(next);
                        characters.next();
                    }
                    Some(_) | None => self.word.text.push('\\'),
                },
                other => self.word.text.push(other),
            }
        }
        Some(())
    }

    fn add_plain(&mut self, text: &str, first: bool) -> Option<()> {
        let mut characters = text.chars().peekable();
        let mut at_start = first;
        while let Some(character) = characters.next() {
            match character {
                '\'' | '"' | '`' | ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
                '$' if characters.peek().is_some_and(|&next| starts_expansion(next)) => return None,
                '\\' => {
                    let next = characters.next().filter(|&next| next != '\n')?;
                    self.word.text.push(next);
                }
                other => {
                    self.notice(other, at_start);
                    self.word.text.push(other);
                }
            }
            at_start = false;
        }
        Some(())
    }

    fn notice(&mut self, character: char, at_start: bool) {
        match character {
            '*' | '?' | '[' => self.word.glob = true,
            '~' if at_start => self.word.tilde = true,
            '{' if self.brace == Brace::None => self.brace = Brace::Open,
            ',' if self.brace == Brace::Open => self.brace = Brace::Listed,
            '.' if self.brace == Brace::Open && self.word.text.ends_with('.') => self.brace = Brace::Listed,
            '}' if self.brace == Brace::Listed => self.word.known = false,
            _ => {}
        }
    }
}

/// Whether a dollar sign before this expands something.
fn starts_expansion(next: char) -> bool {
    next.is_ascii_alphanumeric() || "_{([@*#?-$!'\"".contains(next)
}

/// The inside of `$'…'`.
fn add_ansi(word: &mut Word, text: &str) -> Option<()> {
    let mut characters = text.chars().peekable();
    let mut bytes = Vec::new();
    while let Some(character) = characters.next() {
        if character != '\\' {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match characters.next()? {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            same @ ('\\' | '\'' | '"' | '?') => bytes.push(same as u8),
            'x' => bytes.push(number(&mut characters, 16, 2, 0)? as u8),
            'u' => add_character(&mut bytes, number(&mut characters, 16, 4, 0)?)?,
            'U' => add_character(&mut bytes, number(&mut characters, 16, 8, 0)?)?,
            digit @ '0'..='7' => bytes.push(number(&mut characters, 8, 2, digit.to_digit(8)?)? as u8),
            _ => return None,
        }
    }
    word.text.push_str(&String::from_utf8(bytes).ok()?);
    Some(())
}

fn add_character(bytes: &mut Vec<u8>, value: u32) -> Option<()> {
    bytes.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}

/// Up to `most` digits. Zero would end the text for the shell, so it is no number here.
fn number(characters: &mut Peekable<Chars<'_>>, radix: u32, most: usize, start: u32) -> Option<u32> {
    let mut value = start;
    for _ in 0..most {
        let Some(digit) = characters.peek().and_then(|next| next.to_digit(radix)) else { break };
        value = value.checked_mul(radix)?.checked_add(digit)?;
        characters.next();
    }
    (value != 0).then_some(value)
}
