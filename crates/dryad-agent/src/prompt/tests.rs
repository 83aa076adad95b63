//! System prompts as a whole: tools, guidelines, context files, prompt files.

use super::*;
use dryad_protocol::call::ToolResult;
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, ToolError};
use expect_test::expect;
use std::fs;

struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan(&self, _: serde_json::Map<String, serde_json::Value>, _: &PlanContext) -> Result<Plan, ToolError> {
        Ok(Plan::Answer(ToolResult::default()))
    }
}

fn tool(name: &str, snippet: Option<&str>, guidelines: &[&str], hidden: bool) -> Arc<dyn Tool> {
    Arc::new(Named(ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        prompt_snippet: snippet.map(str::to_owned),
        prompt_guidelines: guidelines.iter().map(|&line| line.to_owned()).collect(),
        parameters: dryad_safety::arguments::schema::<()>(),
        hidden,
        metadata: Metadata::default(),
        capability: Capability::default(),
    }))
}

fn parts<'a>(tools: &'a [Arc<dyn Tool>], context_files: &'a [ContextFile]) -> PromptParts<'a> {
    let (workdir, date) = (Path::new("/project"), "2026-01-02");
    PromptParts { tools, custom: None, append: None, context_files, rules: &[], workdir, date }
}

#[test]
fn lists_snippets_and_each_guideline_once_and_hides_hidden_tools() {
    let tools = [
        tool("read", Some("Read file contents"), &["Use read to examine files instead of cat or sed"], false),
        tool("bash", Some("Run shell commands"), &["Be concise in your responses"], false),
        tool("grep", None, &[], false),
        tool("resolve", Some("secret"), &["never shown"], true),
    ];
    expect![[r#"
        You are dryad, a coding agent. You help people with their code by reading files, changing them and running commands. Every change you make is planned first and can be taken back.

        Available tools:
        - read: Read file contents
        - bash: Run shell commands

        Guidelines:
        - Prefer the grep tool over bash
        - Use read to examine files instead of cat or sed
        - Be concise in your responses
        - Show file paths clearly when working with files

        Current date: 2026-01-02
        Current working directory: /project
    "#]]
    .assert_eq(&system_prompt(&parts(&tools, &[])));
}

#[test]
fn a_custom_prompt_replaces_the_opening_and_the_rest_follows() {
    let file = ContextFile { path: "/project/AGENTS.md".into(), text: "Use tabs.\n".to_owned() };
    let files = [file];
    let parts = PromptParts { custom: Some("Be a poet."), append: Some("Rhyme."), ..parts(&[], &files) };
    expect![[r#"
        Be a poet.

        Rhyme.

        Project instructions:

        <file path="/project/AGENTS.md">
        Use tabs.
        </file>

        Current date: 2026-01-02
        Current working directory: /project
    "#]]
    .assert_eq(&system_prompt(&parts));
}

#[test]
fn without_tools_it_says_so() {
    assert!(system_prompt(&parts(&[], &[])).contains("Available tools:\n(none)\n"));
}

#[test]
fn context_files_come_from_the_root_down_and_the_same_text_once() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let project = root.path().join("project");
    let deep = project.join("a");
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(&deep).unwrap();
    fs::write(home.join("AGENTS.md"), "mine").unwrap();
    fs::write(project.join("CLAUDE.md"), "not read: AGENTS.md comes first").unwrap();
    fs::write(project.join("AGENTS.md"), "ours").unwrap();
    fs::write(deep.join("DRYAD.md"), "mine").unwrap();
    let texts: Vec<_> = context_files(&home, &deep).into_iter().map(|file| file.text).collect();
    assert_eq!(texts, ["mine", "ours"]);
}

#[test]
fn the_projects_prompt_files_beat_the_users() {
    let root = tempfile::tempdir().unwrap();
    let (home, project) = (root.path().join("home"), root.path().join("project"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(project.join(".dryad")).unwrap();
    fs::write(home.join("SYSTEM.md"), "user").unwrap();
    fs::write(home.join("APPEND_SYSTEM.md"), "more").unwrap();
    fs::write(project.join(".dryad/SYSTEM.md"), "project").unwrap();
    let files = system_files(&home, &project);
    assert_eq!((files.replace.as_deref(), files.append.as_deref()), (Some("project"), Some("more")));
}

#[test]
fn rules_are_told_whole_or_by_what_they_are_for() {
    let rules = [
        PromptRule::Always { name: "style".to_owned(), text: "Use tabs.\n".to_owned() },
        PromptRule::Listed {
            name: "sql".to_owned(),
            description: "Changing the schema".to_owned(),
            path: "/p/sql.md".into(),
        },
    ];
    let prompt = system_prompt(&PromptParts { rules: &rules, ..parts(&[], &[]) });
    assert!(prompt.contains("Rules that always hold:\n\n<rule name=\"style\">\nUse tabs.\n</rule>\n"), "{prompt}");
    assert!(!prompt.contains("sql.md"), "nothing could be read");
    assert_eq!(
        super::rules::sections(&rules[1..], true),
        ["Rules for particular work; read the file before you do such work:\n- sql: Changing the schema (/p/sql.md)\n"]
    );
}
