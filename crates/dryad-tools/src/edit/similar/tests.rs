//! Near matches: found, refused, or told.

use super::*;
use std::time::{Duration, Instant};

fn edit(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false, position: None }
}

fn found(text: &str, old: &str, new: &str) -> Vec<(String, String)> {
    let places = search(text, &edit(old, new), Some(0.95)).unwrap_or_default();
    places.into_iter().map(|place| (text.get(place.range).unwrap().to_owned(), place.replacement)).collect()
}

#[test]
fn a_shifted_indentation_is_found_and_kept() {
    let text = "mod a {\n    fn f() {\n        one();\n    }\n}\n";
    let expected =
        ("    fn f() {\n        one();\n    }\n".to_owned(), "    fn f() {\n        two();\n    }\n".to_owned());
    assert_eq!(found(text, "fn f() {\n    one();\n}\n", "fn f() {\n    two();\n}\n"), [expected]);
}

#[test]
fn a_slip_of_the_pen_in_a_long_line_is_forgiven() {
    let text = "let configuration = load_configuration(path_of_settings, defaults);\nother();\n";
    let old = "let configuration = load_configuration(path_of_setting, defaults);";
    assert_eq!(found(text, old, "new").len(), 1);
}

#[test]
fn different_text_is_not_accepted_but_told() {
    let text = "alpha\nbeta gamma delta\nomega\n";
    let closest = search(text, &edit("beta gamma epsilon\nomega", "x"), Some(0.95)).err().unwrap().unwrap();
    assert_eq!((closest.first_line, closest.count), (2, 2));
    assert!((0.6..0.95).contains(&closest.similarity), "{}", closest.similarity);
    let difference = (2, "beta gamma epsilon".to_owned(), "beta gamma delta".to_owned());
    assert_eq!(closest.difference, Some(difference));
    assert!(search(text, &edit("nothing alike at all", "x"), Some(0.95)).err().unwrap().is_none());
}

#[test]
fn two_windows_that_pass_are_both_told() {
    let text = "  call(one, two, three);\nx\n    call(one, two, three);\n";
    let passing = search(text, &edit("\tcall(one, two, three);", "y"), Some(0.95)).unwrap_or_default();
    assert_eq!(passing.len(), 2);
}

#[test]
fn without_a_threshold_nothing_is_accepted() {
    assert!(search("  a b c\n", &edit("\ta b c", "x"), None).is_err());
}

#[test]
fn a_large_file_is_searched_in_bounded_time() {
    let line = |number: usize| format!("    let value_{number} = compute(value_{}, {});\n", number / 3, number * 7);
    let text: String = (0..10_000).map(line).collect();
    let old: String =
        (4_000..4_060).map(|number| line(number).replace("    let", "  let").replace("compute", "computed")).collect();
    let begin = Instant::now();
    let result = search(&text, &edit(&old, "x"), Some(0.95));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    match result {
        Ok(places) => assert_eq!(places.len(), 1),
        Err(closest) => assert_eq!(closest.unwrap().first_line, 4_001),
    }
}
