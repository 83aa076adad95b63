//! Models like to begin with `cd somewhere &&`. Taken as the directory to run in, a preview and a log
//! show where a command works instead of hiding it in the text.
//!
//! It is lifted only where the result is the same: the word means one existing directory whatever the
//! shell would make of it, and nothing after it runs outside that directory.

use crate::path;
use std::path::{Path, PathBuf};

/// The directory that a leading `cd … &&` names, and what comes after it.
pub(super) fn leading_cd<'a>(command: &'a str, workdir: &Path) -> Option<(PathBuf, &'a str)> {
    let blanks = [' ', '\t'];
    let after = command.trim_start().strip_prefix("cd")?;
    let (word, after) = word(after.strip_prefix(blanks)?.trim_start_matches(blanks))?;
    let rest = after.trim_start_matches(blanks).strip_prefix("&&")?.trim_start();
    if rest.is_empty() || rest.starts_with(['&', '|', ';']) || sends_to_background(rest) {
        return None;
    }
    let directory = match word {
        Word::Plain(text) if text.starts_with('~') => path::resolve(text, workdir),
        Word::Plain(text) | Word::Quoted(text) => workdir.join(text),
    };
    directory.is_dir().then_some((directory, rest))
}

enum Word<'a> {
    Plain(&'a str),
    Quoted(&'a str),
}

/// The first word, if the shell would take it as it stands, and what follows it.
fn word(text: &str) -> Option<(Word<'_>, &str)> {
    for quote in ['\'', '"'] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (inner, after) = quoted.split_once(quote)?;
            let expands = quote == '"' && inner.contains(['$', '`', '\\', '!']);
            let ends = after.starts_with([' ', '\t', '&']);
            return (!inner.is_empty() && !expands && ends && inner != "-").then_some((Word::Quoted(inner), after));
        }
    }
    let end = text.find([' ', '\t', '\n', '&'])?;
    let (word, after) = text.split_at_checked(end)?;
    let tilde = word.starts_with('~') && word != "~" && !word.starts_with("~/");
    (!word.is_empty() && !word.starts_with('-') && !tilde && !word.contains(is_special))
        .then_some((Word::Plain(word), after))
}

fn is_special(character: char) -> bool {
    "$`\\!'\"*?[]{}()<>|;#=".contains(character)
}

/// Whether a lone `&` may end a part: only that part would have been run in the directory. One inside
/// quotes counts too; then the command is simply left as it is.
fn sends_to_background(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'&').any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after = bytes.get(at + 1);
        let doubled = before == Some(&b'&') || after == Some(&b'&');
        // `2>&1`, `&>file`, `<&3`.
        let redirects = matches!(before, Some(b'>' | b'<')) || after == Some(&b'>');
        !doubled && !redirects
    })
}
