//! Programs that run the program named in their arguments.

use super::arguments::{Options, options, value_of};
use super::expand::Expansion;
use super::{Word, variables};

/// How to find the inner command of a wrapper.
struct Wrapper {
    name: &'static str,
    options: Options,
    /// Words before the inner command.
    leading: usize,
    /// `NAME=value` may stand before the inner command.
    assigns: bool,
    /// Does nothing by itself that needs a permission.
    transparent: bool,
}

const fn wrapper(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Wrapper {
    Wrapper { name, options: Options { short, long }, leading: 0, assigns: false, transparent: true }
}

const SUDO_LONG: &[&str] = &[
    "user",
    "group",
    "prompt",
    "chdir",
    "chroot",
    "host",
    "close-from",
    "type",
    "role",
    "other-user",
    "command-timeout",
];

/// The wrappers whose options are known.
const WRAPPERS: [Wrapper; 20] = [
    Wrapper { assigns: true, ..wrapper("env", "uCS", &["unset", "chdir", "split-string"]) },
    Wrapper { assigns: true, transparent: false, ..wrapper("sudo", "ugpCTrtDRhU", SUDO_LONG) },
    Wrapper { transparent: false, ..wrapper("doas", "uC", &[]) },
    wrapper("time", "fo", &["format", "output"]),
    wrapper("nohup", "", &[]),
    wrapper("nice", "n", &["adjustment"]),
    wrapper("ionice", "cnpPu", &["class", "classdata"]),
    Wrapper { leading: 1, ..wrapper("timeout", "sk", &["signal", "kill-after"]) },
    Wrapper { leading: 1, ..wrapper("gtimeout", "sk", &["signal", "kill-after"]) },
    wrapper("stdbuf", "ioe", &["input", "output", "error"]),
    wrapper("setsid", "", &[]),
    wrapper("command", "", &[]),
    wrapper("builtin", "", &[]),
    wrapper("exec", "a", &[]),
    wrapper("coproc", "", &[]),
    wrapper("chronic", "", &[]),
    wrapper("unbuffer", "", &[]),
    wrapper("caffeinate", "tw", &[]),
    wrapper("busybox", "", &[]),
    wrapper("toybox", "", &[]),
];

/// Programs that run another one, found by no simple rule: every word is taken as a possible start.
const RUNNERS: [&str; 33] = [
    "strace",
    "ltrace",
    "gdb",
    "lldb",
    "perf",
    "valgrind",
    "unshare",
    "nsenter",
    "chroot",
    "firejail",
    "proot",
    "bwrap",
    "fakeroot",
    "rlwrap",
    "entr",
    "taskset",
    "numactl",
    "chrt",
    "setpriv",
    "runuser",
    "setarch",
    "linux64",
    "systemd-run",
    "dbus-run-session",
    "xvfb-run",
    "ssh-agent",
    "flock",
    "parallel",
    "script",
    "su",
    "pkexec",
    "run0",
    "hyperfine",
];

/// Expands a wrapper; false if it is none.
pub(super) fn expand(expansion: &mut Expansion<'_>) -> bool {
    let program = expansion.program;
    match program {
        "find" | "gfind" => find(expansion),
        "xargs" | "gxargs" => xargs(expansion),
        "watch" => watch(expansion),
        _ if RUNNERS.contains(&program) => runner(expansion),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
            Some(wrapper) => wrapped(wrapper, expansion),
            None => return false,
        },
    }
    true
}

fn wrapped(wrapper: &Wrapper, expansion: &mut Expansion<'_>) {
    let words = expansion.arguments().to_vec();
    if wrapper.name == "command" && options(&words).any(|option| option.contains(['v', 'V'])) {
        return;
    }
    if wrapper.name == "env" && env_split(&words, expansion) {
        return;
    }
    let Some(start) = wrapper.options.skip(&words) else {
        expansion.unclear(format!("what {} runs is only known when it runs", wrapper.name));
        return;
    };
    let mut rest = words.get(start + wrapper.leading..).unwrap_or_default();
    while wrapper.assigns
        && let Some((word, after)) = rest.split_first()
        && let Some((name, _)) = word.text.split_once('=')
    {
        assign(name, wrapper, expansion);
        rest = after;
    }
    let writes_file = wrapper.name == "time" && value_of(&words, &["-o", "--output"]).is_some();
    let changes_user = wrapper.name == "env" && value_of(&words, &["-C", "--chdir"]).is_some();
    if wrapper.transparent && !writes_file && !changes_user && !rest.is_empty() {
        expansion.set_transparent();
    }
    match (wrapper.name, rest.is_empty()) {
        ("sudo", true) if options(&words).any(|option| option.contains(['s', 'i'])) => {
            expansion.unclear("sudo opens a shell");
        }
        _ => expansion.run_words(rest.to_vec()),
    }
}

