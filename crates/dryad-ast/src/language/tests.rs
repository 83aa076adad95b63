//! Names and extensions: complete, unambiguous, and understood by the grammars.

use super::*;
use ast_grep_core::tree_sitter::LanguageExt as _;
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
    let names: Vec<&str> = names.chain(absent::ABSENT.iter().map(|absent| absent.name)).collect();
    let lower: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(lower.len(), names.len());
    let extensions = Language::ALL.iter().flat_map(|language| language.extensions());
    let extensions: Vec<_> = extensions.chain(absent::ABSENT.iter().flat_map(|absent| absent.extensions)).collect();
    assert_eq!(extensions.iter().collect::<BTreeSet<_>>().len(), extensions.len());
}

#[test]
fn the_list_is_complete_and_sorted_by_name() {
    let names = Language::ALL.map(Language::name);
    assert!(names.is_sorted());
    assert_eq!(BTreeSet::from(Language::ALL).len(), 18);
}

#[test]
fn every_grammar_is_built_in() {
    for language in Language::ALL {
        let document = Grammar::from(language).ast_grep("x");
        assert!(document.root().range().len() <= 1, "{language}");
    }
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
        "unknown language: cobol; the languages are: bash, c, cpp, csharp, css, go, html, java, javascript, json, \
         lua, php, python, ruby, rust, tsx, typescript, yaml"
    );
    let absent = "SWIFT".parse::<Language>().unwrap_err().to_string();
    assert!(absent.starts_with("no grammar of Swift is built in; the languages are: bash, "), "{absent}");
}
