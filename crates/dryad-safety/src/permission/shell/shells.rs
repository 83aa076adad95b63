//! Shells and builtins that read shell text: `bash -c`, `eval`, `source`, `trap`, a shell at the end of a pipe.

use super::arguments::Options;
use super::expand::Expansion;
use super::{Direction, Word, sources, variables};

/// Shells this grammar is right for.
pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash"];

/// Shells with a grammar of their own.
const FOREIGN_SHELLS: [&str; 10] = ["fish", "csh", "tcsh", "nu", "pwsh", "powershell", "xonsh", "elvish", "rc", "osh"];

/// Expands shells and builtins; false if it is none.
pub(super) fn expand(expansion: &mut Expansion<'_>) -> bool {
    let program = expansion.program;
    match program {
        "eval" => eval(expansion),
        "source" | "." => source(expansion),
        "trap" => trap(expansion),
        "alias" | "unalias" | "hash" | "enable" | "bind" | "complete" | "compgen" | "fc" => {
            if !expansion.arguments().is_empty() {
                expansion.unclear(format!("{program} changes what words mean"));
            }
        }
        "set" | "shopt" => options_of_shell(expansion),
        "read" | "mapfile" | "readarray" | "getopts" | "printf" | "let" | "export" | "declare" | "typeset"
        | "local" | "readonly" | "unset" => names(expansion),
        _ if SHELLS.contains(&program) => shell(expansion),
        _ if FOREIGN_SHELLS.contains(&program) => {
            let words: Vec<String> = expansion.arguments().iter().map(|word| word.text.clone()).collect();
            if words.iter().any(|word| word.contains(' ')) {
                words.iter().filter(|word| word.contains(' ')).for_each(|text| expansion.run_text(text));
            }
            expansion.unclear(format!("commands for {program} are not understood"));
        }
        _ => return false,
    }
    true
}

fn shell(expansion: &mut Expansion<'_>) {
    const OPTIONS: Options = Options { short: "oO", long: &["rcfile", "init-file"] };
    let words = expansion.arguments().to_vec();
    let program = expansion.program.to_owned();
    let Some(start) = OPTIONS.skip(&words) else {
        let given = words.iter().take_while(|word| word.known);
        let reads_text = given.clone().any(|word| word.is_option() && word.text.contains('c'));
        let substituted = words.iter().any(|word| word.text.contains("<(") || word.text.contains("$("));
        match substituted || reads_text {
            true => expansion.hidden(format!("what {program} runs is only known when it runs")),
            false => expansion.unclear(format!("what {program} runs is only known when it runs")),
        }
        return;
    };
    let cluster = |word: &&Word| word.is_option() && !word.text.starts_with("--");
    let given = words.get(..start).unwrap_or_default();
    let reads_text = given.iter().filter(cluster).any(|word| word.text.contains('c'));
    let reads_input = given.iter().filter(cluster).any(|word| word.text.contains('s'));
    if given.iter().any(|word| word.text.starts_with("--rc") || word.text.starts_with("--init") || word.text == "-i") {
        expansion.unclear(format!("{program} reads a start-up file"));
    }
    match words.get(start) {
        Some(text) if reads_text && text.known => {
            let text = text.text.clone();
            run(&text, expansion);
        }
        Some(text) if reads_text || !text.known => {
            expansion.hidden(format!("{program} runs a text that is only known when it runs: {}", text.text));
        }
        Some(_) if !reads_input => {}
        Some(_) | None => input(expansion),
    }
}

/// A shell runs a text that is known.
fn run(text: &str, expansion: &mut Expansion<'_>) {
    let program = expansion.program.to_owned();
    if is_plain_shell(&program) && sources::reads_otherwise_in_plain_shell(text) {
        expansion.unclear(format!("{program} may read the text otherwise than bash does"));
    }
    expansion.set_transparent();
    expansion.run_text(text);
}

/// Whether a shell knows only what every shell knows.
pub(super) fn is_plain_shell(program: &str) -> bool {
    matches!(program, "sh" | "dash" | "ash")
}

