//! A tree of 6,000 source files with structure to search, the same on every machine.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Files in the tree.
const FILES: usize = 6_000;
/// Files in each directory.
const PER_DIRECTORY: usize = 50;
/// Every so many files, one holds the call that is searched for.
const NEEDLE_EVERY: usize = 500;
/// Written last: with it the tree is complete. Its name changes with the tree's form.
const COMPLETE: &str = ".complete-1";

const WORDS: [&str; 12] = [
    "account", "batch", "client", "document", "entry", "frame", "group", "handle", "index", "journal", "key", "ledger",
];

/// The tree under `parent`, made on first use.
pub(crate) fn ready(parent: &Path) -> Result<PathBuf> {
    let root = parent.join("syntax");
    if !root.join(COMPLETE).exists() {
        println!("bench: making a tree of {FILES} source files in {}", root.display());
        make(&root).with_context(|| format!("cannot make {}", root.display()))?;
    }
    Ok(root)
}

#[expect(clippy::disallowed_methods, reason = "benchmarks keep their files under target/")]
fn make(root: &Path) -> std::io::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for number in 0..FILES {
        let directory = root.join(format!("part{}", number / PER_DIRECTORY));
        if number.is_multiple_of(PER_DIRECTORY) {
            fs::create_dir_all(&directory)?;
        }
        fs::write(directory.join(format!("module{number}.ts")), file_text(number))?;
    }
    fs::write(root.join(COMPLETE), "")
}

/// A module of a class and some functions, drawn by a generator that starts from the file's number.
fn file_text(number: usize) -> String {
    let mut state = number as u64 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut text = format!("import {{ {}, {} }} from \"./{}\";\n\n", word(), word(), word());
    text.push_str(&format!("export class Module{number} {{\n  private readonly {}: string[] = [];\n\n", word()));
    for method in 0..6 {
        let (a, b, c) = (word(), word(), word());
        text.push_str(&format!(
            "  {a}{method}({b}: string, {c}?: () => number): number {{\n    const size = {b}.length + {method};\n    \
             if ({c} == null) {{\n      throw new Error(`no {c} for ${{{b}}}`);\n    }}\n    {c} && {c}();\n    \
             return this.{a}.map((item) => item.trim()).filter((item) => item !== {b}).length + size;\n  }}\n\n"
        ));
    }
    text.push_str("}\n");
    if number.is_multiple_of(NEEDLE_EVERY) {
        text.push_str(&format!("\nneedle({number}, \"{}\");\n", word()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_the_shape_that_is_searched_for_and_few_have_the_needle() {
        assert!((0..FILES).all(|number| file_text(number).matches(" == null) {").count() == 6));
        assert_eq!((0..FILES).filter(|number| file_text(*number).contains("needle(")).count(), FILES / NEEDLE_EVERY);
        assert_eq!(file_text(7), file_text(7));
    }
}
