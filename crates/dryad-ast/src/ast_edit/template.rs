//! What takes a match's place: text with names to be filled in.
//!
//! Filling in is the library's work, with one exception: it understands indentation by spaces only. Where
//! the line of a match is indented with tabs, lines are filled in here, in the same way.

use super::arguments::AstEditOperation;
use crate::document::Hit;
use crate::language::{Grammar, Language};
use crate::pattern::{Captures, Compiled};
use ast_grep_core::replacer::{Replacer, TemplateFix};
use dryad_safety::tool::ToolError;
use std::ops::Range;

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    /// The end of the first line decides.
    pub(super) fn of(text: &str) -> Self {
        match text.split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => Self::CrLf,
            Some(_) | None => Self::Lf,
        }
    }

    fn apply(self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self {
            Self::Lf => plain,
            Self::CrLf => plain.replace('\n', "\r\n"),
        }
    }
}

/// A replacement text for one language and one kind of line end.
pub(super) struct Template {
    library: TemplateFix,
    pieces: Vec<Piece>,
}

#[derive(Debug, Eq, PartialEq)]
enum Piece {
    Text(String),
    /// `$A`.
    One(String),
    /// `$$$A`.
    Many(String),
}

impl Template {
    /// Reads a replacement text.
    pub(super) fn new(text: &str, language: Language, ends: LineEnd) -> Self {
        let text = ends.apply(text);
        let library = match TemplateFix::try_new(&text, &Grammar::from(language)) {
            Ok(library) => library,
            Err(never) => match never {},
        };
        Self { library, pieces: pieces(&text) }
    }

    /// What takes the place of a match, and which bytes it replaces.
    pub(super) fn fill(&self, hit: &Hit<'_>, compiled: &Compiled, source: &str) -> (Range<usize>, String) {
        let range = self.library.get_replaced_range(hit, &compiled.pattern);
        let indent = indent_at(source, range.start);
        if indent.contains('\t') {
            return (range, self.fill_by_tabs(hit, source, indent));
        }
        (range, String::from_utf8_lossy(&self.library.generate_replacement(hit)).into_owned())
    }

    fn fill_by_tabs(&self, hit: &Hit<'_>, source: &str, indent: &str) -> String {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::One(_) | Piece::Many(_) => {
                    let Some(range) = piece.range(hit) else { continue };
                    let taken = source.get(range.clone()).unwrap_or_default();
                    // The lines that follow move with the first one, from its old place to its new one.
                    let (old, new) = (indent_at(source, range.start), indent_at(&filled, filled.len()).to_owned());
                    filled.push_str(&moved(taken, old, &new));
                }
            }
        }
        moved(&filled, "", indent)
    }
}

impl Piece {
    /// Where the code lies that this name stands for.
    fn range(&self, hit: &Hit<'_>) -> Option<Range<usize>> {
        match self {
            Self::Text(_) => None,
            Self::One(name) => hit.get_env().get_match(name).map(|node| node.range()),
            Self::Many(name) => {
                let nodes = hit.get_env().get_multiple_matches(name);
                Some(nodes.first()?.range().start..nodes.last()?.range().end)
            }
        }
    }
}

/// Refuses a replacement text that uses what its pattern does not capture: it would silently become nothing.
pub(super) fn check(operation: &AstEditOperation, index: usize, captures: &Captures) -> Result<(), ToolError> {
    let refused = |name: &str, hint: String| {
        Err(ToolError::new(format!("ops[{index}].out uses {name}, which its pattern does not capture{hint}")))
    };
    for piece in pieces(&operation.out) {
        match piece {
            Piece::Text(_) => {}
            Piece::One(name) if captures.one.contains(&name) => {}
            Piece::Many(name) if captures.many.contains(&name) => {}
            Piece::One(name) if captures.many.contains(&name) => {
                return refused(&format!("${name}"), format!("; it captures $$${name}"));
            }
            Piece::Many(name) if captures.one.contains(&name) => {
                return refused(&format!("$$${name}"), format!("; it captures ${name}"));
            }
            Piece::One(name) => return refused(&format!("${name}"), String::new()),
            Piece::Many(name) => return refused(&format!("$$${name}"), String::new()),
        }
    }
    Ok(())
}

/// Cuts a text at the names in it: one to three `$` and capitals, digits or `_`, not beginning with a digit.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        plain.push_str(before);
        let marks = from.chars().take_while(|&letter| letter == '$').count().min(3);
        let name: String = from.chars().skip(marks).take_while(|&letter| is_name(letter)).collect();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            plain.push('$');
            rest = from.get(1..).unwrap_or_default();
            continue;
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        rest = from.get(marks + name.len()..).unwrap_or_default();
        pieces.push(if marks == 3 { Piece::Many(name) } else { Piece::One(name) });
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    pieces
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'
}

/// The white space with which the line of this byte begins.
fn indent_at(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    let rest = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - rest.len()).unwrap_or_default()
}

/// The text with the lines behind the first one moved from one indentation to another. Lines that are
/// indented otherwise keep what they have; empty lines stay empty.
fn moved(text: &str, old: &str, new: &str) -> String {
    let mut lines = text.split_inclusive('\n');
    let mut moved = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        match line.strip_prefix(old) {
            Some(rest) if !rest.trim().is_empty() => {
                moved.push_str(new);
                moved.push_str(rest);
            }
            Some(_) | None => moved.push_str(line),
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_out() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let (one, many) = (|name: &str| Piece::One(name.to_owned()), |name: &str| Piece::Many(name.to_owned()));
        assert_eq!(pieces("f($A, $$$REST)x"), [text("f("), one("A"), text(", "), many("REST"), text(")x")]);
        assert_eq!(pieces("$foo $5 ${A} $ $$B1"), [text("$foo $5 ${A} $ "), one("B1")]);
        assert_eq!(pieces(""), []);
        assert_eq!(pieces("$$$$A"), [text("$"), many("A")]);
    }

    #[test]
    fn the_end_of_the_first_line_decides() {
        assert_eq!(
            (LineEnd::of("a\r\nb\n"), LineEnd::of("a\nb\r\n"), LineEnd::of("a")),
            (LineEnd::CrLf, LineEnd::Lf, LineEnd::Lf)
        );
        assert_eq!(
            (LineEnd::CrLf.apply("a\nb\r\n"), LineEnd::Lf.apply("a\r\nb")),
            ("a\r\nb\r\n".to_owned(), "a\nb".to_owned())
        );
    }

    #[test]
    fn lines_move_with_the_first_one() {
        assert_eq!(moved("a\n\t\tb\n\n\tc", "\t\t", "\t"), "a\n\tb\n\n\tc");
        assert_eq!((indent_at("x\n\t  y z", 8), indent_at("  a", 3), indent_at("a b", 2)), ("\t  ", "  ", ""));
    }

    #[test]
    fn what_is_not_captured_is_refused() {
        let captures = Captures { one: ["A".to_owned()].into(), many: ["B".to_owned()].into() };
        let refusal = |out: &str| {
            let operation = AstEditOperation { pat: "x".to_owned(), out: out.to_owned() };
            check(&operation, 1, &captures).err().map(|error| error.to_string())
        };
        assert_eq!(refusal("$A $$$B $5"), None);
        assert_eq!(refusal("$C").unwrap(), "ops[1].out uses $C, which its pattern does not capture");
        assert_eq!(refusal("$B").unwrap(), "ops[1].out uses $B, which its pattern does not capture; it captures $$$B");
    }
}
