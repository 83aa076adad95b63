//! The languages that can be searched and rewritten: names, aliases, file extensions.
//!
//! One grammar each; that of TypeScript comes in two dialects, because `<T>x` means a cast in one and
//! an element in the other. This list is the only source: a name that is not in it is refused before
//! any grammar is asked. Which grammars are built in is chosen in the root manifest; [`absent`] names
//! the ones that are not, so that a file of theirs gets an answer instead of silence.

pub mod absent;
mod grammar;
pub(crate) mod guard;

pub(crate) use grammar::Grammar;

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
    /// C#.
    CSharp,
    /// CSS.
    Css,
    /// Go.
    Go,
    /// HTML, with the scripts and styles in it.
    Html,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// JSON.
    Json,
    /// Lua.
    Lua,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
    /// YAML.
    Yaml,
}

/// A name that no language has.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}; the languages are: {}", unknown(name), all_names())]
pub struct UnknownLanguage {
    /// The name as given.
    pub name: String,
}

impl Language {
    /// Every language, by name.
    pub const ALL: [Self; 18] = [
        Self::Bash,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Css,
        Self::Go,
        Self::Html,
        Self::Java,
        Self::JavaScript,
        Self::Json,
        Self::Lua,
        Self::Php,
        Self::Python,
        Self::Ruby,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
        Self::Yaml,
    ];

    /// The name used in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CSharp => "csharp",
            Self::Css => "css",
            Self::Go => "go",
            Self::Html => "html",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::Json => "json",
            Self::Lua => "lua",
            Self::Php => "php",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Rust => "rust",
            Self::Tsx => "tsx",
            Self::TypeScript => "typescript",
            Self::Yaml => "yaml",
        }
    }

    /// Other names that are understood.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["sh", "shell"],
            Self::Cpp => &["c++", "cc", "cxx"],
            Self::CSharp => &["c#", "cs"],
            Self::Go => &["golang"],
            Self::JavaScript => &["js", "jsx"],
            Self::Python => &["py"],
            Self::Ruby => &["rb"],
            Self::Rust => &["rs"],
            Self::TypeScript => &["ts"],
            Self::Yaml => &["yml"],
            Self::C | Self::Css | Self::Html | Self::Java | Self::Json | Self::Lua | Self::Php | Self::Tsx => &[],
        }
    }

    /// The file extensions that mean this language, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["sh", "bash", "zsh", "ksh", "bats"],
            Self::C => &["c", "h"],
            Self::Cpp => &["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "cu", "ino"],
            Self::CSharp => &["cs"],
            Self::Css => &["css", "scss"],
            Self::Go => &["go"],
            Self::Html => &["html", "htm", "xhtml"],
            Self::Java => &["java"],
            Self::JavaScript => &["js", "jsx", "mjs", "cjs"],
            Self::Json => &["json"],
            Self::Lua => &["lua"],
            Self::Php => &["php"],
            Self::Python => &["py", "pyi", "py3", "bzl", "bazel"],
            Self::Ruby => &["rb", "rbw", "gemspec"],
            Self::Rust => &["rs"],
            Self::Tsx => &["tsx"],
            Self::TypeScript => &["ts", "mts", "cts"],
            Self::Yaml => &["yaml", "yml"],
        }
    }

    /// The language of a file, by its extension in any case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let known = |language: &Self| language.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension));
        Self::ALL.into_iter().find(known)
    }

    /// The languages that files of this one may hold parts of.
    pub(crate) fn embedded(self) -> &'static [Self] {
        match self {
            Self::Html => &[Self::Css, Self::JavaScript, Self::Tsx, Self::TypeScript],
            Self::Bash
            | Self::C
            | Self::Cpp
            | Self::CSharp
            | Self::Css
            | Self::Go
            | Self::Java
            | Self::JavaScript
            | Self::Json
            | Self::Lua
            | Self::Php
            | Self::Python
            | Self::Ruby
            | Self::Rust
            | Self::Tsx
            | Self::TypeScript
            | Self::Yaml => &[],
        }
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

fn unknown(name: &str) -> String {
    match absent::named(name) {
        Some(absent) => format!("no grammar of {absent} is built in"),
        None => format!("unknown language: {name}"),
    }
}

/// The names of all languages, for messages.
pub(crate) fn all_names() -> String {
    Language::ALL.map(Language::name).join(", ")
}

#[cfg(test)]
mod tests;
