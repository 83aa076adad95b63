//! Redirections: which command they belong to, where they lead.

use super::Walker;
use crate::permission::shell::{Direction, OpacityKind, Redirection, Word, guess, here_document, word};
use tree_sitter::Node;

impl<'tree> Walker<'_, 'tree> {
    pub(super) fn lone_redirection(&mut self, node: Node<'tree>) {
        let index = self.reserve();
        self.redirection(node, Some(index));
    }

    pub(super) fn redirected(&mut self, node: Node<'tree>) {
        let start = self.script.commands.len();
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            self.statement(body);
        }
        // A redirection belongs to the last simple command before it, whatever the grammar puts together.
        let owner = match body {
            None => Some(self.reserve()),
            Some(body) => last_simple(body).and_then(|last| self.index_of(last)),
        };
        let index = owner.unwrap_or_else(|| self.reserve());
        let mut cursor = node.walk();
        for redirect in node.children_by_field_name("redirect", &mut cursor) {
            let words = owner.map(|_| index);
            let before = self.script.commands.len();
            self.redirection_of(redirect, index, words);
            if redirect.kind() == "heredoc_redirect" {
                self.feed(start..before, before);
            }
        }
    }

    fn index_of(&self, node: Node<'tree>) -> Option<usize> {
        self.commands.iter().rev().find(|(known, _)| *known == node).map(|&(_, index)| index)
    }

    pub(super) fn redirection(&mut self, node: Node<'tree>, index: Option<usize>) {
        let target = index.unwrap_or_else(|| self.reserve());
        self.redirection_of(node, target, index);
    }

    /// Adds a redirection to `index`. Words after its target belong to the command `words`.
    fn redirection_of(&mut self, node: Node<'tree>, index: usize, words: Option<usize>) {
        match node.kind() {
            "heredoc_redirect" => self.here_document(node, index, words),
            "herestring_redirect" => {
                let mut cursor = node.walk();
                let target = node.named_children(&mut cursor).last();
                self.add_redirection(index, Direction::Text, target);
            }
            _ => self.file_redirect(node, index, words),
        }
    }

    fn file_redirect(&mut self, node: Node<'tree>, index: usize, words: Option<usize>) {
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|child| !child.is_named()).map_or("", |child| child.kind());
        let targets: Vec<Node<'tree>> = node.children_by_field_name("destination", &mut cursor).collect();
        let first = targets.first().copied();
        let text = first.and_then(|first| self.text(first)).unwrap_or("-");
        let to_descriptor = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let direction = match operator {
            "<" => Direction::Read,
            ">&" | "<&" | ">&-" | "<&-" if to_descriptor => Direction::Duplicate,
            "<&" => Direction::Read,
            _ => Direction::Write,
        };
        self.add_redirection(index, direction, first);
        for extra in targets.into_iter().skip(1) {
            match words {
                Some(command) => self.word(extra, command, false),
                None => self.script.add_opaque(OpacityKind::Unclear, "it could not be parsed"),
            }
        }
    }

    fn add_redirection(&mut self, index: usize, direction: Direction, target: Option<Node<'tree>>) {
        let read = target.map_or(Some(Word::literal("-")), |target| word::read(target, self.source));
        let read = read.unwrap_or_default();
        if let Some(target) = target {
            if read.known {
                self.script.arithmetic.note_text(&read.text);
            } else {
                self.inside(index, target);
            }
        }
        if let Some(command) = self.script.commands.get_mut(index) {
            command.redirections.push(Redirection { direction, target: read });
        }
    }

    fn here_document(&mut self, node: Node<'tree>, index: usize, words: Option<usize>) {
        let document = here_document::read(node, self.source);
        match document {
            None => {
                self.script.add_opaque(OpacityKind::Unclear, "its here-document is not understood");
                guess::add(self.source, self.script);
            }
            Some(target) => {
                if let Some(command) = self.script.commands.get_mut(index) {
                    command.redirections.push(Redirection { direction: Direction::Text, target });
                }
            }
        }
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let child = cursor.node();
            match (child.kind(), cursor.field_name()) {
                ("heredoc_start" | "heredoc_end", _) => {}
                ("heredoc_body", _) => self.inside(index, child),
                ("file_redirect" | "herestring_redirect" | "heredoc_redirect", _) => {
                    self.redirection_of(child, index, words);
                }
                (_, Some("argument")) => match words {
                    Some(command) => self.word(child, command, false),
                    None => self.script.add_opaque(OpacityKind::Unclear, "it could not be parsed"),
                },
                _ => self.statement(child),
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// The simple command a statement ends with.
fn last_simple(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "command" | "declaration_command" => Some(node),
        "list" | "pipeline" | "negated_command" => {
            let last = node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?)?;
            last_simple(last)
        }
        "redirected_statement" => last_simple(node.child_by_field_name("body")?),
        _ => None,
    }
}
