//! Commands that only look.
//!
//! A program is listed when none of its options writes or runs anything, or with the check that finds those
//! options. Where long options may be cut short, a check names what is allowed, not what is forbidden.

mod git;

use super::arguments::{has_long, has_short, operands, options};
use super::{Direction, Redirection, Script, SimpleCommand, Word, sed, variables};

/// Programs that neither write nor run anything, whatever their arguments are.
const ALWAYS: [&str; 67] = [
    "ls",
    "pwd",
    "cat",
    "head",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "which",
    "echo",
    "true",
    "false",
    ":",
    "basename",
    "dirname",
    "whoami",
    "id",
    "groups",
    "uname",
    "arch",
    "nproc",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "cmp",
    "diff",
    "comm",
    "join",
    "paste",
    "fold",
    "fmt",
    "expand",
    "unexpand",
    "seq",
    "sleep",
    "stat",
    "du",
    "df",
    "readlink",
    "realpath",
    "type",
    "whereis",
    "od",
    "hexdump",
    "strings",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "sum",
    "printenv",
    "ps",
    "uptime",
    "free",
    "locale",
    "getconf",
    "tty",
    "expr",
    "jq",
    "column",
    "zcat",
];

/// Whether a script only looks: every command of it, and nothing of it is opaque.
pub fn is_read_only(script: &Script) -> bool {
    let changes_directory =
        script.commands.iter().any(|command| matches!(command.program(), Some("cd" | "pushd" | "popd")));
    script.opaque.is_empty()
        && !script.commands.is_empty()
        && script.commands.iter().all(|command| {
            // A repository's own configuration can make git run programs; only the one worked in is trusted.
            let foreign = changes_directory && command.program() == Some("git");
            !foreign && command_is_read_only(command)
        })
}

/// Whether a command only looks. What it runs is listed beside it.
pub(in crate::permission) fn command_is_read_only(command: &SimpleCommand) -> bool {
    let safe_variables = command.assignments.iter().all(|assignment| match assignment.exported {
        true => variables::is_harmless_in_environment(&assignment.name),
        false => !variables::changes_programs(&assignment.name),
    });
    if !safe_variables || !command.redirections.iter().all(redirection_is_read_only) {
        return false;
    }
    if command.words.is_empty() || command.transparent {
        return true;
    }
    command.system_program().is_some_and(|program| program_is_read_only(program, command.arguments()))
}

/// Whether a redirection leaves every file as it is.
pub(in crate::permission) fn redirection_is_read_only(redirection: &Redirection) -> bool {
    let target = &redirection.target;
    match redirection.direction {
        Direction::Duplicate | Direction::Text => true,
        Direction::Read => !target.text.starts_with("/dev/tcp") && !target.text.starts_with("/dev/udp"),
        Direction::Write => {
            target.is_plain()
                && matches!(target.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        }
    }
}

fn program_is_read_only(program: &str, words: &[Word]) -> bool {
    if ALWAYS.contains(&program) {
        return true;
    }
    let known = words.iter().all(|word| word.known);
    match program {
        "cd" | "pushd" | "popd" => known,
        "tail" => !has_short(words, 'f') && !has_short(words, 'F') && !has_long(words, "follow", 1),
        "test" | "[" => !words.iter().any(|word| matches!(word.text.as_str(), "-v" | "-R")),
        "printf" => words.first().is_some_and(|word| word.known && !word.text.starts_with("-v")),
        "command" => known && options(words).any(|option| matches!(option, "-v" | "-V")),
        "find" | "gfind" => known && find(words),
        "xargs" | "gxargs" => true,
        "git" => known && git::is_read_only(words),
        "rg" => known && rg(words),
        "fd" | "fdfind" => {
            known
                && !options(words).any(|option| {
                    option.starts_with("--exec") || !option.starts_with("--") && option.contains(['x', 'X'])
                })
        }
        "date" => known && date(words),
        "sort" => known && sort(words),
        "uniq" => known && operands(words).count() <= 1 && !words.iter().any(|word| word.glob),
        "file" => known && !options(words).any(|option| option.contains(['C', 'z', 'Z']) || option.starts_with("--")),
        "tree" => known && !options(words).any(|option| !option.starts_with("--") && option.contains(['o', 'R'])),
        "sed" | "gsed" => sed::only_prints(words),
        "hostname" => words.is_empty(),
        "env" => words.is_empty(),
        "export" | "declare" | "typeset" | "local" | "readonly" => declaration(program, words),
        "set" => known && options(words).all(|option| option.chars().all(|letter| "-euxo".contains(letter))),
        "unset" | "wait" | "read" | "let" => known && words.iter().all(names_no_element),
        "shift" | "break" | "continue" | "return" | "exit" => known,
        _ => false,
    }
}

fn find(words: &[Word]) -> bool {
    !words.iter().any(|word| {
        let text = word.text.as_str();
        matches!(text, "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir" | "-fls") || text.starts_with("-fprint")
    })
}

fn rg(words: &[Word]) -> bool {
    !options(words).any(|option| {
        option.starts_with("--pre")
            || option.starts_with("--hostname-bin")
            || option.starts_with("--search-zip")
            || !option.starts_with("--") && option.contains('z')
    })
}

/// Only what shows the time; anything else might set it.
fn date(words: &[Word]) -> bool {
    const LONG: [&str; 5] = ["--date", "--utc", "--universal", "--iso-8601", "--reference"];
    let mut value = false;
    words.iter().all(|word| {
        let text = word.text.as_str();
        if std::mem::take(&mut value) {
            return true;
        }
        value = matches!(text, "-d" | "--date" | "-r" | "-f" | "-v");
        let long = text.split('=').next().unwrap_or(text);
        text.starts_with('+')
            || matches!(text, "-d" | "-r" | "-u" | "-R" | "-f" | "-j" | "-v")
            || text.starts_with("-I")
            || text.starts_with("--rfc-")
            || LONG.contains(&long)
    })
}

/// Only options that neither write (`-o`) nor run anything (`--compress-program`).
fn sort(words: &[Word]) -> bool {
    const LONG: [&str; 15] = [
        "--reverse",
        "--numeric-sort",
        "--unique",
        "--human-numeric-sort",
        "--version-sort",
        "--general-numeric-sort",
        "--ignore-case",
        "--stable",
        "--check",
        "--key",
        "--field-separator",
        "--zero-terminated",
        "--month-sort",
        "--dictionary-order",
        "--ignore-leading-blanks",
    ];
    options(words).all(|option| match option.starts_with("--") {
        true => LONG.contains(&option.split('=').next().unwrap_or(option)),
        false => !option.contains(['o', 'T', 'S']) || option.starts_with("-k") || option.starts_with("-t"),
    })
}

/// The index of an element is calculated, and runs what stands in it: `a[$(touch x)]`.
fn names_no_element(word: &Word) -> bool {
    !word.text.contains(['[', '$', '`'])
}

fn declaration(program: &str, words: &[Word]) -> bool {
    // These calculate or expand values that are mere texts otherwise.
    let calculates = options(words).any(|option| option.contains(['a', 'A', 'i', 'n']));
    !calculates
        && words.iter().all(|word| {
            let name = word.text.split('=').next().unwrap_or_default();
            let exports = program == "export" || words.iter().any(|word| word.is_option() && word.text.contains('x'));
            let is_plain = !name.contains('[') && !["$(", "=(", "`"].iter().any(|run| word.text.contains(run));
            let is_harmless = is_plain && (!exports || variables::is_harmless_in_environment(name));
            word.known && (word.is_option() || is_harmless)
        })
}
