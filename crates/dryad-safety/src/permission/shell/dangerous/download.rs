//! Text from the network, or in disguise, that is run.

use crate::permission::shell::{Direction, Script, SimpleCommand};

/// Programs that fetch.
const FETCHERS: [&str; 12] =
    ["curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "ftp", "nc", "ncat", "socat"];

/// Programs that turn a disguised text into a plain one.
const DECODERS: [&str; 11] =
    ["base64", "base32", "basenc", "xxd", "openssl", "uudecode", "rev", "gunzip", "zcat", "tr", "gpg"];

/// Programs that run the text they are given.
const INTERPRETERS: [&str; 20] = [
    "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "eval", "source", ".", "python",
    "python3", "perl", "ruby", "node", "php", "lua",
];

/// Whether a fetched or disguised text is run.
pub(super) fn find(script: &Script) -> Option<String> {
    let commands = script.commands.iter().enumerate();
    commands.into_iter().find_map(|(index, command)| {
        let program = command.program()?;
        let runs = INTERPRETERS.contains(&program) || program.starts_with("python");
        if !runs {
            return None;
        }
        let piped = reads_input(command).then(|| command.fed_by.clone()).flatten();
        let piped = piped.and_then(|feeders| script.commands.get(feeders)).unwrap_or_default();
        piped.iter().chain(script.substituted_in(index)).find_map(|feeder| judge(feeder, program))
    })
}

/// Whether a program given these arguments takes its text from its input.
fn reads_input(command: &SimpleCommand) -> bool {
    let redirected = command.redirections.iter().any(|redirection| match redirection.direction {
        Direction::Read | Direction::Text => true,
        Direction::Write | Direction::Duplicate => false,
    });
    let operand = command.arguments().iter().find(|word| !word.is_option() || word.text == "-");
    !redirected && operand.is_none_or(|word| matches!(word.text.as_str(), "-" | "/dev/stdin"))
        || command.arguments().iter().any(|word| word.text == "-s")
}

fn judge(feeder: &SimpleCommand, program: &str) -> Option<String> {
    let source = feeder.program()?;
    if FETCHERS.contains(&source) {
        return Some(format!("{program} runs what {source} downloads"));
    }
    DECODERS.contains(&source).then(|| format!("{program} runs a text that {source} decodes"))
}
