//! Languages that people ask for and that have no grammar here: for each a name, so that they can be told.
//!
//! C# is the largest grammar that still fits; Kotlin, Scala and Swift would take the installed program over
//! its bound. TOML is left out because its values cannot be names, so no pattern could leave one open.

use std::path::Path;

/// A language without a grammar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Absent {
    /// Its name.
    pub name: &'static str,
    /// The extensions of its files, without the dot.
    pub extensions: &'static [&'static str],
}

/// The languages without a grammar, by name.
#[rustfmt::skip]
pub const ABSENT: [Absent; 18] = [
    Absent { name: "Clojure", extensions: &["clj", "cljs", "cljc"] },
    Absent { name: "Dart", extensions: &["dart"] },
    Absent { name: "Elixir", extensions: &["ex", "exs"] },
    Absent { name: "Haskell", extensions: &["hs"] },
    Absent { name: "HCL", extensions: &["hcl", "tf", "tfvars"] },
    Absent { name: "Kotlin", extensions: &["kt", "kts", "ktm"] },
    Absent { name: "Markdown", extensions: &["md", "markdown"] },
    Absent { name: "Nix", extensions: &["nix"] },
    Absent { name: "Objective-C", extensions: &["m", "mm"] },
    Absent { name: "OCaml", extensions: &["ml", "mli"] },
    Absent { name: "Perl", extensions: &["pl", "pm"] },
    Absent { name: "R", extensions: &["r"] },
    Absent { name: "Scala", extensions: &["scala", "sc", "sbt"] },
    Absent { name: "Solidity", extensions: &["sol"] },
    Absent { name: "SQL", extensions: &["sql"] },
    Absent { name: "Swift", extensions: &["swift"] },
    Absent { name: "TOML", extensions: &["toml"] },
    Absent { name: "Zig", extensions: &["zig"] },
];

/// The name of such a language, in whatever case it was given.
pub(super) fn named(name: &str) -> Option<&'static str> {
    ABSENT.iter().map(|absent| absent.name).find(|absent| absent.eq_ignore_ascii_case(name.trim()))
}

/// The name of such a language that a file is written in.
pub fn of_path(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    let is_meant = |absent: &&Absent| absent.extensions.iter().any(|known| known.eq_ignore_ascii_case(extension));
    ABSENT.iter().find(is_meant).map(|absent| absent.name)
}
