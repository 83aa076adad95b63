//! From the path a model wrote to a path on this machine.
//!
//! Models copy paths from screens and chats: with a leading `@`, with typographic spaces, as `~/x` or
//! as a `file://` address. [`resolve`] understands these and is used where something may be written;
//! [`resolve_existing`] also tries the spellings under which the file may lie on disk, and is used
//! where something must exist already.

use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization as _;

/// The path that `text` means, seen from `workdir`. It need not exist.
pub fn resolve(text: &str, workdir: &Path) -> PathBuf {
    let text = without_at(text, workdir);
    match text.strip_prefix("file://") {
        Some(address) => workdir.join(from_address(address)),
        None => workdir.join(expand_home(&plain_spaces(text))),
    }
}

/// The path that `text` means, in the spelling under which it exists; if in none, as [`resolve`] says.
pub fn resolve_existing(text: &str, workdir: &Path) -> PathBuf {
    let resolved = resolve(text, workdir);
    if exists(&resolved) {
        return resolved;
    }
    let verbatim = workdir.join(text);
    spellings(&resolved).chain([verbatim]).find(|path| exists(path)).unwrap_or(resolved)
}

/// A path for people and models: relative to `workdir` when it lies below it.
pub fn shown(path: &Path, workdir: &Path) -> String {
    match path.strip_prefix(workdir) {
        Ok(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
        Ok(relative) => relative.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn exists(path: &Path) -> bool {
    // Anything but "there is no such thing" counts: the reader then says what is wrong with it.
    path.symlink_metadata().is_ok()
}

/// Drops a leading `@`, unless a directory or file of that very name exists (`@types/node.ts`).
fn without_at<'a>(text: &'a str, workdir: &Path) -> &'a str {
    match text.strip_prefix('@') {
        Some(rest) if !rest.is_empty() => {
            let first = Path::new(text).components().next();
            if first.is_some_and(|name| exists(&workdir.join(name))) { text } else { rest }
        }
        _ => text,
    }
}

/// Maps every typographic space to a plain one.
fn plain_spaces(text: &str) -> String {
    text.chars().map(|character| if is_special_space(character) { ' ' } else { character }).collect()
}

/// Whether a character is a space that is not the plain one.
pub(crate) fn is_special_space(character: char) -> bool {
    matches!(character, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

fn expand_home(text: &str) -> PathBuf {
    let below = if text == "~" { Some("") } else { text.strip_prefix("~/") };
    match below.zip(std::env::home_dir()) {
        Some(("", home)) => home,
        Some((below, home)) => home.join(below),
        None => PathBuf::from(text),
    }
}

/// The path of a `file://` address: the host is dropped, percent escapes are undone.
fn from_address(address: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let path = match address.find('/') {
        Some(start) => address.get(start..).unwrap_or(address),
        None => address,
    };
    PathBuf::from(std::ffi::OsString::from_vec(percent_decoded(path.as_bytes())))
}

fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| (byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        let escape = digit(bytes.get(position + 1)).zip(digit(bytes.get(position + 2)));
        match escape {
            Some((high, low)) if byte == b'%' => {
                decoded.push((high * 16 + low) as u8);
                position += 3;
            }
            _ => {
                decoded.push(byte);
                position += 1;
            }
        }
    }
    decoded
}

/// Spellings under which file systems and screenshot programs store what a model writes plainly.
fn spellings(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let plain = path.to_str().map(str::to_owned);
    let made: [fn(&str) -> String; 5] = [
        narrow_space_before_half_day,
        |text| text.nfd().collect(),
        |text| text.replace('\'', "\u{2019}"),
        |text| text.nfd().collect::<String>().replace('\'', "\u{2019}"),
        |text| text.nfc().collect(),
    ];
    let other = plain.map(|plain| made.map(|spell| spell(&plain)).into_iter().filter(move |made| *made != plain));
    other.into_iter().flatten().map(PathBuf::from)
}

/// ` AM.` and ` PM.` with the narrow no-break space that macOS puts into screenshot names.
fn narrow_space_before_half_day(text: &str) -> String {
    let mut text = text.to_owned();
    for half in ["AM", "PM", "am", "pm"] {
        text = text.replace(&format!(" {half}."), &format!("\u{202f}{half}."));
    }
    text
}

#[cfg(test)]
mod tests;
