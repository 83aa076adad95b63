//! The guidelines of a system prompt: generated ones, the tools' own, the defaults; each once.

use dryad_safety::spec::{SafetyLevel, ToolSpec};

const DEFAULTS: [&str; 2] = ["Be concise in your responses", "Show file paths clearly when working with files"];

/// The guidelines for these tools, in order.
pub(super) fn guidelines(tools: &[&ToolSpec]) -> Vec<String> {
    let generated = generated(tools).into_iter().map(str::to_owned);
    let own = tools.iter().flat_map(|tool| tool.prompt_guidelines.iter().cloned());
    let mut lines: Vec<String> = Vec::new();
    for line in generated.chain(own).chain(DEFAULTS.map(str::to_owned)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn generated(tools: &[&ToolSpec]) -> Vec<&'static str> {
    let on = |name: &str| tools.iter().any(|tool| tool.name == name);
    let searching = ["grep", "find", "ls"].map(on);
    let mut lines = Vec::new();
    if on("bash") && !searching.contains(&true) {
        lines.push("Use bash for file operations like ls, rg, find");
    }
    if on("bash") && searching.contains(&true) {
        lines.push(match searching {
            [true, true, true] => "Prefer grep/find/ls tools over bash",
            [true, true, false] => "Prefer grep/find tools over bash",
            [true, false, true] => "Prefer grep/ls tools over bash",
            [false, true, true] => "Prefer find/ls tools over bash",
            [true, false, false] => "Prefer the grep tool over bash",
            [false, true, false] => "Prefer the find tool over bash",
            [false, false, _] => "Prefer the ls tool over bash",
        });
    }
    let writer = |level: SafetyLevel| {
        tools.iter().any(|tool| !tool.metadata.read_only && tool.capability.safety_level() == level)
    };
    if writer(SafetyLevel::Previewable) && writer(SafetyLevel::Unprotected) {
        lines.push("Prefer tools that preview their changes over those that cannot");
    }
    lines
}
