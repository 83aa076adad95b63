//! Measures what a change costs, beside the same done by hand, and prints the figures as one JSON object.
//!
//! `changes DIR [PART]` works in a fresh directory below DIR, which should be on a disk; PART is one of `edit`,
//! `many`, `tree`, `log`. Rounds alternate, so that both sides see the same machine, and figures are medians:
//! milliseconds, bytes or counts. `cargo xtask bench` sets limits on their ratios.
#![expect(clippy::print_stdout, reason = "the figures are this program's output")]
#![expect(clippy::disallowed_methods, reason = "this program writes the trees that it measures")]

mod edit;
mod long_log;
mod many;
mod place;
mod tree;

use serde_json::{Map, Value};
use std::error::Error;
use std::path::Path;

/// What goes wrong here is told and ends the program.
type Outcome<T> = Result<T, Box<dyn Error>>;

/// The figures by name.
type Figures = Map<String, Value>;

/// One part: works in a directory and adds its figures.
type Part = fn(&Path, &mut Figures) -> Outcome<()>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (directory, part) = match words.as_slice() {
        [directory] => (directory, None),
        [directory, part] => (directory, Some(part.as_str())),
        _ => return Err("usage: changes DIR [edit|many|tree|log]".into()),
    };
    std::fs::create_dir_all(directory)?;
    let root = tempfile::Builder::new().prefix("changes-").tempdir_in(Path::new(directory).canonicalize()?)?;
    let mut figures = Figures::new();
    let parts: [(&str, Part); 4] =
        [("edit", edit::measure), ("many", many::measure), ("tree", tree::measure), ("log", long_log::measure)];
    for (name, measure) in parts.iter().filter(|(name, _)| part.is_none_or(|part| part == *name)) {
        let place = root.path().join(name);
        std::fs::create_dir(&place)?;
        measure(&place, &mut figures)?;
    }
    println!("{}", Value::Object(figures));
    Ok(())
}
