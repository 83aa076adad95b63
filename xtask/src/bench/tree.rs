//! A tree of 50,000 small source files to search in, the same on every machine.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Directories in the tree.
const DIRECTORIES: usize = 500;
/// Files in each directory.
const FILES: usize = 100;
/// Every so many files, one holds the text that is searched for.
const NEEDLE_EVERY: usize = 1_000;
/// Every so many files, one has the name that is searched for.
const NAMED_EVERY: usize = 700;
/// Written last: with it the tree is complete. Its name changes with the tree's form.
const COMPLETE: &str = ".complete-1";

const WORDS: [&str; 16] = [
    "let", "fn", "return", "match", "value", "index", "buffer", "stream", "parse", "write", "token", "node", "span",
    "state", "error", "result",
];

/// The tree under `parent`, made on first use.
pub(crate) fn ready(parent: &Path) -> Result<PathBuf> {
    let root = parent.join("tree");
    if !root.join(COMPLETE).exists() {
        println!("bench: making a tree of {} files in {}", DIRECTORIES * FILES, root.display());
        make(&root).with_context(|| format!("cannot make {}", root.display()))?;
    }
    Ok(root)
}

#[expect(clippy::disallowed_methods, reason = "benchmarks keep their files under target/")]
fn make(root: &Path) -> std::io::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for directory in 0..DIRECTORIES {
        let path = root.join(format!("area{}/part{directory}", directory % 20));
        fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let number = directory * FILES + file;
            fs::write(path.join(file_name(number)), file_text(number))?;
        }
    }
    fs::write(root.join(".gitignore"), "*.log\n")?;
    fs::write(root.join(COMPLETE), "")
}

fn file_name(number: usize) -> String {
    match number {
        number if number.is_multiple_of(NAMED_EVERY) => format!("module{number}.special"),
        number if number.is_multiple_of(37) => format!("module{number}.log"),
        number => format!("module{number}.rs"),
    }
}

/// Lines of words, drawn by a generator that starts from the file's number.
fn file_text(number: usize) -> String {
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut text = String::new();
    for line in 0..40 {
        if line == 20 && number.is_multiple_of(NEEDLE_EVERY) {
            text.push_str(&format!("needle_{number}\n"));
        }
        let words: Vec<&str> = (0..6).map(|_| word()).collect();
        text.push_str(&words.join(" "));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_few_enough_hits_for_no_tool_to_stop_early() {
        let numbers = 0..DIRECTORIES * FILES;
        let named = numbers.clone().filter(|number| file_name(*number).ends_with(".special")).count();
        assert_eq!(named, 72);
        let holding = numbers.step_by(NEEDLE_EVERY).filter(|number| file_text(*number).contains("needle_")).count();
        assert_eq!(holding, 50);
        assert!(!file_text(1).contains("needle_"));
    }
}
