//! Programs that run other programs when an option says so.
//!
//! What is found here is hidden: no rule allows it, and it counts as dangerous. An argument that is not known
//! might be such an option, so for these programs it is opaque as well.

use super::arguments::{has_long, has_short, options, value_of};
use super::expand::Expansion;
use super::{Word, sed};

/// Programs that take an option to run another one.
const INSPECTED: [&str; 34] = [
    "git", "tar", "gtar", "bsdtar", "rsync", "ssh", "scp", "sftp", "sort", "gsort", "rg", "man", "zip", "sed", "gsed",
    "awk", "gawk", "mawk", "nawk", "vim", "vi", "nvim", "ex", "ed", "emacs", "tcpdump", "less", "more", "fd", "fdfind",
    "go", "npm", "cargo", "make",
];

/// Programs in whose text `system` and pipes run commands.
const AWKS: [&str; 4] = ["awk", "gawk", "mawk", "nawk"];

/// Looks for programs that options run.
pub(super) fn expand(expansion: &mut Expansion<'_>) {
    let program = expansion.program.to_owned();
    if !INSPECTED.contains(&program.as_str()) && !matches!(program.as_str(), "sqlite3" | "psql" | "mysql") {
        return;
    }
    let words = expansion.arguments().to_vec();
    if words.iter().any(|word| !word.known) && !matches!(program.as_str(), "cargo" | "npm" | "make" | "go") {
        let quoted_only = program == "git" && git_value_is_unknown(&words);
        if !quoted_only {
            expansion.unclear(format!("an argument of {program} is only known when it runs"));
        }
    }
    if program == "git" {
        git(&words, expansion);
    }
    if matches!(program.as_str(), "fd" | "fdfind") {
        fd(&words, expansion);
    }
    if let Some(reason) = executes(&program, &words) {
        expansion.hidden(format!("{program} {reason}"));
    }
}

/// Whether the words that are not known are only values of harmless options: a commit's message.
fn git_value_is_unknown(words: &[Word]) -> bool {
    let is_commit = words.first().is_some_and(|word| matches!(word.text.as_str(), "commit" | "tag"));
    let mut previous = "";
    is_commit
        && words.iter().all(|word| {
            let value = matches!(previous, "-m" | "-am" | "--message");
            previous = word.text.as_str();
            word.known || value
        })
}

fn executes(program: &str, words: &[Word]) -> Option<String> {
    let long = |name: &str, least: usize| has_long(words, name, least).then(|| format!("--{name} runs a program"));
    match program {
        "tar" | "gtar" | "bsdtar" => tar(words),
        "rsync" => rsync(words),
        "ssh" | "scp" | "sftp" => ssh(words),
        "sort" | "gsort" => long("compress-program", 3),
        "rg" => long("pre", 3).or_else(|| long("hostname-bin", 8)),
        "man" => long("pager", 2)
            .or_else(|| long("html", 2))
            .or_else(|| has_short(words, 'P').then(|| "-P runs a program".to_owned())),
        "zip" => words.iter().any(|word| word.text.starts_with("-TT")).then(|| "-TT runs a program".to_owned()),
        "sed" | "gsed" => sed::runs_programs(words).then(|| "runs programs (e)".to_owned()),
        _ if AWKS.contains(&program) => awk(words),
        "vim" | "vi" | "nvim" | "ex" | "ed" | "emacs" => {
            let code = words.iter().any(|word| word.text.contains(['!', '(']) || word.text.contains("system"));
            code.then(|| "runs commands".to_owned())
        }
        "tcpdump" => has_short(words, 'z').then(|| "-z runs a program".to_owned()),
        "less" | "more" => words.iter().any(|word| word.text.starts_with("+!")).then(|| "+! runs a program".to_owned()),
        "go" => ["-exec", "-toolexec"]
            .iter()
            .find_map(|name| value_of(words, &[name]).map(|_| format!("{name} runs a program"))),
        "cargo" => {
            words.iter().any(|word| word.text.starts_with("--config")).then(|| "--config can name a program".to_owned())
        }
        "npm" => long("script-shell", 8),
        "make" => words
            .iter()
            .any(|word| word.text.starts_with("SHELL=") || word.text.starts_with("--eval"))
            .then(|| "runs another shell".to_owned()),
        "sqlite3" => words
            .iter()
            .any(|word| word.text.contains(".shell") || word.text.contains(".system"))
            .then(|| "runs a shell".to_owned()),
        "psql" | "mysql" => words
            .iter()
            .any(|word| word.text.contains("\\!") || word.text.starts_with("system "))
            .then(|| "runs a shell".to_owned()),
        _ => None,
    }
}

fn tar(words: &[Word]) -> Option<String> {
    const COMPRESSORS: [&str; 9] = ["gzip", "pigz", "bzip2", "pbzip2", "xz", "zstd", "zstdmt", "lz4", "lzip"];
    let named = ["to-command", "checkpoint-action", "rmt-command", "rsh-command", "info-script", "new-volume-script"];
    if let Some(name) = named.iter().find(|name| has_long(words, name, 4)) {
        return Some(format!("--{name} runs a program"));
    }
    let compressor =
        value_of(words, &["-I", "--use-compress-program", "--use-compress-prog", "--use-compress", "--use"]);
    let unusual = compressor.filter(|name| !COMPRESSORS.contains(&name.split(' ').next().unwrap_or_default()));
    unusual.map(|name| format!("runs {name}")).or_else(|| {
        let script = options(words).any(|option| option.starts_with("-F"));
        script.then(|| "-F runs a program".to_owned())
    })
}

