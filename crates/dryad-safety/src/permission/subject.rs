//! What a call is about, as far as rules can look at it: commands, paths, an address.

use super::file::real_path;
use super::rule::{CommandPattern, Content, PathPattern, Rule, Strictness};
use super::shell::{self, Script};
use super::{Question, webfetch};
use crate::plan::Effect;
use crate::spec::PermissionClass;
use serde_json::Value;
use std::path::{Path, PathBuf};
use url::Url;

/// What a call is about.
#[derive(Debug, Default)]
pub(super) struct Subject {
    /// The commands it would run.
    pub(super) script: Option<Script>,
    /// The paths it would touch.
    pub(super) paths: Vec<TargetPath>,
    /// The address it would fetch, or what is wrong with it.
    pub(super) url: Option<Result<Url, String>>,
    /// The working directory, as given and as it really is.
    pub(super) workdirs: Vec<PathBuf>,
    /// The home directory, as given and as it really is.
    pub(super) homes: Vec<PathBuf>,
}

/// A path that is touched.
#[derive(Debug)]
pub(super) struct TargetPath {
    /// Absolute, as the call names it.
    pub(super) given: PathBuf,
    /// Where that really is: the path with the links of its directory resolved, and what it leads to. Empty if
    /// it cannot be resolved.
    pub(super) real: Vec<PathBuf>,
}

impl Subject {
    /// What `question` is about.
    pub(super) fn new(question: &Question<'_>, class: PermissionClass, home: Option<&Path>) -> Self {
        let mut subject = Self::default();
        match class {
            PermissionClass::Bash => {
                subject.script = Some(super::bash::script_of(question));
                return subject;
            }
            PermissionClass::Webfetch => {
                subject.url = Some(webfetch::url_of(question.arguments));
                return subject;
            }
            PermissionClass::File
            | PermissionClass::Readonly
            | PermissionClass::Generic
            | PermissionClass::Undeclared => {}
        }
        subject.paths = paths_of(question, home);
        subject.workdirs = with_real(question.workdir);
        subject.homes = home.map(with_real).unwrap_or_default();
        if question.arguments.contains_key("url") {
            subject.url = Some(webfetch::url_of(question.arguments));
        }
        subject
    }

    /// What an example of a rule is about. Nothing on disk is looked at.
    pub(super) fn of_example(content: &Content, example: &str) -> Self {
        let mut subject = Self::default();
        match content {
            Content::Every => {}
            Content::Command(_) => subject.script = Some(shell::parse(example)),
            Content::Path(..) => {
                subject.workdirs = vec![PathBuf::from("/srv")];
                subject.homes = vec![PathBuf::from("/home")];
                let path = match example.strip_prefix("~/") {
                    Some(rest) => Path::new("/home").join(rest),
                    None => Path::new("/srv").join(example.trim_start_matches("./")),
                };
                subject.paths.push(TargetPath { given: path.clone(), real: vec![path] });
            }
            Content::Domain(_) => {
                let address = if example.contains("://") { example.to_owned() } else { format!("https://{example}") };
                subject.url = Some(webfetch::parse(&address));
            }
        }
        subject
    }

    /// The host, lower-case and without a dot at the end.
    pub(super) fn host(&self) -> Option<String> {
        self.url.as_ref()?.as_ref().ok().and_then(webfetch::host)
    }

    /// Whether any command, or what might be one, matches.
    pub(super) fn runs_any(&self, pattern: &CommandPattern) -> bool {
        self.script.as_ref().is_some_and(|script| {
            let mut commands = script.commands.iter().chain(&script.guesses);
            commands.any(|command| pattern.matches(command, Strictness::Loose))
        })
    }

    /// Whether these rules together cover every part of the call; redirections are not looked at.
    pub(super) fn is_covered_by(&self, rules: &[&Rule]) -> bool {
        if let Some(script) = &self.script {
            return script.opaque.is_empty()
                && !script.commands.is_empty()
                && script.commands.iter().all(|command| {
                    let named = |rule: &&Rule| covers_command(rule, command);
                    rules.iter().any(named)
                        || command.words.is_empty()
                        || shell::command_is_read_only(command)
                        || command.transparent
                            && command
                                .assignments
                                .iter()
                                .all(|assignment| shell::is_harmless_in_environment(&assignment.name))
                });
        }
        if rules.iter().any(|rule| matches!(rule.content(), Content::Every)) {
            return true;
        }
        let path_patterns = || rules.iter().filter_map(|rule| path_pattern(rule));
        let covered = |target: &TargetPath| path_patterns().any(|pattern| pattern.covers(target, self));
        if !self.paths.is_empty() {
            return self.paths.iter().all(covered);
        }
        let host = self.host();
        host.is_some_and(|host| {
            rules.iter().any(|rule| match rule.content() {
                Content::Domain(domain) => webfetch::is_within(&host, domain),
                Content::Every | Content::Command(_) | Content::Path(..) => false,
            })
        })
    }
}

fn path_pattern(rule: &Rule) -> Option<&PathPattern> {
    match rule.content() {
        Content::Path(pattern, _) => Some(pattern),
        Content::Every | Content::Command(_) | Content::Domain(_) => None,
    }
}

fn covers_command(rule: &Rule, command: &shell::SimpleCommand) -> bool {
    match rule.content() {
        Content::Every => true,
        Content::Command(pattern) | Content::Path(_, Some(pattern)) => pattern.matches(command, Strictness::Strict),
        Content::Path(_, None) | Content::Domain(_) => false,
    }
}

/// The paths of the change set, or those the arguments name.
fn paths_of(question: &Question<'_>, home: Option<&Path>) -> Vec<TargetPath> {
    if let Some(Effect::Files(files)) = question.effect {
        return files.changes.iter().map(|change| TargetPath::at(change.path.as_path().to_owned())).collect();
    }
    let keys = ["path", "file", "file_path"];
    let texts = keys.iter().filter_map(|key| question.arguments.get(*key)).filter_map(Value::as_str);
    texts.map(|text| TargetPath::at(absolute(text, question.workdir, home))).collect()
}

fn absolute(text: &str, workdir: &Path, home: Option<&Path>) -> PathBuf {
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match rest.zip(home) {
        Some((rest, home)) => home.join(rest.trim_start_matches('/')),
        None => workdir.join(text),
    }
}

fn with_real(path: &Path) -> Vec<PathBuf> {
    let real = real_path::resolve(path).ok().filter(|real| real != path);
    std::iter::once(path.to_owned()).chain(real).collect()
}

impl TargetPath {
    /// A path, looked up on disk.
    pub(super) fn at(given: PathBuf) -> Self {
        let place = real_path::resolve_directory(&given);
        let real = place.and_then(|place| Ok((place, real_path::resolve(&given)?)));
        let real = real.map(|(place, target)| if place == target { vec![target] } else { vec![place, target] });
        Self { given, real: real.unwrap_or_default() }
    }
}
