//! From text to tree to commands.
//!
//! Node kinds that are not named here are opaque, and so is every text with a syntax error: such a text is also
//! given to [`guess`](super::guess), so that rules that say no are not fooled by it.

mod redirection;
mod words;

use super::{
    MAX_BYTES, MAX_COMMANDS, MAX_NESTING, Nesting, OpacityKind, Script, SimpleCommand, arithmetic, expand, guess,
    sources, tree, variables,
};
use tree_sitter::Node;

/// Deepest tree that is walked.
const MAX_DEPTH: usize = 200;

/// Where a text stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The command that runs it.
    pub(super) parent: Option<(usize, Nesting)>,
    /// The programs it is run by.
    pub(super) wrappers: Vec<String>,
    /// How many texts it stands in.
    pub(super) nesting: usize,
}

/// Adds what `text` would run.
pub(super) fn read(text: &str, script: &mut Script, place: &Place) {
    if text.len() > MAX_BYTES || place.nesting > MAX_NESTING {
        script.add_opaque(OpacityKind::Unclear, "it is too long or too deeply nested to be read");
        guess::add(text, script);
        return;
    }
    sources::judge_text(text, script);
    let Some(tree) = tree::parse(text) else {
        script.add_opaque(OpacityKind::Unclear, "it could not be parsed");
        guess::add(text, script);
        return;
    };
    if tree.root_node().has_error() || sources::has_hidden_gap(&tree, text) {
        script.add_opaque(OpacityKind::Unclear, "it could not be parsed");
        guess::add(text, script);
    }
    let first = script.commands.len();
    let mut walker = Walker { source: text, script, place, depth: 0, here: place.parent, commands: Vec::new() };
    walker.statement(tree.root_node());
    let last = script.commands.len();
    for index in first..last {
        expand::expand(index, script, place.nesting);
    }
}

struct Walker<'a, 'tree> {
    source: &'a str,
    script: &'a mut Script,
    place: &'a Place,
    depth: usize,
    here: Option<(usize, Nesting)>,
    /// Which command came from which node.
    commands: Vec<(Node<'tree>, usize)>,
}

impl<'a, 'tree> Walker<'a, 'tree> {
    fn statement(&mut self, node: Node<'tree>) {
        if self.depth >= MAX_DEPTH || self.script.commands.len() >= MAX_COMMANDS {
            self.script.add_opaque(OpacityKind::Unclear, "it is too long or too deeply nested to be read");
            return;
        }
        self.depth += 1;
        self.dispatch(node);
        self.depth -= 1;
    }

    fn dispatch(&mut self, node: Node<'tree>) {
        match node.kind() {
            "program"
            | "list"
            | "subshell"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "do_group"
            | "case_statement"
            | "case_item"
            | "negated_command"
            | "variable_assignments" => {
                self.children(node);
            }
            "binary_expression"
            | "unary_expression"
            | "postfix_expression"
            | "ternary_expression"
            | "parenthesized_expression" => self.children(node),
            "c_style_for_statement" | "test_command" => {
                let text = self.source.get(node.byte_range()).unwrap_or_default();
                self.script.arithmetic.evaluates |= node.kind() != "test_command" || arithmetic::is_in_test(text);
                self.children(node);
            }
            "compound_statement" => {
                self.script.arithmetic.evaluates |= node.child(0).is_some_and(|child| child.kind() == "((");
                self.children(node);
            }
            "for_statement" => self.for_statement(node),
            "function_definition" => self.function(node),
            "pipeline" => self.pipeline(node),
            "command" | "declaration_command" | "unset_command" => self.command(node),
            "redirected_statement" => self.redirected(node),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => self.lone_redirection(node),
            "variable_assignment" => self.lone_assignment(node),
            "comment" | "variable_name" | "special_variable_name" | "test_operator" => {}
            "word"
            | "number"
            | "raw_string"
            | "ansi_c_string"
            | "string"
            | "translated_string"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "command_substitution"
            | "process_substitution"
            | "extglob_pattern"
            | "regex"
            | "subscript"
            | "array"
            | "brace_expression" => {
                self.scan(node);
            }
            // The grammar's error nodes are reported once for the whole text; what is in them is still listed.
            "ERROR" => self.children(node),
            _ if !node.is_named() => {}
            other => {
                let reason = format!("it holds a construct that is not understood ({})", other.replace('_', " "));
                self.script.add_opaque(OpacityKind::Unclear, reason);
                self.children(node);
            }
        }
    }

    fn children(&mut self, node: Node<'tree>) {
        let mut cursor = node.walk();
        if cursor.goto_first_child() {
            loop {
                self.statement(cursor.node());
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
        }
    }

    fn for_statement(&mut self, node: Node<'tree>) {
        if let Some(name) = node.child_by_field_name("variable").and_then(|name| self.text(name)) {
            variables::judge_name(name, self.script);
        }
        self.children(node);
    }

    fn function(&mut self, node: Node<'tree>) {
        let start = self.script.commands.len();
        self.children(node);
        let name = node.child_by_field_name("name").and_then(|name| self.text(name)).unwrap_or_default();
        let body = start..self.script.commands.len();
        self.script.functions.push((name.to_owned(), body));
    }

    fn pipeline(&mut self, node: Node<'tree>) {
        let start = self.script.commands.len();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let before = self.script.commands.len();
            self.statement(child);
            self.feed(start..before, before);
        }
    }

    /// What was added from `from` on reads what `feeders` print.
    fn feed(&mut self, feeders: std::ops::Range<usize>, from: usize) {
        if feeders.is_empty() {
            return;
        }
        for command in self.script.commands.iter_mut().skip(from) {
            command.fed_by.get_or_insert_with(|| feeders.clone());
        }
    }

    /// Adds an empty command; it is filled later, so that what stands in it knows its parent.
    fn reserve(&mut self) -> usize {
        let wrappers = self.place.wrappers.clone();
        self.script.commands.push(SimpleCommand { wrappers, parent: self.here, ..SimpleCommand::default() });
        self.script.commands.len() - 1
    }

    fn command(&mut self, node: Node<'tree>) {
        let index = self.reserve();
        self.commands.push((node, index));
        let mut end = usize::MAX;
        let mut cursor = node.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let child = cursor.node();
            match (child.kind(), cursor.field_name()) {
                ("variable_assignment", _) => self.assignment(child, index, node),
                ("file_redirect" | "herestring_redirect" | "heredoc_redirect", _) => {
                    self.redirection(child, Some(index));
                }
                ("subshell" | "comment", _) => self.statement(child),
                _ => self.word(child, index, child.start_byte() == end),
            }
            end = child.end_byte();
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }

    fn text(&self, node: Node<'tree>) -> Option<&'a str> {
        self.source.get(node.byte_range())
    }
}
