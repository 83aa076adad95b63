//! The system prompt, assembled from what is really there.
//!
//! ```text
//! role · available tools · guidelines      (a custom prompt replaces these three)
//! appended text · context files · rules · date and directory
//! ```
//!
//! Invariants: a tool that is not enabled is never mentioned; the same parts give the same bytes, so
//! that providers can cache them.

mod files;
mod guidelines;
mod rules;

pub use files::{ContextFile, SystemFiles, context_files, system_files};
pub use rules::PromptRule;

use dryad_safety::tool::Tool;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

const ROLE: &str = "You are dryad, a coding agent. You help people with their code by reading files, changing them and \
                    running commands. Every change you make is planned first and can be taken back.";

/// What a system prompt is made of.
#[derive(Clone, Copy)]
pub struct PromptParts<'a> {
    /// The enabled tools, in the order the model is told of them.
    pub tools: &'a [Arc<dyn Tool>],
    /// Replaces role, tools and guidelines.
    pub custom: Option<&'a str>,
    /// Comes after them.
    pub append: Option<&'a str>,
    /// The project's own instructions, the nearest last.
    pub context_files: &'a [ContextFile],
    /// The rules of the project and of the user.
    pub rules: &'a [PromptRule],
    /// Where the agent works.
    pub workdir: &'a Path,
    /// Today, as it shall be written.
    pub date: &'a str,
}

/// Assembles the system prompt.
pub fn system_prompt(parts: &PromptParts<'_>) -> String {
    let mut sections = vec![parts.custom.map_or_else(|| opening(parts.tools), str::to_owned)];
    sections.extend(parts.append.map(str::to_owned));
    sections.extend(project_context(parts.context_files));
    sections.extend(rules::sections(parts.rules, parts.tools.iter().any(|tool| tool.spec().name == "read")));
    sections.push(format!("Current date: {}\nCurrent working directory: {}", parts.date, parts.workdir.display()));
    let mut prompt = sections.iter().map(|section| section.trim()).collect::<Vec<_>>().join("\n\n");
    prompt.push('\n');
    prompt
}

fn opening(tools: &[Arc<dyn Tool>]) -> String {
    let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.hidden).collect();
    let mut text = format!("{ROLE}\n\nAvailable tools:\n");
    let mut listed = false;
    for spec in &specs {
        if let Some(snippet) = &spec.prompt_snippet {
            writeln!(text, "- {}: {snippet}", spec.name).ok();
            listed = true;
        }
    }
    if !listed {
        text.push_str("(none)\n");
    }
    text.push_str("\nGuidelines:\n");
    for guideline in guidelines::guidelines(&specs) {
        writeln!(text, "- {guideline}").ok();
    }
    text
}

fn project_context(files: &[ContextFile]) -> Option<String> {
    let first = files.first()?;
    let mut text = String::from("Project instructions:\n");
    for file in std::iter::once(first).chain(files.iter().skip(1)) {
        write!(text, "\n<file path=\"{}\">\n{}\n</file>\n", file.path.display(), file.text.trim_end()).ok();
    }
    Some(text)
}

#[cfg(test)]
mod tests;
