//! Rules: `tool`, `tool(prefix:words)`, `tool(/path/**)`, `tool(domain:host)`, `*`.

mod command;
mod path;

pub(super) use command::{CommandPattern, Strictness};
pub(super) use path::PathPattern;

use super::class;
use super::subject::Subject;
use crate::spec::{PermissionClass, ToolSpec};
use std::fmt;

/// One rule, parsed.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    file: Option<String>,
    tool: ToolPattern,
    content: Content,
}

#[derive(Clone, Debug)]
enum ToolPattern {
    Every,
    Named(String),
}

/// What of a call a rule looks at.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Nothing: every call.
    Every,
    /// The command line.
    Command(CommandPattern),
    /// Paths; for a tool that runs commands, the command line.
    Path(PathPattern, Option<CommandPattern>),
    /// The host and its sub-domains.
    Domain(String),
}

/// A rule that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}permission rule `{rule}`: {problem}", file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default())]
pub struct RuleError {
    /// The file it stands in.
    pub file: Option<String>,
    /// The rule as written.
    pub rule: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a rule.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Problem {
    /// No tool is named.
    #[error("it names no tool")]
    NoTool,
    /// A name that no tool can have.
    #[error("`{0}` is no name of a tool")]
    BadTool(String),
    /// The parentheses do not fit.
    #[error("a `(` needs a `)` at the end")]
    Unclosed,
    /// Nothing stands in the parentheses.
    #[error("nothing stands between the parentheses")]
    Empty,
    /// What stands in the parentheses has none of the forms.
    #[error(
        "`{0}` is neither prefix:words, domain:host nor a path (which starts with `/`, `.` or `~`, or holds a `*`)"
    )]
    UnknownForm(String),
    /// The words are not one plain command.
    #[error("`{0}` is not one plain command")]
    NotOneCommand(String),
    /// The path pattern is wrong.
    #[error("{0}")]
    BadGlob(String),
    /// The host is wrong.
    #[error("`{0}` is no host name")]
    BadHost(String),
    /// The form means nothing for this tool.
    #[error("{form} means nothing for the tool {tool}")]
    WrongForm {
        /// What the rule looks at.
        form: &'static str,
        /// The tool.
        tool: String,
    },
    /// An example that should match does not.
    #[error("its example `{0}` should match but does not")]
    ExampleMissed(String),
    /// An example that should not match does.
    #[error("its example `{0}` should not match but does")]
    ExampleCaught(String),
}

impl Rule {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let wrong = |problem| RuleError { file: None, rule: text.to_owned(), problem };
        let (name, content) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let content = rest.strip_suffix(')').ok_or_else(|| wrong(Problem::Unclosed))?;
                (name, Some(content.trim()))
            }
        };
        let tool = parse_tool(name).map_err(wrong)?;
        let content = content.map_or(Ok(Content::Every), parse_content).map_err(wrong)?;
        check_form(&tool, &content).map_err(wrong)?;
        Ok(Self { text: text.to_owned(), file: None, tool, content })
    }

    /// A rule for every call of this tool.
    pub fn whole_tool(tool: &str) -> Self {
        let named = ToolPattern::Named(tool.to_owned());
        Self { text: tool.to_owned(), file: None, tool: named, content: Content::Every }
    }

    /// A rule for one command line, its words exactly as they are.
    pub(super) fn for_command(tool: &str, pattern: CommandPattern) -> Self {
        let text = format!("{tool}(prefix:{pattern})");
        let content = Content::Command(pattern);
        Self { text, file: None, tool: ToolPattern::Named(tool.to_owned()), content }
    }

    /// The same rule, from this file.
    pub fn from_file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// The rule as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file it came from.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    /// Whether it is about this tool.
    pub(super) fn names(&self, tool: &ToolSpec) -> bool {
        match &self.tool {
            ToolPattern::Every => true,
            ToolPattern::Named(name) => *name == tool.name || tool.metadata.aliases.contains(name),
        }
    }

    /// Whether any part of a call matches: what deny and ask rules need.
    pub(super) fn touches(&self, subject: &Subject) -> bool {
        match &self.content {
            Content::Every => true,
            Content::Command(pattern) => subject.runs_any(pattern),
            Content::Path(path, command) => {
                subject.paths.iter().any(|target| path.matches_either(target, subject))
                    || command.as_ref().is_some_and(|command| subject.runs_any(command))
            }
            Content::Domain(domain) => subject.host().is_some_and(|host| super::webfetch::is_within(&host, domain)),
        }
    }
}

/// Two rules are the same when they are written the same and stand in the same file.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.file == other.file
    }
}

impl Eq for Rule {}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "{} ({file})", self.text),
            None => write!(formatter, "{}", self.text),
        }
    }
}

fn parse_tool(name: &str) -> Result<ToolPattern, Problem> {
    let name = name.trim();
    let usual = |character: char| character.is_alphanumeric() || "_-.:/".contains(character);
    match name {
        "" => Err(Problem::NoTool),
        "*" => Ok(ToolPattern::Every),
        _ if name.chars().all(usual) => Ok(ToolPattern::Named(name.to_owned())),
        _ => Err(Problem::BadTool(name.to_owned())),
    }
}

fn parse_content(content: &str) -> Result<Content, Problem> {
    if content.is_empty() {
        return Err(Problem::Empty);
    }
    if let Some(prefix) = content.strip_prefix("prefix:") {
        return Ok(Content::Command(CommandPattern::prefix(prefix.trim())?));
    }
    if let Some(domain) = content.strip_prefix("domain:") {
        return super::webfetch::parse_domain(domain.trim()).map(Content::Domain);
    }
    if content.starts_with(['/', '.', '~']) || content.contains('*') {
        let path = PathPattern::parse(content)?;
        return Ok(Content::Path(path, CommandPattern::whole(content).ok()));
    }
    Err(Problem::UnknownForm(content.to_owned()))
}

/// Refuses a form that could never match a tool whose class is known by its name.
fn check_form(tool: &ToolPattern, content: &Content) -> Result<(), Problem> {
    let ToolPattern::Named(name) = tool else { return Ok(()) };
    let Some(class) = class::by_name(name) else { return Ok(()) };
    let wrong = |form| Err(Problem::WrongForm { form, tool: name.clone() });
    match (content, class) {
        (Content::Command(_), PermissionClass::File | PermissionClass::Webfetch | PermissionClass::Readonly) => {
            wrong("prefix:")
        }
        (Content::Domain(_), PermissionClass::File | PermissionClass::Bash | PermissionClass::Readonly) => {
            wrong("domain:")
        }
        (Content::Path(..), PermissionClass::Webfetch) => wrong("a path"),
        (Content::Path(_, None), PermissionClass::Bash) => wrong("a path"),
        (Content::Every | Content::Command(_) | Content::Path(..) | Content::Domain(_), _) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
