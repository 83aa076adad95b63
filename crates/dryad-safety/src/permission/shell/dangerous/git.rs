//! Commands of git that lose commits or changes, here or at a remote.

use crate::permission::shell::arguments::{has_long, has_short, operands, options};
use crate::permission::shell::{SimpleCommand, Word};

/// Options before the sub-command that take the next word.
const WITH_VALUE: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"];

pub(super) fn find(command: &SimpleCommand) -> Option<String> {
    if command.program()? != "git" {
        return None;
    }
    let words = without_globals(command.arguments());
    let (name, rest) = words.split_first()?;
    let lost = match name.text.as_str() {
        "push" => push(rest),
        "reset" => has_long(rest, "hard", 2),
        "clean" => {
            let dry = has_short(rest, 'n') || has_long(rest, "dry-run", 2);
            !dry && (has_short(rest, 'f') || has_long(rest, "force", 1))
        }
        "stash" => rest.first().is_some_and(|word| matches!(word.text.as_str(), "clear" | "drop")),
        "reflog" => rest.first().is_some_and(|word| matches!(word.text.as_str(), "expire" | "delete")),
        "filter-branch" | "filter-repo" => true,
        "update-ref" => has_short(rest, 'd'),
        "gc" => options(rest).any(|option| option.starts_with("--prune=")),
        "checkout" | "switch" => {
            has_short(rest, 'f') || has_long(rest, "force", 3) || has_long(rest, "discard-changes", 4)
        }
        "config" => config(rest),
        _ => false,
    };
    lost.then(|| format!("git {} can lose work or change how git behaves: git {}", name.text, line(words)))
}

/// The words from the sub-command on.
pub(in crate::permission) fn without_globals(words: &[Word]) -> &[Word] {
    let mut position = 0;
    while let Some(word) = words.get(position).filter(|word| word.text.starts_with('-')) {
        position += if WITH_VALUE.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    words.get(position..).unwrap_or_default()
}

fn push(words: &[Word]) -> bool {
    let long = ["force", "mirror", "delete", "prune"].iter().any(|name| has_long(words, name, 3));
    let lease = options(words).any(|option| option.starts_with("--force"));
    long || lease
        || has_short(words, 'f')
        || has_short(words, 'd')
        || operands(words).any(|word| word.text.starts_with(['+', ':']) && word.text.len() > 1)
}

/// Settings that reach beyond the repository or name programs.
fn config(words: &[Word]) -> bool {
    let wide = has_long(words, "global", 3) || has_long(words, "system", 3);
    let values = operands(words).count();
    let key = operands(words).next().map(|word| word.text.to_ascii_lowercase()).unwrap_or_default();
    const RUNNING: [&str; 9] = [
        "alias.",
        "core.hookspath",
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.fsmonitor",
        "filter.",
        "diff.",
        "credential.",
    ];
    values > 1 && (wide || RUNNING.iter().any(|name| key.starts_with(name)))
}

fn line(words: &[Word]) -> String {
    words.iter().take(8).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
