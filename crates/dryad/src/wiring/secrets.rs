//! What must never be shown: keys from everywhere, and what the environment calls secret.

use dryad_protocol::model::Model;
use dryad_provider::keys::Keys;
use dryad_provider::secret::{KeySource as _, secrets_in_headers};
use dryad_safety::mask::Mask;

/// Endings of the names of variables that hold secrets.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD"];

/// Covers every key at hand, the key and the headers of `model` even if a command prints them, and
/// every variable whose name says that it is secret.
pub(crate) async fn mask(keys: &Keys, model: &Model) -> Mask {
    let mut secrets: Vec<String> = keys.at_hand().iter().map(|secret| secret.expose().to_owned()).collect();
    // Errors come again, with words, when the request asks for the same.
    if let Ok(Some(key)) = keys.key(&model.provider).await {
        secrets.push(key.expose().to_owned());
    }
    if let Ok(headers) = keys.headers(model).await {
        secrets.extend(secrets_in_headers(headers.values()).iter().map(|secret| secret.expose().to_owned()));
    }
    secrets.extend(of_environment(
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    ));
    Mask::new(secrets)
}

/// The values of variables whose names say that they are secret. Paths are not: they would be
/// covered everywhere, and name where a secret lies, not the secret.
fn of_environment(variables: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = String> {
    let is_secret = |name: &str| SECRET_ENDINGS.iter().any(|ending| name.to_ascii_uppercase().ends_with(ending));
    variables
        .filter(move |(name, value)| is_secret(name) && !value.starts_with('/'))
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        let variables = [
            ("OPENAI_API_KEY", "one"),
            ("GH_TOKEN", "two"),
            ("aws_secret", "three"),
            ("PGPASSWORD", "four"),
            ("PATH", "five"),
            ("SSH_KEY", "/home/me/.ssh/id"),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(of_environment(variables).collect::<Vec<_>>(), ["one", "two", "three", "four"]);
    }
}
