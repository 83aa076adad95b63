//! Commands that run commands: from the outer one to the inner ones.

use super::walk::{self, Place};
use super::{
    MAX_COMMANDS, MAX_NESTING, Nesting, OpacityKind, Script, SimpleCommand, Word, executors, shells, variables,
    wrappers,
};

/// Adds what the command `index` runs, and says what about it cannot be seen.
pub(super) fn expand(index: usize, script: &mut Script, nesting: usize) {
    let Some(command) = script.commands.get(index).cloned() else { return };
    for assignment in &command.assignments {
        variables::judge_name(&assignment.name, script);
    }
    let Some(first) = command.words.first() else { return };
    judge_words(&command, script);
    if !judge_first(first, script) {
        return;
    }
    let Some(program) = command.program().map(str::to_owned) else { return };
    let mut expansion = Expansion { index, command: &command, program: &program, script, nesting };
    if !wrappers::expand(&mut expansion) && !shells::expand(&mut expansion) {
        executors::expand(&mut expansion);
    }
}

/// One command that is being looked into.
pub(super) struct Expansion<'a> {
    index: usize,
    /// The command.
    pub(super) command: &'a SimpleCommand,
    /// Its program's name.
    pub(super) program: &'a str,
    /// Where the inner commands go.
    pub(super) script: &'a mut Script,
    nesting: usize,
}

impl Expansion<'_> {
    /// The words after the program.
    pub(super) fn arguments(&self) -> &[Word] {
        self.command.arguments()
    }

    /// The command does nothing but run what is added.
    pub(super) fn set_transparent(&mut self) {
        if let Some(command) = self.script.commands.get_mut(self.index) {
            command.transparent = true;
        }
    }

    /// It cannot be seen what is run, and honest commands look like this, too.
    pub(super) fn unclear(&mut self, reason: impl Into<String>) {
        self.script.add_opaque(OpacityKind::Unclear, reason);
    }

    /// It cannot be seen what is run, because it is hidden.
    pub(super) fn hidden(&mut self, reason: impl Into<String>) {
        self.script.add_opaque(OpacityKind::Hidden, reason);
    }

    /// The command runs these words.
    pub(super) fn run_words(&mut self, words: Vec<Word>) {
        if words.is_empty() {
            return;
        }
        if self.nesting >= MAX_NESTING || self.script.commands.len() >= MAX_COMMANDS {
            self.unclear("it is too long or too deeply nested to be read");
            return;
        }
        let inner = SimpleCommand {
            words,
            redirections: self.command.redirections.clone(),
            wrappers: self.wrappers(),
            parent: Some((self.index, Nesting::Run)),
            fed_by: self.command.fed_by.clone(),
            ..SimpleCommand::default()
        };
        self.script.commands.push(inner);
        expand(self.script.commands.len() - 1, self.script, self.nesting + 1);
    }

    /// The command runs this text as shell commands.
    pub(super) fn run_text(&mut self, text: &str) {
        let place =
            Place { parent: Some((self.index, Nesting::Run)), wrappers: self.wrappers(), nesting: self.nesting + 1 };
        walk::read(text, self.script, &place);
    }

    fn wrappers(&self) -> Vec<String> {
        let mut wrappers = self.command.wrappers.clone();
        wrappers.push(self.program.to_owned());
        wrappers
    }
}

/// Judges the word that names the program; false if nothing more can be said.
fn judge_first(first: &Word, script: &mut Script) -> bool {
    let text = &first.text;
    if !first.known {
        let plain = text.chars().all(|character| character.is_ascii_alphanumeric() || "$_/{}.-@*".contains(character));
        let kind = if plain && !text.contains("IFS") { OpacityKind::Unclear } else { OpacityKind::Hidden };
        script.add_opaque(kind, format!("which program {text} is, is only known when it runs"));
        return false;
    }
    if first.glob && text != "[" {
        script.add_opaque(OpacityKind::Hidden, format!("which program {text} is, depends on the files there"));
        return false;
    }
    if text.is_empty() || !text.is_ascii() || text.chars().any(char::is_control) {
        script.add_opaque(OpacityKind::Hidden, format!("{text:?} is no usual name of a program"));
        return false;
    }
    true
}

/// Judges dashes that are none.
fn judge_words(command: &SimpleCommand, script: &mut Script) {
    const DASHES: [char; 10] = [
        '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}', '\u{fe58}', '\u{fe63}',
        '\u{ff0d}',
    ];
    if let Some(word) = command.arguments().iter().find(|word| word.text.starts_with(DASHES)) {
        script.add_opaque(OpacityKind::Hidden, format!("{} looks like an option but is none", word.text));
    }
}
