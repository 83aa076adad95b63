//! What the terminal can show: colours only there, and only if nobody said no.

use std::borrow::Cow;
use std::io::IsTerminal;

/// Whether text may be coloured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    /// No colours.
    pub(crate) const PLAIN: Self = Self { colours: false };

    /// Colours.
    #[cfg(test)]
    pub(crate) const COLOURED: Self = Self { colours: true };

    /// Whether there are colours.
    pub(crate) fn has_colours(self) -> bool {
        self.colours
    }

    /// Colours if `stream` is a terminal, `NO_COLOR` is not set and `TERM` is not `dumb`.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let refused = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { colours: stream.is_terminal() && !refused() && !dumb() }
    }

    /// Bold.
    pub(crate) fn bold<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("1", text)
    }

    /// Less visible.
    pub(crate) fn dim<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("2", text)
    }

    /// Red.
    pub(crate) fn red<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("31", text)
    }

    /// Green.
    pub(crate) fn green<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("32", text)
    }

    /// Cyan.
    pub(crate) fn cyan<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("36", text)
    }

    /// Foreground and background exchanged.
    pub(crate) fn reverse<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("7", text)
    }

    fn paint<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m").into() } else { text.into() }
    }
}

/// The text without control characters that could move the cursor or recolour a terminal.
///
/// Line feeds and tabs stay. Tools and models print anything; a screen must not obey it.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |character: char| character.is_control() && character != '\n' && character != '\t';
    if text.contains(harmful) {
        text.chars().filter(|&character| !harmful(character)).collect::<String>().into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_others_do_not_reach_the_screen() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\n"), "a[2Jb\tc\n");
        assert!(matches!(harmless("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn a_file_gets_no_colours() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(Style::of(&file).red("x"), "x");
        assert_eq!(Style { colours: true }.red("x"), "\u{1b}[31mx\u{1b}[0m");
    }
}
