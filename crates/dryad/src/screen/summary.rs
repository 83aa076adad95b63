//! A call in a few words: what it is about, not everything it says.

use serde_json::{Map, Value};

/// Longer summaries are cut.
const LONGEST: usize = 100;

/// What a call's arguments are about, on one line.
pub(crate) fn summary(arguments: &Map<String, Value>) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let path = text("path").or_else(|| text("file_path"));
    let about = if let Some(command) = text("command") {
        command.trim().to_owned()
    } else if let Some(pattern) = text("pattern") {
        path.map_or_else(|| pattern.to_owned(), |path| format!("{pattern} in {path}"))
    } else if let Some(path) = path {
        format!("{path}{}", range(arguments))
    } else if arguments.is_empty() {
        String::new()
    } else {
        Value::Object(arguments.clone()).to_string()
    };
    one_line(&about)
}

fn range(arguments: &Map<String, Value>) -> String {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(from), None) => format!(":{from}-"),
        (from, Some(count)) => {
            let from = from.unwrap_or(1).max(1);
            format!(":{from}-{}", from.saturating_add(count).saturating_sub(1))
        }
    }
}

fn one_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let is_cut = lines.next().is_some() || first.chars().count() > LONGEST;
    let mut line: String = first.chars().take(LONGEST).collect();
    if is_cut {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_of_call_has_its_words() {
        let check = |arguments: Value, expected: &str| {
            assert_eq!(summary(arguments.as_object().unwrap()), expected);
        };
        check(json!({"path": "src/main.rs"}), "src/main.rs");
        check(json!({"path": "a", "offset": 10, "limit": 41}), "a:10-50");
        check(json!({"path": "a", "offset": 10}), "a:10-");
        check(json!({"command": "cd x &&\nmake"}), "cd x &&…");
        check(json!({"pattern": "fn main", "path": "src"}), "fn main in src");
        check(json!({"todo": 1}), r#"{"todo":1}"#);
        check(json!({}), "");
        check(json!({"path": "ü".repeat(120)}), &format!("{}…", "ü".repeat(100)));
    }
}