/// A shell that reads its commands from its input.
fn input(expansion: &mut Expansion<'_>) {
    let program = expansion.program.to_owned();
    let redirection = expansion.command.redirections.iter().rev().find(|redirection| match redirection.direction {
        Direction::Text | Direction::Read => true,
        Direction::Write | Direction::Duplicate => false,
    });
    if let Some(redirection) = redirection.cloned() {
        let target = redirection.target;
        match redirection.direction {
            Direction::Text if target.known => run(&target.text, expansion),
            Direction::Text => {
                expansion.run_text(&target.text);
                expansion.hidden(format!("{program} runs a text that is only known when it runs"));
            }
            Direction::Read if target.known => expansion.unclear(format!("{program} runs what is in {}", target.text)),
            Direction::Read | Direction::Write | Direction::Duplicate => {
                expansion.hidden(format!("{program} runs a text that is only known when it runs"));
            }
        }
        return;
    }
    match expansion.command.fed_by.clone() {
        Some(feeders) => match printed(expansion, feeders) {
            Some(text) => run(&text, expansion),
            None => expansion.hidden(format!("{program} runs what another program prints")),
        },
        None => expansion.unclear(format!("{program} reads commands from its input")),
    }
}

/// What is printed, if it is one `echo` or `printf` of a known text.
fn printed(expansion: &Expansion<'_>, feeders: std::ops::Range<usize>) -> Option<String> {
    let [feeder] = expansion.script.commands.get(feeders)? else { return None };
    let words: Vec<&Word> = feeder.arguments().iter().collect();
    let plain = words.iter().all(|word| word.is_plain() && !word.text.contains('\\') && !word.is_option());
    let program = feeder.program()?;
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    match program {
        "echo" if plain => Some(texts.join(" ")),
        "printf" if plain && texts.len() == 1 && !texts.concat().contains('%') => Some(texts.concat()),
        "printf" if plain && texts.len() == 2 && texts.first() == Some(&"%s") => {
            texts.get(1).map(|&text| text.to_owned())
        }
        _ => None,
    }
}

fn eval(expansion: &mut Expansion<'_>) {
    let words = expansion.arguments().to_vec();
    if words.iter().all(Word::is_plain) {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        expansion.set_transparent();
        expansion.run_text(&text.join(" "));
    } else {
        expansion.hidden("eval runs a text that is only known when it runs");
    }
}

fn source(expansion: &mut Expansion<'_>) {
    match expansion.arguments().first() {
        Some(word) if !word.known && word.text.contains('(') => {
            expansion.hidden("source runs what another program prints");
        }
        Some(word) if word.is_plain() && word.text != "/dev/stdin" => {}
        Some(_) | None => expansion.unclear("which file source runs is only known when it runs"),
    }
}

fn trap(expansion: &mut Expansion<'_>) {
    let words = expansion.arguments().to_vec();
    match words.iter().find(|word| !word.is_option()) {
        Some(word) if word.is_plain() && words.len() > 1 => {
            expansion.set_transparent();
            let text = word.text.clone();
            expansion.run_text(&text);
        }
        Some(word) if !word.known => expansion.hidden("trap runs a text that is only known when it runs"),
        Some(_) | None => {}
    }
}

/// `set` and `shopt`, as far as they change what words mean.
fn options_of_shell(expansion: &mut Expansion<'_>) {
    const CHANGING: [&str; 5] = ["expand_aliases", "allexport", "keyword", "posix", "lastpipe"];
    let program = expansion.program.to_owned();
    let changing = expansion.arguments().iter().any(|word| {
        let cluster = program == "set" && word.is_option() && !word.text.starts_with("--");
        !word.known || CHANGING.contains(&word.text.as_str()) || cluster && word.text.contains(['a', 'k'])
    });
    if changing {
        expansion.unclear(format!("{program} changes what words mean"));
    }
}

/// Builtins that set the variables they name.
fn names(expansion: &mut Expansion<'_>) {
    let program = expansion.program.to_owned();
    let words = expansion.arguments().to_vec();
    let declares = matches!(program.as_str(), "export" | "declare" | "typeset" | "local" | "readonly");
    let evaluates = match program.as_str() {
        "let" => true,
        "declare" | "typeset" | "local" => words.iter().any(|word| word.is_option() && word.text.contains(['i', 'n'])),
        _ => words.iter().any(|word| word.text.contains('[') && program != "printf"),
    };
    expansion.script.arithmetic.evaluates |= evaluates;
    expansion.script.arithmetic.from_outside |= matches!(program.as_str(), "read" | "mapfile" | "readarray");
    match program.as_str() {
        "printf" if !words.iter().any(|word| word.text.starts_with("-v")) => return,
        "mapfile" | "readarray" if words.iter().any(|word| word.is_option() && word.text.contains('C')) => {
            expansion.unclear(format!("{program} -C runs a command"));
        }
        _ => {}
    }
    if declares && words.iter().any(|word| !word.known) {
        expansion.unclear(format!("what {program} sets is only known when it runs"));
    }
    for word in &words {
        let name = word.text.trim_start_matches("-v").split(['=', '[', '+']).next().unwrap_or_default();
        variables::judge_name(name, expansion.script);
    }
}
