//! What the audit calls a tool's work: read, edit, write, delete, execute, invoke, or the tool's own word.
//!
//! A tool that declares nothing is judged by the words of its name, the most dangerous meaning first.

use crate::spec::ToolSpec;
use crate::words::words;

/// Words of names and what they mean. The first row with a hit counts.
const MEANINGS: [(&[&str], &str); 5] = [
    (&["delete", "remove", "drop", "rm", "unlink"], "delete"),
    (&["bash", "shell", "exec", "run", "python", "ssh", "terminal"], "execute"),
    (&["edit", "update", "patch", "replace", "rename", "move"], "edit"),
    (&["write", "create", "save", "send", "put", "upload"], "write"),
    (&["read", "get", "list", "ls", "glob", "grep", "find", "search", "fetch", "query", "view"], "read"),
];

/// The audit's word for what this tool does: the one it declares, else the one its name suggests.
pub fn operation(spec: &ToolSpec) -> &str {
    match spec.metadata.audit_operation.as_str() {
        "" => suggested(&spec.name),
        declared => declared,
    }
}

/// The operation that a tool's name suggests.
pub fn suggested(name: &str) -> &'static str {
    let has = |wanted: &&str| words(name, char::is_alphabetic).any(|word| word.eq_ignore_ascii_case(wanted));
    let hit = MEANINGS.iter().find(|(wanted, _)| wanted.iter().any(has));
    hit.map_or("invoke", |(_, operation)| *operation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Capability, Metadata};

    #[test]
    fn every_word_of_the_table_suggests_its_row() {
        for (wanted, operation) in MEANINGS {
            for word in wanted {
                assert_eq!(suggested(word), operation, "{word}");
                assert_eq!(suggested(&format!("my_{word}2")), operation, "{word}");
                assert_eq!(suggested(&format!("x{word}x")), "invoke", "{word} inside of another word");
            }
        }
    }

    #[test]
    fn names_are_judged_by_whole_words() {
        for (name, operation) in [
            ("RunningTotal", "invoke"),
            ("format_address", "invoke"),
            ("rmtree", "invoke"),
            ("rm_tree", "delete"),
            ("HTTPGet", "read"),
            ("getURL", "read"),
            ("openURLs", "invoke"),
            ("dropdown", "invoke"),
            ("thread", "invoke"),
            ("input", "invoke"),
            ("target", "invoke"),
            ("UPDATE_ROW", "edit"),
            ("RunPython", "execute"),
            ("ssh2", "execute"),
            ("send-mail", "write"),
            ("store.putObject", "write"),
            ("web search", "read"),
            ("", "invoke"),
            ("42", "invoke"),
        ] {
            assert_eq!(suggested(name), operation, "{name}");
        }
    }

    #[test]
    fn the_first_row_counts_and_not_the_first_word() {
        assert_eq!(suggested("read_and_delete"), "delete");
        assert_eq!(suggested("list_and_run"), "execute");
        assert_eq!(suggested("find_replace"), "edit");
        assert_eq!(suggested("get_or_create"), "write");
    }

    #[test]
    fn what_a_tool_declares_is_passed_on_whatever_it_says() {
        let mut spec = ToolSpec {
            name: "delete_row".to_owned(),
            label: String::new(),
            description: String::new(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters: crate::arguments::schema::<()>(),
            hidden: false,
            metadata: Metadata::default(),
            capability: Capability::default(),
        };
        assert_eq!(operation(&spec), "delete");
        spec.metadata.audit_operation = "Stock correction".to_owned();
        assert_eq!(operation(&spec), "Stock correction");
    }
}
