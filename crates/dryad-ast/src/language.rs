//! The languages that can be searched and rewritten: names, aliases, file extensions.
//!
//! Twelve grammars; that of TypeScript comes in two dialects, because `<T>x` means a cast in one and
//! an element in the other. This list is the only source: a name that is not in it is refused
//! before any grammar is asked.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;

/// A language with a grammar.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Language {
    /// Bash, and what is near enough to it.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// CSS.
    Css,
    /// Go.
    Go,
    /// HTML.
    Html,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// JSON.
    Json,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

/// A name that no language has.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("unknown language: {name}; the languages are: {}", all_names())]
pub struct UnknownLanguage {
    /// The name as given.
    pub name: String,
}

impl Language {
    /// Every language, by name.
    pub const ALL: [Self; 13] = [
        Self::Bash,
        Self::C,
        Self::Cpp,
        Self::Css,
        Self::Go,
        Self::Html,
        Self::Java,
        Self::JavaScript,
        Self::Json,
        Self::Python,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
    ];

    /// The name used in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Css => "css",
            Self::Go => "go",
            Self::Html => "html",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::Json => "json",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
        }
    }

    /// Other names that are understood.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["sh", "shell"],
            Self::Cpp => &["c++", "cc", "cxx"],
            Self::Go => &["golang"],
            Self::JavaScript => &["js", "jsx"],
            Self::Python => &["py"],
            Self::Rust => &["rs"],
            Self::TypeScript => &["ts"],
            Self::C | Self::Css | Self::Html | Self::Java | Self::Json | Self::Tsx => &[],
        }
    }

    /// The file extensions that mean this language, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["sh", "bash", "zsh", "ksh", "bats"],
            Self::C => &["c", "h"],
            Self::Cpp => &["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "cu"],
            Self::Css => &["css"],
            Self::Go => &["go"],
            Self::Html => &["html", "htm", "xhtml"],
            Self::Java => &["java"],
            Self::JavaScript => &["js", "jsx", "mjs", "cjs"],
            Self::Json => &["json"],
            Self::Python => &["py", "pyi", "py3", "bzl"],
            Self::Rust => &["rs"],
            Self::TypeScript => &["ts", "mts", "cts"],
            Self::Tsx => &["tsx"],
        }
    }

    /// The language of a file, by its extension in any case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let known = |language: &Self| language.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension));
        Self::ALL.into_iter().find(known)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// Finds a language by its name or an alias, in any case and with white space around.
    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let name = text.trim();
        let named = |language: &Self| {
            std::iter::once(&language.name()).chain(language.aliases()).any(|known| known.eq_ignore_ascii_case(name))
        };
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownLanguage { name: name.to_owned() })
    }
}

fn all_names() -> String {
    Language::ALL.map(Language::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_language_is_found_by_every_name_it_has() {
        for language in Language::ALL {
            assert_eq!(language.name().parse(), Ok(language));
            assert_eq!(language.name().to_uppercase().parse(), Ok(language));
            for alias in language.aliases() {
                assert_eq!(alias.parse(), Ok(language), "{alias}");
            }
        }
        assert_eq!(" Rust ".parse(), Ok(Language::Rust));
    }

    #[test]
    fn no_name_and_no_extension_belongs_to_two_languages() {
        let names = Language::ALL.iter().flat_map(|language| [&[language.name()], language.aliases()].concat());
        let names: Vec<&str> = names.collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let extensions: Vec<_> = Language::ALL.iter().flat_map(|language| language.extensions()).collect();
        assert_eq!(extensions.iter().collect::<BTreeSet<_>>().len(), extensions.len());
    }

    #[test]
    fn the_list_is_complete_and_sorted_by_name() {
        let names = Language::ALL.map(Language::name);
        assert!(names.is_sorted());
        assert_eq!(BTreeSet::from(Language::ALL).len(), 13);
    }

    #[test]
    fn a_file_is_known_by_its_extension() {
        let of = |path: &str| Language::of_path(Path::new(path));
        assert_eq!(of("src/main.rs"), Some(Language::Rust));
        assert_eq!(of("a.b/Widget.TSX"), Some(Language::Tsx));
        assert_eq!(of("x.ts"), Some(Language::TypeScript));
        assert_eq!(of("vector.hpp"), Some(Language::Cpp));
        for path in ["Makefile", ".rs", "notes.txt", "rs", "a.rs.bak"] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        assert_eq!(
            "cobol".parse::<Language>().unwrap_err().to_string(),
            "unknown language: cobol; the languages are: bash, c, cpp, css, go, html, java, javascript, json, \
             python, rust, tsx, typescript"
        );
    }
}
