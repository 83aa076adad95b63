//! Deleting and opening up whole trees.

use crate::permission::shell::arguments::{has_long, has_short, operands};
use crate::permission::shell::{Script, SimpleCommand, Word};
use std::path::PathBuf;

pub(super) fn find(script: &Script, command: &SimpleCommand, bases: &[PathBuf]) -> Option<String> {
    let words = command.arguments();
    match command.program()? {
        "rm" | "srm" | "trash" => remove(script, command, bases),
        "rmdir" => as_root(command).then(|| "deletes as another user".to_owned()),
        "find" | "gfind" => find_delete(words),
        "chmod" | "chown" | "chgrp" | "setfacl" => open_up(words),
        "mv" if operands(words).last().is_some_and(|word| word.text == "/dev/null") => {
            Some("moves a file onto /dev/null".to_owned())
        }
        _ => None,
    }
}

fn as_root(command: &SimpleCommand) -> bool {
    command.wrappers.iter().any(|wrapper| matches!(wrapper.as_str(), "sudo" | "doas" | "su" | "pkexec" | "run0"))
}

fn remove(script: &Script, command: &SimpleCommand, bases: &[PathBuf]) -> Option<String> {
    let words = command.arguments();
    let recursive = has_short(words, 'r') || has_short(words, 'R') || has_long(words, "recursive", 1);
    let forced = has_short(words, 'f') || has_long(words, "force", 1);
    if as_root(command) {
        return Some("deletes as another user".to_owned());
    }
    if has_long(words, "no-preserve-root", 4) {
        return Some("rm --no-preserve-root".to_owned());
    }
    if command.wrappers.iter().any(|wrapper| wrapper == "xargs") {
        return Some("deletes whatever xargs is given".to_owned());
    }
    if !recursive && !forced {
        return None;
    }
    // After a change of directory, a relative target is wherever that led.
    let moved = script.commands.iter().any(|other| {
        let leads_away = |word: &Word| !word.known || word.tilde || word.text.starts_with(['/', '.']);
        matches!(other.program(), Some("cd" | "pushd"))
            && other.arguments().iter().find(|word| word.text != "--").is_none_or(leads_away)
    });
    if recursive && moved && bases.len() > 1 {
        return Some("recursive delete after a change of directory".to_owned());
    }
    let how = if recursive { "recursive" } else { "forced" };
    operands(words).find_map(|word| target(word, recursive).map(|what| format!("{how} delete of {what}")))
}

/// What makes a target of a recursive or forced delete dangerous.
fn target(word: &Word, recursive: bool) -> Option<&'static str> {
    let text = word.text.trim_end_matches('/');
    if word.tilde || word.text.starts_with("$HOME") || word.text.starts_with("${HOME") {
        return Some("the home directory or a path in it");
    }
    if word.text.starts_with('/') {
        return Some("an absolute path");
    }
    if !recursive {
        return None;
    }
    if text.split('/').any(|part| part == "..") {
        return Some("a path above the directory");
    }
    if matches!(text, "" | "." | "*" | "./*" | ".*" | "./.*" | ".git" | "./.git") {
        return Some("everything in the directory");
    }
    (!word.known && word.text.starts_with('$')).then_some("a path that is only known when it runs")
}

fn find_delete(words: &[Word]) -> Option<String> {
    if !words.iter().any(|word| word.text == "-delete") {
        return None;
    }
    let start = words.iter().take_while(|word| !word.text.starts_with('-'));
    let wide = start.clone().any(|word| {
        !word.known || word.tilde || word.text.starts_with('/') || word.text.split('/').any(|part| part == "..")
    });
    const TESTS: [&str; 8] = ["-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-newer", "-mtime"];
    let chosen = words.iter().any(|word| TESTS.contains(&word.text.as_str()));
    (wide || !chosen).then(|| "find deletes a whole tree".to_owned())
}

fn open_up(words: &[Word]) -> Option<String> {
    let set_user = words.iter().any(|word| {
        let text = word.text.as_str();
        text.contains("+s") && !text.starts_with('/')
            || text.len() == 4 && text.starts_with(['2', '4', '6']) && text.bytes().all(|byte| byte.is_ascii_digit())
    });
    if set_user {
        return Some("lets a program run as its owner".to_owned());
    }
    let recursive = has_short(words, 'R') || has_long(words, "recursive", 1);
    let wide = operands(words)
        .skip(1)
        .any(|word| word.tilde || word.text.starts_with(['/', '$']) || word.text.split('/').any(|part| part == ".."));
    (recursive && wide).then(|| "changes the owner or the mode of a tree outside".to_owned())
}
