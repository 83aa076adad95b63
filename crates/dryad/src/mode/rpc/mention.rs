//! Files that a prompt names with `@`: the model gets to see them without asking.
//!
//! Only words that name a file of the working directory count: a prompt may hold anything, mail addresses and
//! pasted text included. What is no text, or too long, is named and left to the tools.

use dryad_protocol::message::{MentionedFile, SkippedReason};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Longer files are not taken along.
const LONGEST: u64 = 256 * 1024;

/// No more files than this are taken along.
const MOST: usize = 16;

/// The files that a text names, in its order.
pub(super) fn mentioned(text: &str, workdir: &Path) -> Vec<MentionedFile> {
    if !text.contains('@') {
        return Vec::new();
    }
    let Ok(root) = workdir.canonicalize() else { return Vec::new() };
    let mut seen = HashSet::new();
    let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    names.filter(|name| seen.insert(*name)).filter_map(|name| file(name, &root)).take(MOST).collect()
}

/// The file of this name, or of this name without the punctuation behind it.
fn file(name: &str, root: &Path) -> Option<MentionedFile> {
    let bare = name.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '"', '\'']);
    [name, bare].into_iter().filter(|name| !name.is_empty()).find_map(|name| read(name, root))
}

fn read(name: &str, root: &Path) -> Option<MentionedFile> {
    let path = root.join(name).canonicalize().ok().filter(|path| path.starts_with(root))?;
    let size = path.metadata().ok().filter(fs::Metadata::is_file)?.len();
    let named = MentionedFile { path: name.to_owned(), byte_size: Some(size), ..MentionedFile::default() };
    if size > LONGEST {
        return Some(MentionedFile { skipped_reason: Some(SkippedReason::TooLarge), ..named });
    }
    let content = fs::read_to_string(&path).ok()?;
    Some(MentionedFile { line_count: Some(content.lines().count() as u64), content, ..named })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes the files that are named")]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_files_of_the_directory_count() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.txt"), "one\ntwo\n").unwrap();
        fs::write(root.join("long.txt"), "x".repeat(300_000)).unwrap();
        fs::write(root.join("binary"), [0xff, 0]).unwrap();
        fs::write(directory.path().join("secret"), "no").unwrap();
        let text = "look at @src/a.txt, and (@src/a.txt) @long.txt me@src/a.txt @binary @src @../secret @none @";
        let found = mentioned(text, &root);
        let names: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.content.len())).collect();
        assert_eq!(names, [("src/a.txt", 8), ("long.txt", 0)]);
        assert_eq!((found[0].line_count, found[0].byte_size, found[0].skipped_reason), (Some(2), Some(8), None));
        assert_eq!((found[1].byte_size, found[1].skipped_reason), (Some(300_000), Some(SkippedReason::TooLarge)));
        assert!(mentioned("nothing", &root).is_empty());
    }
}
