//! From the path a model wrote to one that exists.
//!
//! Models copy paths from screens and chats: with a leading `@`, with typographic spaces, as `~/x` or as a
//! `file://` address. Each spelling is tried, the one as given first.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What lies at the path that `text` means, seen from `workdir`; `.` parts are gone from it.
pub(super) fn existing(text: &str, workdir: &Path) -> Option<PathBuf> {
    let plain: Cow<'_, str> = match text.strip_prefix("file://") {
        Some(address) => address.into(),
        None => text.into(),
    };
    let spaced: String = plain.chars().map(|letter| if is_special_space(letter) { ' ' } else { letter }).collect();
    let without_at = |text: &str| text.strip_prefix('@').unwrap_or(text).to_owned();
    let spellings = [text.to_owned(), plain.to_string(), without_at(&plain), spaced.clone(), without_at(&spaced)];
    let paths = spellings.iter().map(|spelling| workdir.join(expand_home(spelling)));
    let tidied = paths.map(|path| path.components().collect::<PathBuf>());
    tidied.into_iter().find(|path| path.symlink_metadata().is_ok())
}

fn expand_home(text: &str) -> PathBuf {
    let below = if text == "~" { Some("") } else { text.strip_prefix("~/") };
    match below.zip(std::env::home_dir()) {
        Some((below, home)) => home.join(below),
        None => PathBuf::from(text),
    }
}

fn is_special_space(character: char) -> bool {
    matches!(character, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}
