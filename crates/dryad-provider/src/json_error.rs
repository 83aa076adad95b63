//! JSON errors in words that can be shown: without the position, which messages tell themselves,
//! and without values, which may be secrets that stand in the wrong place.

/// What is wrong, without `at line … column …`.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(position.as_str()).unwrap_or(&text).to_owned()
}

/// What is wrong, with neither position nor the value that was found.
pub(crate) fn without_value(error: &serde_json::Error) -> String {
    let text = without_position(error);
    for kind in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = text.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected ")) {
            let found = found.split([' ', '`', '"']).next().unwrap_or_default();
            return format!("{kind}{found}, expected {expected}");
        }
    }
    match text.strip_prefix("unknown variant ").and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => format!("unknown value, expected {expected}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::model::Api;

    #[test]
    fn a_value_in_the_wrong_place_is_not_repeated() {
        let error = serde_json::from_str::<bool>(r#""sk-secret, expected more""#).unwrap_err();
        assert_eq!(without_value(&error), "invalid type: string, expected a boolean");
        let error = serde_json::from_str::<Api>(r#""sk-secret""#).unwrap_err();
        assert!(without_value(&error).starts_with("unknown value, expected one of `anthropic-messages`"));
        let error = serde_json::from_str::<u8>("700").unwrap_err();
        assert_eq!(without_value(&error), "invalid value: integer, expected u8");
        let error = serde_json::from_str::<u8>("[").unwrap_err();
        assert_eq!(without_value(&error), "invalid type: sequence, expected u8");
    }
}
