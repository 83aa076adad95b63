//! Commands of git that only look.
//!
//! git lets long options be cut short, so what writes or runs is recognised by every beginning of its name.

use crate::permission::shell::Word;
use crate::permission::shell::arguments::{has_long, has_short, operands, options};

/// Sub-commands that look and nothing else, apart from the options checked below.
const LOOKING: [&str; 20] = [
    "status",
    "diff",
    "log",
    "show",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "blame",
    "describe",
    "shortlog",
    "cat-file",
    "rev-list",
    "merge-base",
    "name-rev",
    "show-ref",
    "for-each-ref",
    "diff-tree",
    "grep",
    "count-objects",
    "check-ignore",
];

/// Whether git, called with these words, only looks.
pub(super) fn is_read_only(words: &[Word]) -> bool {
    const GLOBAL: [&str; 5] =
        ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];
    let start = words.iter().position(|word| !GLOBAL.contains(&word.text.as_str())).unwrap_or(words.len());
    let Some((command, rest)) = words.get(start..).and_then(<[Word]>::split_first) else { return true };
    let harmful = has_long(rest, "output", 3)
        || has_long(rest, "output-directory", 3)
        || has_long(rest, "ext-diff", 3)
        || has_long(rest, "textconv", 3)
        || has_long(rest, "filters", 4)
        || has_long(rest, "open-files-in-pager", 3)
        || command.text == "grep" && has_short(rest, 'O');
    if harmful {
        return false;
    }
    match command.text.as_str() {
        "branch" => branch(rest),
        "tag" => lists(rest, &["-l", "--list", "-n", "--contains", "--merged", "--no-merged", "--points-at"]),
        "remote" => remote(rest),
        "stash" | "worktree" => rest.first().is_some_and(|word| word.text == "list"),
        "reflog" => rest.first().is_none_or(|word| word.text == "show"),
        "config" => config(rest),
        "--version" | "version" => true,
        other => LOOKING.contains(&other),
    }
}

fn branch(words: &[Word]) -> bool {
    const LISTING: [&str; 21] = [
        "--list",
        "-l",
        "-a",
        "--all",
        "-r",
        "--remotes",
        "-v",
        "-vv",
        "-av",
        "-avv",
        "-ra",
        "-rv",
        "--show-current",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--sort",
        "--format",
        "--no-color",
    ];
    const ASKING: [&str; 7] = ["--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    let only_listing = options(words).all(|option| LISTING.contains(&option.split('=').next().unwrap_or(option)));
    let asks = options(words).any(|option| ASKING.contains(&option.split('=').next().unwrap_or(option)));
    only_listing && (asks || operands(words).next().is_none())
}

/// Whether a command that lists when it is given one of these options is given one, and no others.
fn lists(words: &[Word], allowed: &[&str]) -> bool {
    let listed = options(words).all(|option| allowed.contains(&option.split('=').next().unwrap_or(option)));
    listed && (options(words).next().is_some() || words.is_empty())
}

fn remote(words: &[Word]) -> bool {
    match words.first().map(|word| word.text.as_str()) {
        None => true,
        Some("-v" | "--verbose") => words.len() == 1,
        Some("get-url") => !words.iter().any(|word| word.text == "--set"),
        Some(_) => false,
    }
}

fn config(words: &[Word]) -> bool {
    const ASKING: [&str; 7] = ["--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get"];
    const SCOPES: [&str; 4] = ["--global", "--local", "--system", "--worktree"];
    let first = words.iter().find(|word| !SCOPES.contains(&word.text.as_str()));
    first.is_some_and(|word| ASKING.contains(&word.text.as_str()))
}