fn rsync(words: &[Word]) -> Option<String> {
    let has_e = options(words).any(|option| !option.starts_with("--") && option.contains('e'));
    let shell = value_of(words, &["-e", "--rsh"]).or_else(|| {
        let at = words
            .iter()
            .position(|word| !word.text.starts_with("--") && word.is_option() && word.text.ends_with('e'))?;
        words.get(at + 1).map(|word| word.text.as_str())
    });
    match shell {
        Some(shell) => {
            let mut parts = shell.split_whitespace();
            let plain =
                parts.next() == Some("ssh") && parts.all(|part| !part.contains("ommand") && !part.contains('='));
            (!plain).then(|| format!("-e runs {shell}"))
        }
        None if has_e => Some("-e runs a program".to_owned()),
        None => has_long(words, "rsync-path", 3).then(|| "--rsync-path runs a program".to_owned()),
    }
}

fn ssh(words: &[Word]) -> Option<String> {
    const RUNNING: [&str; 5] =
        ["proxycommand", "localcommand", "knownhostscommand", "pkcs11provider", "securitykeyprovider"];
    let lower: Vec<String> = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
    let option = RUNNING
        .iter()
        .find(|name| lower.iter().any(|word| word.trim_start_matches("-o").trim_start().starts_with(*name)));
    option.map(|name| format!("option {name} runs a program")).or_else(|| {
        words
            .iter()
            .take_while(|word| word.is_option())
            .any(|word| word.text == "-F")
            .then(|| "-F reads options from a file".to_owned())
    })
}

fn awk(words: &[Word]) -> Option<String> {
    let running = |text: &str| {
        text.contains("system")
            || text.contains("getline")
            || text.contains('|') && !text.contains("||")
            || text.contains("@load")
    };
    words.iter().any(|word| running(&word.text)).then(|| "text runs programs".to_owned())
}

fn fd(words: &[Word], expansion: &mut Expansion<'_>) {
    let at = words.iter().position(|word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    let inner = at.and_then(|at| words.get(at + 1..)).unwrap_or_default().to_vec();
    let attached = options(words).any(|option| {
        option.starts_with("--exec=")
            || option.starts_with("--exec-batch=")
            || !option.starts_with("--") && option.len() > 2 && option.contains(['x', 'X'])
    });
    if attached {
        expansion.hidden("fd runs a program");
    }
    expansion.run_words(
        inner.into_iter().map(|word| Word { known: word.known && !word.text.contains('{'), ..word }).collect(),
    );
}

/// Keys of git's configuration that name no program.
const HARMLESS_GIT_KEYS: [&str; 10] = [
    "user.name",
    "user.email",
    "color.ui",
    "color.status",
    "color.diff",
    "core.quotepath",
    "core.autocrlf",
    "commit.gpgsign",
    "advice.detachedhead",
    "init.defaultbranch",
];

fn git(words: &[Word], expansion: &mut Expansion<'_>) {
    let mut position = 0;
    while let Some(word) = words.get(position).filter(|word| word.is_option()) {
        let text = word.text.as_str();
        let next = words.get(position + 1).map_or("", |next| next.text.as_str());
        match text {
            "-c" | "--config-env" => {
                let key = next.split('=').next().unwrap_or_default().to_ascii_lowercase();
                if text != "-c" || !HARMLESS_GIT_KEYS.contains(&key.as_str()) {
                    expansion.hidden(format!("git {text} {key} can name a program"));
                }
                position += 1;
            }
            "-C" => position += 1,
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                expansion.unclear(format!("git {text} works with another repository"));
                position += 1;
            }
            _ if text.starts_with("--exec-path=") || text.starts_with("--config-env=") => {
                expansion.hidden(format!("git {text} can name a program"));
            }
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {
                expansion.unclear(format!("git {text} works with another repository"));
            }
            _ => {}
        }
        position += 1;
    }
    git_command(words.get(position..).unwrap_or_default(), expansion);
}

fn git_command(words: &[Word], expansion: &mut Expansion<'_>) {
    let Some((command, rest)) = words.split_first() else { return };
    let packs = ["upload-pack", "receive-pack", "upload-archive"];
    if let Some(name) = packs.iter().find(|name| has_long(rest, name, 3)) {
        expansion.hidden(format!("git --{name} runs a program"));
    }
    if rest.iter().any(|word| word.text.starts_with("ext::") || word.text.starts_with("fd::")) {
        expansion.hidden("git uses a transport that runs a program");
    }
    let inner = match command.text.as_str() {
        "rebase" => value_of(rest, &["-x", "--exec"]).map(str::to_owned),
        "submodule" => {
            let at = rest.iter().position(|word| word.text == "foreach");
            at.map(|at| {
                rest.iter()
                    .skip(at + 1)
                    .filter(|word| !word.is_option())
                    .map(|word| word.text.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        }
        "bisect" if rest.first().is_some_and(|word| word.text == "run") => {
            expansion.run_words(rest.get(1..).unwrap_or_default().to_vec());
            None
        }
        _ => None,
    };
    if let Some(text) = inner {
        expansion.run_text(&text);
    }
    let hides = match command.text.as_str() {
        "grep" => has_short(rest, 'O') || has_long(rest, "open-files-in-pager", 3),
        "difftool" | "mergetool" => has_short(rest, 'x') || has_long(rest, "extcmd", 3),
        "archive" | "push" | "fetch-pack" | "send-pack" => has_long(rest, "exec", 3) || has_long(rest, "remote", 7),
        "clone" | "fetch" | "pull" | "ls-remote" => {
            command.text == "clone" && (has_short(rest, 'u') || has_short(rest, 'c') || has_long(rest, "config", 3))
        }
        "filter-branch" => true,
        "config" => rest.iter().any(|word| word.text.starts_with('!')),
        _ => false,
    };
    if hides {
        expansion.hidden(format!("git {} can run a program", command.text));
    }
}
