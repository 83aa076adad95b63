//! Shell commands, read with a real grammar: which programs a text would run, and what of it cannot be known.
//!
//! [`parse`] lists every simple command of a text, wherever it hides: behind operators, in subshells, functions,
//! substitutions, here-documents, `bash -c`, `env`, `sudo`, `xargs`, `find -exec`. The invariant: whatever is not
//! listed is named in [`Script::opaque`], and a script with an opaque part is never allowed by a rule. A text
//! that two readings could disagree about (the grammar's and this module's own of every word) is opaque.
//!
//! Limitation: what a listed program does by itself (`npm test`, `make`) is not looked at.

mod arguments;
mod arithmetic;
mod dangerous;
mod executors;
mod expand;
mod guess;
mod here_document;
mod read_only;
mod sed;
mod shells;
mod sources;
mod tree;
mod variables;
mod walk;
mod word;
mod wrappers;

pub use read_only::is_read_only;

pub(in crate::permission) use dangerous::{Surroundings, find_danger, git_without_globals};
pub(in crate::permission) use read_only::{command_is_read_only, redirection_is_read_only};
pub(in crate::permission) use variables::{changes_programs, is_harmless_in_environment};

use std::ops::Range;

/// Longest text that is read; a longer one is opaque.
pub const MAX_BYTES: usize = 64 * 1024;

/// Most commands that are listed; a text with more of them is opaque.
const MAX_COMMANDS: usize = 2_000;

/// How often a text may hold a text that holds a text ….
const MAX_NESTING: usize = 8;

/// What a text would run.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Every simple command that was seen, the outer before the inner.
    pub commands: Vec<SimpleCommand>,
    /// What could not be seen through.
    pub opaque: Vec<Opacity>,
    /// What the text might run if it is no shell text at all: only good for saying no.
    pub(in crate::permission) guesses: Vec<SimpleCommand>,
    /// The names of the functions it defines, with the commands of their bodies.
    functions: Vec<(String, Range<usize>)>,
    /// Facts about arithmetic, which evaluates texts.
    arithmetic: arithmetic::Facts,
}

/// Something that could not be seen through.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Opacity {
    /// What and why.
    pub reason: String,
    /// How bad that is.
    pub kind: OpacityKind,
}

/// How bad it is that something cannot be seen through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OpacityKind {
    /// Honest texts look like this, too.
    Unclear,
    /// A program is run in a way that hides it.
    Hidden,
}

/// One program with its arguments, or a builtin, or only assignments and redirections.
#[derive(Clone, Debug, Default)]
pub struct SimpleCommand {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// What is set before it.
    pub assignments: Vec<Assignment>,
    /// Where its input and output go.
    pub redirections: Vec<Redirection>,
    /// The programs it is run by, the outermost first: `sudo`, `xargs`, ….
    pub wrappers: Vec<String>,
    /// Does nothing but run commands that are listed, too.
    pub transparent: bool,
    /// The command it stands in, and how.
    pub parent: Option<(usize, Nesting)>,
    /// The commands whose output it reads.
    pub fed_by: Option<Range<usize>>,
}

/// How one command stands in another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Nesting {
    /// Its output becomes words.
    Substitution,
    /// Its output becomes a file.
    ProcessSubstitution,
    /// It is run by the other.
    Run,
}

/// One word, quotes and escapes taken away.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Word {
    /// The text; where something is expanded, as it is written.
    pub text: String,
    /// Nothing in it is expanded: the text is what the program gets.
    pub known: bool,
    /// File names may be put in its place.
    pub glob: bool,
    /// Starts with an unquoted tilde.
    pub tilde: bool,
}

/// A variable that is set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// What it is set to.
    pub value: Word,
    /// Programs see it.
    pub exported: bool,
}

/// A redirection of input or output.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Redirection {
    /// Which way.
    pub direction: Direction,
    /// The file, or the text of a here-document.
    pub target: Word,
}

/// Which way a redirection goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// From a file.
    Read,
    /// To a file, whether or not what it holds is kept.
    Write,
    /// To another descriptor.
    Duplicate,
    /// From a text in the script.
    Text,
}

/// Lists what a text would run.
pub fn parse(text: &str) -> Script {
    let mut script = Script::default();
    walk::read(text, &mut script, &walk::Place::default());
    arithmetic::judge(&mut script);
    script
}

/// Lists what a text would run when `shell` is given it.
pub(in crate::permission) fn parse_for(text: &str, shell: &str) -> Script {
    let name = shell.rsplit('/').next().unwrap_or_default();
    let mut script = parse(text);
    if !shells::SHELLS.contains(&name) {
        script.add_opaque(OpacityKind::Unclear, format!("commands for {name} are not understood"));
    }
    if shells::is_plain_shell(name) && sources::reads_otherwise_in_plain_shell(text) {
        script.add_opaque(OpacityKind::Unclear, format!("{name} may read the text otherwise than bash does"));
    }
    script
}

/// The one command a text consists of, if it is only that.
pub(in crate::permission) fn one_command(text: &str) -> Option<SimpleCommand> {
    let mut script = parse(text);
    let whole =
        script.guesses.is_empty() && script.commands.iter().filter(|command| command.parent.is_none()).count() == 1;
    let command = script.commands.drain(..).next().filter(|_| whole)?;
    (command.redirections.is_empty() && !command.words.is_empty()).then_some(command)
}

impl Script {
    /// A script of which nothing is known.
    pub(in crate::permission) fn unknown(reason: &str) -> Self {
        let mut script = Self::default();
        script.add_opaque(OpacityKind::Unclear, reason);
        script
    }

    /// Takes note of something that cannot be seen through.
    pub(in crate::permission) fn add_opaque(&mut self, kind: OpacityKind, reason: impl Into<String>) {
        let opacity = Opacity { reason: reason.into(), kind };
        if self.opaque.len() < 32 && !self.opaque.contains(&opacity) {
            self.opaque.push(opacity);
        }
    }

    /// The commands that stand in this one, at any depth, by a substitution.
    fn substituted_in(&self, index: usize) -> impl Iterator<Item = &SimpleCommand> {
        self.commands.iter().filter(move |command| {
            let mut current = command.parent;
            while let Some((parent, nesting)) = current {
                match nesting {
                    Nesting::Substitution | Nesting::ProcessSubstitution if parent == index => return true,
                    Nesting::Substitution | Nesting::ProcessSubstitution | Nesting::Run => {}
                }
                current = self.commands.get(parent).and_then(|parent| parent.parent);
            }
            false
        })
    }
}

impl SimpleCommand {
    /// The program's name without its directory, if it is known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first().filter(|word| word.is_plain())?;
        Some(word.text.rsplit('/').next().unwrap_or(&word.text))
    }

    /// The program's name, if it is one the system provides: a bare name, or in a directory of programs.
    pub fn system_program(&self) -> Option<&str> {
        const DIRECTORIES: [&str; 7] =
            ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];
        let word = self.words.first().filter(|word| word.is_plain())?;
        match word.text.rsplit_once('/') {
            None => Some(&word.text),
            Some((directory, name)) => DIRECTORIES.contains(&directory).then_some(name),
        }
    }

    /// The words after the program.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The words as one line, for people.
    pub fn line(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

impl Word {
    /// A word that is exactly this text.
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), known: true, glob: false, tilde: false }
    }

    /// Whether the program gets exactly this text.
    pub fn is_plain(&self) -> bool {
        self.known && !self.glob && !self.tilde
    }

    /// Whether it is an option, as far as can be seen.
    fn is_option(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }
}

#[cfg(test)]
mod tests;
