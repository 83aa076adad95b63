//! From a language to its grammar.
//!
//! The library's own list is longer than what is built in, and asking it for the rest is a panic: this
//! is the only place that names its languages, and it names those that are built in.

use super::Language;
pub(crate) use ast_grep_language::SupportLang as Grammar;

impl From<Language> for Grammar {
    fn from(language: Language) -> Self {
        match language {
            Language::Bash => Self::Bash,
            Language::C => Self::C,
            Language::Cpp => Self::Cpp,
            Language::CSharp => Self::CSharp,
            Language::Css => Self::Css,
            Language::Go => Self::Go,
            Language::Html => Self::Html,
            Language::Java => Self::Java,
            Language::JavaScript => Self::JavaScript,
            Language::Json => Self::Json,
            Language::Lua => Self::Lua,
            Language::Php => Self::Php,
            Language::Python => Self::Python,
            Language::Ruby => Self::Ruby,
            Language::Rust => Self::Rust,
            Language::Tsx => Self::Tsx,
            Language::TypeScript => Self::TypeScript,
            Language::Yaml => Self::Yaml,
        }
    }
}