/// A variable set by `env` or `sudo`: programs see it.
fn assign(name: &str, wrapper: &Wrapper, expansion: &mut Expansion<'_>) {
    variables::judge_name(name, expansion.script);
    if !variables::is_harmless_in_environment(name) {
        expansion.unclear(format!("{} sets {name} for a program", wrapper.name));
    }
}

/// `env -S 'words'`: one word that is cut into several.
fn env_split(words: &[Word], expansion: &mut Expansion<'_>) -> bool {
    let split = words.iter().take_while(|word| word.is_option()).any(|word| {
        word.text.starts_with("-S")
            || word.text.starts_with("--s")
            || !word.text.starts_with("--") && word.text.contains('S')
    });
    if !split {
        return false;
    }
    let text = value_of(words, &["-S", "--split-string", "-vS", "-iS"]);
    match text.filter(|text| words.iter().all(|word| word.known) && !text.contains(['\\', '$', '#'])) {
        Some(text) => {
            let after = words.iter().skip_while(|word| !word.text.contains(text)).skip(1);
            let line: Vec<&str> = std::iter::once(text).chain(after.map(|word| word.text.as_str())).collect();
            expansion.set_transparent();
            expansion.run_text(&format!("env {}", line.join(" ")));
        }
        None => expansion.hidden("env -S builds a command that is not understood"),
    }
    true
}

fn xargs(expansion: &mut Expansion<'_>) {
    const OPTIONS: Options = Options {
        short: "InPLdsEa",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
    };
    let words = expansion.arguments().to_vec();
    let Some(start) = OPTIONS.skip(&words) else {
        expansion.unclear("what xargs runs is only known when it runs");
        return;
    };
    let replaced = value_of(&words, &["-I", "--replace"])
        .or_else(|| words.iter().take(start).find(|word| word.text.starts_with("-i")).map(|_| "{}"));
    let mut inner: Vec<Word> = words.get(start..).unwrap_or_default().to_vec();
    expansion.set_transparent();
    if inner.is_empty() {
        return;
    }
    mark_replaced(&mut inner, replaced.unwrap_or("{}"));
    inner.push(Word { text: "…".to_owned(), ..Word::default() });
    expansion.run_words(inner);
}

/// Words that a placeholder stands in are not known.
fn mark_replaced(words: &mut [Word], placeholder: &str) {
    for word in words.iter_mut().filter(|word| !placeholder.is_empty() && word.text.contains(placeholder)) {
        word.known = false;
    }
}

fn find(expansion: &mut Expansion<'_>) {
    let words = expansion.arguments().to_vec();
    if words.iter().any(|word| !word.known) {
        // An expansion may hold -exec or -delete.
        expansion.unclear("an argument of find is only known when it runs");
    }
    let mut rest = words.as_slice();
    while let Some(at) =
        rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
    {
        let after = rest.get(at + 1..).unwrap_or_default();
        let end = after.iter().position(|word| word.text == ";" || word.text == "+").unwrap_or(after.len());
        let mut inner = after.get(..end).unwrap_or_default().to_vec();
        mark_replaced(&mut inner, "{}");
        expansion.run_words(inner);
        rest = after.get(end..).unwrap_or_default();
    }
}

fn watch(expansion: &mut Expansion<'_>) {
    const OPTIONS: Options = Options { short: "nq", long: &["interval", "equexit"] };
    let words = expansion.arguments().to_vec();
    match OPTIONS.skip(&words).and_then(|start| words.get(start..)) {
        Some(inner) if inner.iter().all(|word| word.known) => {
            let text: Vec<&str> = inner.iter().map(|word| word.text.as_str()).collect();
            expansion.set_transparent();
            expansion.run_text(&text.join(" "));
        }
        Some(_) | None => expansion.unclear("what watch runs is only known when it runs"),
    }
}

fn runner(expansion: &mut Expansion<'_>) {
    let words = expansion.arguments().to_vec();
    let program = expansion.program.to_owned();
    if words.iter().any(|word| !word.known) {
        expansion.unclear(format!("what {program} runs is only known when it runs"));
    }
    if let Some(text) = value_of(&words, &["-c", "--command"])
        .filter(|_| matches!(program.as_str(), "su" | "script" | "flock" | "runuser"))
    {
        let text = text.to_owned();
        expansion.run_text(&text);
    }
    for start in 0..words.len().min(8) {
        if let Some(inner) = words.get(start..).filter(|inner| !inner.first().is_some_and(Word::is_option)) {
            expansion.run_words(inner.to_vec());
        }
    }
}
