//! The words of a JSON error without its position, for messages that tell the position themselves.

/// What is wrong, without `at line … column …`.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(position.as_str()).unwrap_or(&text).to_owned()
}
