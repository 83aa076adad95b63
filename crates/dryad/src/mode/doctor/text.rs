//! The findings for people.

use super::{FileState, Findings, ModelFinding, sandbox};
use std::fmt::Write as _;

pub(super) fn render(findings: &Findings) -> String {
    let mut text = format!("dryad {}\n", findings.version);
    let mut section = |title: &str, lines: Vec<String>| {
        writeln!(text, "\n{title}").ok();
        for line in lines {
            writeln!(text, "  {line}").ok();
        }
    };
    section("files", files(findings));
    if !findings.notes.is_empty() {
        section("odd", findings.notes.clone());
    }
    section("keys (never shown)", keys(findings));
    section("model", vec![model(findings)]);
    section("local servers", servers(findings));
    section("tools", vec![findings.tools.join(", ")]);
    section("shell", vec![findings.shell.clone().unwrap_or_else(|| "none found: bash cannot run commands".to_owned())]);
    section("tools may change files below", findings.roots.iter().map(|root| root.display().to_string()).collect());
    section("sandbox", sandbox::lines(&findings.sandbox));
    section("changes", findings.changes.lines());
    text
}

fn files(findings: &Findings) -> Vec<String> {
    let line = |path: &std::path::Path, state: &FileState| match state {
        FileState::Found => format!("found    {}", path.display()),
        FileState::Missing => format!("none     {}", path.display()),
        FileState::Bad { problem } => format!("BAD      {problem}"),
    };
    findings.files.iter().map(|file| line(&file.path, &file.state)).collect()
}

fn keys(findings: &Findings) -> Vec<String> {
    if findings.keys.is_empty() {
        return vec!["none; set a variable such as ANTHROPIC_API_KEY, or write auth.json".to_owned()];
    }
    findings.keys.iter().map(|key| format!("{:<12} {}", key.provider, key.source)).collect()
}

fn model(findings: &Findings) -> String {
    match &findings.model {
        ModelFinding::Chosen(name) => format!("{name} is asked when no other is named"),
        ModelFinding::Problem(problem) => problem.clone(),
    }
}

fn servers(findings: &Findings) -> Vec<String> {
    let answering = findings.local_servers.iter().filter(|server| server.problem.is_none());
    let mut lines: Vec<String> = answering
        .map(|server| format!("{:<12} {} serves {}", server.provider, server.url, server.models.join(", ")))
        .collect();
    let silent = findings.local_servers.iter().filter(|server| server.problem.is_some());
    let silent: Vec<String> = silent.map(|server| format!("{} at {}", server.provider, server.url)).collect();
    if !silent.is_empty() {
        lines.push(format!("no answer from {}", silent.join(", ")));
    }
    lines
}
