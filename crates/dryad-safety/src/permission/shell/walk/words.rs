//! Words and assignments, and the commands that stand in them.

use super::{MAX_DEPTH, Walker};
use crate::permission::shell::{Assignment, Nesting, OpacityKind, Word, arithmetic, sources, word};
use tree_sitter::Node;

impl<'tree> Walker<'_, 'tree> {
    /// Adds a word; one that touches the word before is a part of it.
    pub(super) fn word(&mut self, node: Node<'tree>, index: usize, touching: bool) {
        let text = self.text(node).unwrap_or_default();
        let read = match node.is_named() {
            true => word::read(node, self.source),
            false => word::read_plain(text),
        };
        let read = read.unwrap_or_else(|| {
            self.script.add_opaque(OpacityKind::Unclear, format!("the word {text} is not understood"));
            Word { text: text.to_owned(), ..Word::default() }
        });
        let known = read.known;
        if let Some(command) = self.script.commands.get_mut(index) {
            match command.words.last_mut() {
                Some(last) if touching => word::join(last, &read),
                Some(_) | None => command.words.push(read),
            }
        }
        if !known {
            self.inside(index, node);
        } else if text.contains(['$', '`']) {
            self.script.arithmetic.note_text(text);
        }
    }

    /// Looks for commands in a word of the command `index`.
    pub(super) fn inside(&mut self, index: usize, node: Node<'tree>) {
        let outer = self.here.replace((index, Nesting::Substitution));
        self.scan(node);
        self.here = outer;
    }

    pub(super) fn lone_assignment(&mut self, node: Node<'tree>) {
        let index = self.reserve();
        self.assignment(node, index, node);
    }

    pub(super) fn assignment(&mut self, node: Node<'tree>, index: usize, owner: Node<'tree>) {
        let name = node.child_by_field_name("name");
        let full = name.and_then(|name| self.text(name)).unwrap_or_default();
        let name_text = full.split('[').next().unwrap_or_default().to_owned();
        if let Some(name) = name.filter(|name| name.kind() == "subscript") {
            self.script.arithmetic.evaluates = true;
            self.inside(index, name);
        }
        let value = node.child_by_field_name("value");
        let read = value.map_or(Some(Word::literal("")), |value| word::read(value, self.source));
        let read = read.unwrap_or_default();
        if let Some(value) = value {
            let text = self.text(value).unwrap_or_default().to_owned();
            if text.contains(['$', '`']) {
                self.script.arithmetic.note_assignment(&text, read.known);
            }
            self.inside(index, value);
        }
        let exported =
            owner.kind() == "command" || owner.kind() == "declaration_command" && self.text(owner).is_some_and(exports);
        if let Some(command) = self.script.commands.get_mut(index) {
            command.assignments.push(Assignment { name: name_text, value: read, exported });
        }
    }

    /// Looks for commands in words, patterns and expansions.
    pub(super) fn scan(&mut self, node: Node<'tree>) {
        if self.depth >= MAX_DEPTH {
            self.script.add_opaque(OpacityKind::Unclear, "it is too long or too deeply nested to be read");
            return;
        }
        self.depth += 1;
        let text = self.source.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "command_substitution" => self.substitution(node, text, Nesting::Substitution),
            "process_substitution" => self.substitution(node, text, Nesting::ProcessSubstitution),
            "raw_string" | "ansi_c_string" | "comment" => self.script.arithmetic.note_text(text),
            "word" | "regex" | "extglob_pattern" | "heredoc_content" | "string_content"
                if sources::hides_substitution(text)
                    || !node.kind().ends_with("content") && sources::hides_process_substitution(text) =>
            {
                self.script.add_opaque(OpacityKind::Hidden, format!("a substitution is hidden in {}", text.trim()));
            }
            kind => {
                arithmetic::note_expansion(kind, text, self.script);
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.scan(child);
                }
            }
        }
        self.depth -= 1;
    }

    fn substitution(&mut self, node: Node<'tree>, text: &str, nesting: Nesting) {
        if text.trim_start().starts_with('`') && text.contains('\\') {
            self.script.add_opaque(OpacityKind::Hidden, "a substitution in backticks holds escapes");
        }
        let outer = self.here;
        let parent = outer.map(|(index, _)| (index, nesting));
        self.here = parent.or(outer);
        self.children(node);
        self.here = outer;
    }
}

/// Whether a declaration makes variables visible to programs.
fn exports(declaration: &str) -> bool {
    declaration.starts_with("export")
        || declaration.split_whitespace().skip(1).any(|word| word.starts_with('-') && word.contains('x'))
}
