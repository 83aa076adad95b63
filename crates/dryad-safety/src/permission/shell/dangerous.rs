//! Dangerous commands: those a person should have seen in every mode.
//!
//! One file per family. Everything that is hidden on purpose is dangerous as well. A finding says what it is in
//! a few words; they are shown to people and kept in the operation log.

mod delete;
mod device;
mod download;
mod git;
mod infrastructure;
mod inline_code;
mod system;

pub(in crate::permission) use git::without_globals as git_without_globals;

use super::{Direction, OpacityKind, Script, SimpleCommand, Word};
use crate::permission::file::{dangerous_path, real_path};
use std::path::{Path, PathBuf};

/// Where a script would run.
pub(in crate::permission) struct Surroundings<'a> {
    /// The directory it starts in.
    pub(in crate::permission) workdir: &'a Path,
    /// The user's home directory.
    pub(in crate::permission) home: Option<&'a Path>,
}

/// What is dangerous about a script, if anything is.
pub(in crate::permission) fn find_danger(script: &Script, surroundings: &Surroundings<'_>) -> Option<String> {
    let hidden = script.opaque.iter().find(|opacity| match opacity.kind {
        OpacityKind::Hidden => true,
        OpacityKind::Unclear => false,
    });
    let bases = surroundings.bases(script);
    let in_script =
        || download::find(script).or_else(|| system::fork_bomb(script)).or_else(|| infrastructure::sql(script));
    let in_commands = || {
        let commands = script.commands.iter().chain(&script.guesses);
        commands.into_iter().find_map(|command| in_command(script, command, surroundings, &bases))
    };
    in_commands().or_else(in_script).or_else(|| hidden.map(|opacity| opacity.reason.clone()))
}

fn in_command(
    script: &Script,
    command: &SimpleCommand,
    surroundings: &Surroundings<'_>,
    bases: &[PathBuf],
) -> Option<String> {
    let written = written_paths(command);
    let path = written.iter().find_map(|word| surroundings.danger_of(word, bases));
    path.or_else(|| written.iter().find_map(|word| device::written(word)))
        .or_else(|| delete::find(script, command, bases))
        .or_else(|| device::find(command))
        .or_else(|| system::find(command))
        .or_else(|| git::find(command))
        .or_else(|| infrastructure::find(command))
        .or_else(|| inline_code::find(command))
}

/// The files a command writes, as far as its program is known.
fn written_paths(command: &SimpleCommand) -> Vec<&Word> {
    let redirected = command.redirections.iter().filter(|redirection| match redirection.direction {
        Direction::Write => true,
        Direction::Read | Direction::Duplicate | Direction::Text => false,
    });
    let mut written: Vec<&Word> = redirected.map(|redirection| &redirection.target).collect();
    let operands = || command.arguments().iter().filter(|word| !word.is_option());
    match command.program() {
        Some(
            "tee" | "truncate" | "touch" | "rm" | "unlink" | "shred" | "chmod" | "chown" | "mv" | "rmdir" | "chattr",
        ) => {
            written.extend(operands());
        }
        Some("cp" | "install" | "ln" | "rsync" | "scp") => written.extend(operands().next_back()),
        Some("sed" | "gsed" | "perl")
            if command
                .arguments()
                .iter()
                .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place")) =>
        {
            written.extend(operands().skip(1));
        }
        Some("curl" | "wget") => {
            let after = command.arguments().windows(2).filter_map(|pair| match pair {
                [option, value] if matches!(option.text.as_str(), "-o" | "-O" | "--output" | "--output-document") => {
                    Some(value)
                }
                _ => None,
            });
            written.extend(after);
        }
        _ => {}
    }
    written
}

impl Surroundings<'_> {
    /// The directories relative paths may be meant in: the first one, and every one it changes to.
    fn bases(&self, script: &Script) -> Vec<PathBuf> {
        let mut bases = vec![self.workdir.to_owned()];
        for command in script.commands.iter().filter(|command| matches!(command.program(), Some("cd" | "pushd"))) {
            let target = command.arguments().iter().find(|word| !word.is_option());
            let next = match target {
                None => self.home.map(Path::to_owned),
                Some(word) => bases.last().and_then(|last| self.path_of(word, last)),
            };
            bases.extend(next);
        }
        bases
    }

    /// The path a word means, if it is known.
    pub(in crate::permission) fn path_of(&self, word: &Word, base: &Path) -> Option<PathBuf> {
        let home_variable = ["$HOME", "${HOME}"].iter().find_map(|name| word.text.strip_prefix(name));
        let below_home = match word.tilde {
            true => word.text.strip_prefix('~'),
            false => home_variable.filter(|rest| !rest.contains('$')),
        };
        match below_home {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Some(self.home?.join(rest.trim_start_matches('/')))
            }
            Some(_) => None,
            None => word.known.then(|| base.join(&word.text)),
        }
    }

    /// What is dangerous about writing there.
    fn danger_of(&self, word: &Word, bases: &[PathBuf]) -> Option<String> {
        bases.iter().find_map(|base| {
            let path = self.path_of(word, base)?;
            let real = real_path::resolve(&path).unwrap_or_else(|_| path.clone());
            let kind = dangerous_path(&path, self.home).or_else(|| dangerous_path(&real, self.home))?;
            Some(format!("writes to {kind}: {}", word.text))
        })
    }
}
