//! Gives a replacement the indentation of the text it replaces.
//!
//! Each quoted line shows how its indentation is written in the file; what a new line's indentation
//! shares with a known one is written the same way, and the rest in the file's own unit.

use std::collections::BTreeMap;

/// Columns a tab takes when indentations are compared.
const TAB: usize = 4;

/// The columns before a line's first visible character.
pub(super) fn width(line: &str) -> usize {
    indentation(line).chars().map(|character| if character == '\t' { TAB } else { 1 }).sum()
}

/// The replacement `new`, indented for the lines `actual` where it was written for the quotation `old`.
pub(super) fn adapt(new: &str, old: &str, actual: &[&str]) -> String {
    let quoted: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (quoted, actual) in quoted.iter().zip(actual) {
        if !quoted.trim().is_empty() && !actual.trim().is_empty() {
            known.entry(indentation(quoted)).or_insert(indentation(actual));
        }
    }
    if known.iter().all(|(quoted, actual)| quoted == actual) {
        return new.to_owned();
    }
    let lines = new.split('\n').map(|line| match line.trim().is_empty() {
        true => line.to_owned(),
        false => {
            let indentation = indentation(line);
            format!("{}{}", in_file_style(indentation, &known), line.get(indentation.len()..).unwrap_or_default())
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn indentation(line: &str) -> &str {
    let end = line.find(|character: char| character != ' ' && character != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// How an indentation of the replacement is written in the file.
fn in_file_style(wanted: &str, known: &BTreeMap<&str, &str>) -> String {
    let deepest = known.iter().filter(|(quoted, _)| wanted.starts_with(*quoted)).max_by_key(|(quoted, _)| quoted.len());
    match deepest {
        Some((quoted, actual)) => {
            let rest = wanted.get(quoted.len()..).unwrap_or_default();
            format!("{actual}{}", converted(rest, known))
        }
        None => shallower(wanted, known),
    }
}

/// An indentation that no quoted line has: as many columns nearer to the margin as in the replacement.
fn shallower(wanted: &str, known: &BTreeMap<&str, &str>) -> String {
    let Some((quoted, actual)) = known.iter().min_by_key(|(quoted, _)| width(quoted)) else { return wanted.to_owned() };
    let less = width(quoted).saturating_sub(width(wanted));
    let mut left = actual.to_string();
    let columns = width(actual).saturating_sub(less);
    while width(&left) > columns && left.pop().is_some() {}
    left
}

/// Further indentation in the file's unit: tabs when the file indents by tabs, else as it is.
fn converted(rest: &str, known: &BTreeMap<&str, &str>) -> String {
    let file_has_tabs = known.values().any(|actual| actual.contains('\t'));
    let file_has_spaces = known.values().any(|actual| actual.contains(' '));
    if file_has_tabs && rest.chars().all(|character| character == ' ') {
        "\t".repeat(rest.len().div_ceil(step(known)))
    } else if file_has_spaces && !file_has_tabs && rest.contains('\t') {
        rest.replace('\t', &" ".repeat(TAB))
    } else {
        rest.to_owned()
    }
}

/// The spaces of one step in the quotation.
fn step(known: &BTreeMap<&str, &str>) -> usize {
    let mut widths: Vec<usize> = known.keys().map(|quoted| width(quoted)).collect();
    widths.sort_unstable();
    let steps = widths.windows(2).filter_map(|pair| pair.get(1)?.checked_sub(*pair.first()?));
    steps.chain(widths.first().copied()).filter(|&step| step > 0).min().unwrap_or(TAB).min(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_to_the_depth_of_the_file() {
        let actual = ["        if a {", "            b();", "        }"];
        let adapted = adapt("if a {\n    c();\n    if d {\n        e();\n    }\n}", "if a {\n    b();\n}", &actual);
        let expected =
            "        if a {\n            c();\n            if d {\n                e();\n            }\n        }";
        assert_eq!(adapted, expected);
    }

    #[test]
    fn writes_tabs_where_the_file_has_tabs() {
        let adapted = adapt("if a {\n  c();\n    d();\n}\n", "if a {\n  b();\n}\n", &["\tif a {", "\t\tb();", "\t}"]);
        assert_eq!(adapted, "\tif a {\n\t\tc();\n\t\t\td();\n\t}\n");
    }

    #[test]
    fn moves_out_when_the_file_is_shallower() {
        assert_eq!(adapt("    a\n  b", "    x", &["  x"]), "  a\nb");
        assert_eq!(adapt("keep\n  as is", "x", &["x"]), "keep\n  as is");
    }
}
