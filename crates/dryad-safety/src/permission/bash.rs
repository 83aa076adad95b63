//! The bash class: the commands of a call, what is dangerous about them, what covers them.

use super::engine::ClassVerdict;
use super::file;
use super::policy::{Mode, Policy};
use super::rule::{Content, Rule};
use super::shell::{self, OpacityKind, Redirection, Script, Surroundings};
use super::subject::Subject;
use super::{Question, rule};
use crate::plan::Effect;
use dryad_protocol::command::CommandSpec;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The commands a call would run.
pub(super) fn script_of(question: &Question<'_>) -> Script {
    let spec = planned(question);
    let given = question.arguments.get("command").and_then(Value::as_str);
    let Some(text) = spec.map(|spec| spec.command.as_str()).or(given) else {
        return Script::unknown("no command is given");
    };
    let mut script = shell::parse_for(text, spec.map_or("bash", |spec| &spec.shell));
    // What the tool itself sets for every command is the tool's business, not the caller's.
    if let Some(Value::Object(variables)) = question.arguments.get("env") {
        variables.keys().for_each(|name| judge_variable(name, &mut script));
    }
    script
}

/// A variable that every command of the call gets.
fn judge_variable(name: &str, script: &mut Script) {
    if shell::is_harmless_in_environment(name) {
        return;
    }
    let reason = match shell::changes_programs(name) {
        true => format!("setting {name} can change which programs run"),
        false => format!("{name} is set for the programs"),
    };
    script.add_opaque(OpacityKind::Unclear, reason);
}

/// The command as it was planned.
fn planned<'a>(question: &Question<'a>) -> Option<&'a CommandSpec> {
    if let Some(Effect::Command(spec)) = question.effect { Some(spec) } else { None }
}

/// The directory the commands start in.
fn directory(question: &Question<'_>) -> PathBuf {
    let given = question.arguments.get("cwd").and_then(Value::as_str);
    match (planned(question), given) {
        (Some(spec), _) => spec.cwd.as_path().to_owned(),
        (None, Some(cwd)) => question.workdir.join(cwd),
        (None, None) => question.workdir.to_owned(),
    }
}

/// What is dangerous about the commands.
pub(super) fn find_danger(script: &Script, question: &Question<'_>, policy: &Policy) -> Option<String> {
    let workdir = directory(question);
    shell::find_danger(script, &Surroundings { workdir: &workdir, home: policy.home.as_deref() })
}

/// Whether the rules cover every command, and what the commands write may be written.
pub(super) fn is_covered(subject: &Subject, rules: &[&Rule], question: &Question<'_>, policy: &Policy) -> bool {
    let Some(script) = &subject.script else { return false };
    subject.is_covered_by(rules) && writes_are_ordinary(script, question, policy)
}

/// Whether every redirection to a file goes where a tool could write without asking.
fn writes_are_ordinary(script: &Script, question: &Question<'_>, policy: &Policy) -> bool {
    let all = script.commands.iter().flat_map(|command| &command.redirections);
    let written: Vec<&Redirection> = all.filter(|redirection| !shell::redirection_is_read_only(redirection)).collect();
    if written.is_empty() {
        return true;
    }
    let moves = script
        .commands
        .iter()
        .any(|command| matches!(command.program(), Some("cd" | "pushd" | "popd" | "env" | "sudo")));
    let workdir = directory(question);
    let surroundings = Surroundings { workdir: &workdir, home: policy.home.as_deref() };
    let roots = file::roots(&Subject { workdirs: vec![question.workdir.to_owned()], ..Subject::default() }, policy);
    policy.mode != Mode::AlwaysAsk
        && written.into_iter().all(|redirection| {
            let target = &redirection.target;
            let fixed = target.known && !target.glob && (!moves || Path::new(&target.text).is_absolute());
            let path = surroundings.path_of(target, &workdir).filter(|_| fixed);
            path.is_some_and(|path| file::is_ordinary(&path, &roots))
        })
}

/// Whether the commands of a call are proven to change nothing.
pub(crate) fn only_reads(question: &Question<'_>) -> bool {
    let script = script_of(question);
    !asks_foreign_git(&script, question) && shell::is_read_only(&script)
}

/// The same of a command that nobody has to be asked about.
pub(crate) fn is_proven_to_read(command: &CommandSpec, workdir: &Path) -> bool {
    let script = shell::parse(&command.command);
    (command.cwd.as_path() == workdir || !asks_git(&script)) && shell::is_read_only(&script)
}

/// A repository's own configuration can make git run programs; only the one worked in is trusted.
fn asks_foreign_git(script: &Script, question: &Question<'_>) -> bool {
    directory(question) != question.workdir && asks_git(script)
}

fn asks_git(script: &Script) -> bool {
    script.commands.iter().any(|command| command.program() == Some("git"))
}

/// What the class says of the commands.
pub(super) fn judge(script: &Script, question: &Question<'_>, looks_closer: bool) -> ClassVerdict {
    let foreign = asks_foreign_git(script, question);
    if !foreign && shell::is_read_only(script) {
        return ClassVerdict::allow("class bash: only reads");
    }
    if let Some(opacity) = script.opaque.first() {
        let ask = ClassVerdict::ask(opacity.reason.clone());
        // Rules that look at commands cannot be kept where the commands cannot be seen.
        return if looks_closer { ask.in_every_mode() } else { ask };
    }
    let acting = script.commands.iter().filter(|command| !shell::command_is_read_only(command));
    let lines: Vec<String> = acting.map(|command| command.line()).filter(|line| !line.is_empty()).take(3).collect();
    ClassVerdict::ask(match lines.is_empty() {
        true if foreign => "it asks git about another directory".to_owned(),
        true => "it writes a file".to_owned(),
        false => format!("it runs {}", lines.join(", ")),
    })
}

/// Whether a rule looks at the commands of a call.
pub(super) fn looks_at_commands(rule: &Rule) -> bool {
    match rule.content() {
        Content::Command(_) | Content::Path(_, Some(_)) => true,
        Content::Every | Content::Path(_, None) | Content::Domain(_) => false,
    }
}

/// Rules that would have covered the commands, word for word.
pub(super) fn suggest(tool: &str, script: &Script) -> Vec<Rule> {
    if !script.opaque.is_empty() {
        return Vec::new();
    }
    let uncovered = script
        .commands
        .iter()
        .filter(|command| !command.transparent && !command.words.is_empty() && !shell::command_is_read_only(command));
    let patterns = uncovered.map(rule::CommandPattern::exactly).collect::<Option<Vec<_>>>().unwrap_or_default();
    patterns.into_iter().map(|pattern| Rule::for_command(tool, pattern)).collect()
}
