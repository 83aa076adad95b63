//! The system prompt of every subset of the built-in tools: none mentions a tool that is not on.

use dryad_agent::prompt::{PromptParts, system_prompt};
use dryad_ast::AstSettings;
use dryad_safety::tool::Tool;
use dryad_tools::{ToolSettings, builtin};
use expect_test::expect;
use std::path::Path;
use std::sync::Arc;

fn all_tools() -> Vec<Arc<dyn Tool>> {
    [builtin(&ToolSettings::default()), dryad_ast::builtin(&AstSettings::default())].concat()
}

fn prompt(tools: &[Arc<dyn Tool>]) -> String {
    let (workdir, date) = (Path::new("/project"), "2026-01-02");
    system_prompt(&PromptParts { tools, custom: None, append: None, context_files: &[], rules: &[], workdir, date })
}

/// Whether a guideline or a list entry speaks of the tool by its name.
fn mentions(prompt: &str, name: &str) -> bool {
    let listed = prompt.contains(&format!("- {name}: "));
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let advice = prompt.lines().skip_while(|line| *line != "Guidelines:").take_while(|line| !line.is_empty());
    // `ls`, `find` and `sed` are programs as well: only a sentence that says `tool` means the tool.
    listed || advice.filter(|line| line.contains("tool") || line.starts_with("- Use ")).any(words)
}

#[test]
fn no_subset_mentions_a_tool_that_is_not_on() {
    let all = all_tools();
    for mask in 0_u32..1 << all.len() {
        let is_on = |position: usize| mask & (1 << position) != 0;
        let on: Vec<_> = all.iter().enumerate().filter(|(n, _)| is_on(*n)).map(|(_, tool)| tool.clone()).collect();
        let text = prompt(&on);
        for (position, tool) in all.iter().enumerate() {
            let name = &tool.spec().name;
            let as_programs = is_on(1) && ["ls", "find"].contains(&name.as_str()) && text.contains("Use bash for");
            assert!(
                is_on(position) == mentions(&text, name) || as_programs,
                "{name} is {} in:\n{text}",
                if is_on(position) { "on, yet not mentioned" } else { "off, yet mentioned" }
            );
        }
        assert!(text.contains("- Be concise in your responses\n"));
        assert_eq!(text, prompt(&on), "the same parts give the same bytes");
    }
}

#[test]
fn all_tools_together() {
    expect![[r#"
        You are dryad, a coding agent. You help people with their code by reading files, changing them and running commands. Every change you make is planned first and can be taken back.

        Available tools:
        - read: Read file contents
        - bash: Run shell commands
        - edit: Edit file contents
        - write: Create a file or replace it whole
        - grep: Search text in files, honouring .gitignore
        - find: Find files by glob, honouring .gitignore
        - ls: List a directory
        - ast_grep: Search code by its structure, whatever its layout
        - ast_edit: Rewrite code by its structure in many files at once

        Guidelines:
        - Prefer grep/find/ls tools over bash
        - Prefer tools that preview their changes over those that cannot
        - Use read to examine files instead of cat or sed
        - Quote old_string in edit exactly as it stands in the file
        - Change several places of one file with one edit call and its edits list
        - Keep old_string small, but long enough to be unique in the file
        - Use write only for new files or full rewrites
        - Use ast_edit for one change in many places of code
        - Be concise in your responses
        - Show file paths clearly when working with files

        Current date: 2026-01-02
        Current working directory: /project
    "#]].assert_eq(&prompt(&all_tools()));
}
