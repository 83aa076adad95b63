//! Rule files: Markdown with a head, in `rules` of the project and of the user.

use super::front_matter::FrontMatter;
use crate::prompt::PromptRule;
use dryad_protocol::rule::{RuleInterrupt, RuleLevel, RuleSource, StreamRule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Longer files are no rules.
const MAX_BYTES: u64 = 256 * 1024;

/// The rules that were found, and what is wrong with others.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// Those that watch what the model writes, by name; the project's before the user's of the same name.
    pub rules: Vec<StreamRule>,
    /// Those that the model is told of first, in the same order.
    pub told: Vec<PromptRule>,
    /// Why files were left out.
    pub warnings: Vec<String>,
}

/// A rule of one of the two kinds.
enum Rule {
    Watching(StreamRule),
    Told(PromptRule),
}

/// Reads the rules of a project's and the user's configuration directory: those with a condition watch, those
/// that always apply or have a description are told, others are for other programs.
pub fn load(project: &Path, user: &Path) -> Loaded {
    let mut loaded = Loaded::default();
    let mut rules: BTreeMap<String, Rule> = BTreeMap::new();
    for (root, level) in [(project, RuleLevel::Project), (user, RuleLevel::User)] {
        for path in files(&root.join("rules")) {
            match read(&path, level) {
                Ok(Some(rule)) => drop(rules.entry(name_of(&path)).or_insert(rule)),
                Ok(None) => {}
                Err(problem) => loaded.warnings.push(format!("rule {} is left out: {problem}", path.display())),
            }
        }
    }
    for rule in rules.into_values() {
        match rule {
            Rule::Watching(rule) => loaded.rules.push(rule),
            Rule::Told(rule) => loaded.told.push(rule),
        }
    }
    loaded
}

/// The Markdown files of a directory, by name. A directory that is not there has none.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_rule = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md" || ending == "mdc");
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(is_rule).collect();
    paths.sort();
    paths
}

fn read(path: &Path, level: RuleLevel) -> Result<Option<Rule>, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err("it is no file, or too long".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let head = FrontMatter::parse(&text);
    let condition = head.list(&["condition", "ttsr_trigger", "ttsrTrigger"]);
    if condition.is_empty() {
        return Ok(told(path, &head).map(Rule::Told));
    }
    let shown = path.to_string_lossy().into_owned();
    let source =
        RuleSource { provider: "native".to_owned(), provider_name: "dryad".to_owned(), path: shown.clone(), level };
    Ok(Some(Rule::Watching(StreamRule {
        name: name_of(path),
        path: shown,
        content: head.body.trim().to_owned(),
        globs: separate(head.list(&["globs"])),
        description: head.text("description").map(str::to_owned),
        condition,
        scope: separate(head.list(&["scope"])),
        interrupt_mode: head.text("interruptMode").map(interrupt).transpose()?,
        source,
    })))
}

/// A rule without a condition, as the model is told of it.
fn told(path: &Path, head: &FrontMatter<'_>) -> Option<PromptRule> {
    let (name, text) = (name_of(path), head.body.trim().to_owned());
    if head.text("alwaysApply") == Some("true") {
        return (!text.is_empty()).then_some(PromptRule::Always { name, text });
    }
    let description = head.text("description").filter(|text| !text.trim().is_empty())?.to_owned();
    Some(PromptRule::Listed { name, description, path: path.to_owned() })
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// A list may also be one text with commas outside of braces.
fn separate(items: Vec<String>) -> Vec<String> {
    let mut separate = Vec::new();
    for item in items {
        let (mut depth, mut part) = (0_usize, String::new());
        for character in item.chars() {
            match character {
                '{' | '(' => depth += 1,
                '}' | ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    separate.push(std::mem::take(&mut part));
                    continue;
                }
                _ => {}
            }
            part.push(character);
        }
        separate.push(part);
    }
    separate.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn interrupt(text: &str) -> Result<RuleInterrupt, String> {
    match text {
        "always" => Ok(RuleInterrupt::Always),
        "never" => Ok(RuleInterrupt::Never),
        "prose-only" => Ok(RuleInterrupt::ProseOnly),
        "tool-only" => Ok(RuleInterrupt::ToolOnly),
        _ => Err(format!("interruptMode is always, never, prose-only or tool-only, not `{text}`")),
    }
}
