//! `auth.json`: keys that were stored, by provider.
//!
//! The shape is Pi's: `{"anthropic": {"type": "api_key", "key": "…"}}`; a plain string is a key, too.
//! What can be used is used; what is odd about the rest is told in [`AuthFile::notes`].

use super::ConfigValue;
use crate::json_error::without_value;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Stored keys.
#[derive(Clone, Debug, Default)]
pub struct AuthFile {
    keys: BTreeMap<String, ConfigValue>,
    notes: Vec<String>,
}

/// Why an `auth.json` cannot be used.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
pub enum AuthFileError {
    /// The file is there and cannot be read.
    #[error("cannot read {}: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The text is no JSON, or a value has the wrong type.
    #[error("{}:{line}:{column}: {key}: {problem}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The path of the key, like `anthropic.key`.
        key: String,
        /// What is wrong there, with the expected type.
        problem: String,
    },
}

/// One stored credential. Fields of kinds that are not supported are not read.
#[derive(Deserialize)]
struct Credential {
    #[serde(rename = "type")]
    kind: Option<String>,
    key: Option<ConfigValue>,
}

/// A credential, or a key on its own.
struct Stored(Credential);

impl AuthFile {
    /// Reads the file; one that is not there is an empty one.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read or understood.
    pub fn load(path: &Path) -> Result<Self, AuthFileError> {
        let read = |error: std::io::Error| AuthFileError::Read { path: path.to_owned(), problem: error.to_string() };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(read(error)),
        };
        let mode = std::fs::metadata(path).map_err(read)?.permissions().mode() & 0o777;
        let mut file = Self::parse(&text, path)?;
        if mode & 0o077 != 0 {
            let shown = path.display();
            file.notes
                .push(format!("{shown} is open to other users (mode {mode:04o}); close it with: chmod 600 {shown}"));
        }
        Ok(file)
    }

    /// Reads the text of the file; `path` is named in errors.
    ///
    /// # Errors
    ///
    /// When it is no JSON object of credentials.
    pub fn parse(text: &str, path: &Path) -> Result<Self, AuthFileError> {
        let shape = |key: String, error: &serde_json::Error| AuthFileError::Shape {
            path: path.to_owned(),
            line: error.line(),
            column: error.column().max(1),
            key,
            problem: without_value(error),
        };
        let mut reader = serde_json::Deserializer::from_str(text);
        let stored: BTreeMap<String, Stored> = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| shape(error.path().to_string(), error.inner()))?;
        reader.end().map_err(|error| shape(".".to_owned(), &error))?;
        let mut file = Self::default();
        for (provider, Stored(credential)) in stored {
            file.add(provider, credential, path);
        }
        Ok(file)
    }

    /// Oddities that do not hinder: open permissions, credentials of unsupported kinds.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The providers that have a stored key.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    pub(super) fn key(&self, provider: &str) -> Option<&ConfigValue> {
        self.keys.get(provider)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &ConfigValue> {
        self.keys.values()
    }

    fn add(&mut self, provider: String, credential: Credential, path: &Path) {
        let supported = credential.kind.as_deref().is_none_or(|kind| kind == "api_key" || kind == "apiKey");
        match credential.key.filter(|_| supported) {
            Some(key) => {
                self.keys.insert(provider, key);
            }
            None => self
                .notes
                .push(format!("{}: {provider}: only credentials of type api_key with a key are used", path.display())),
        }
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::value::MapAccessDeserializer;
        use serde::de::{MapAccess, Visitor};
        struct KeyOrObject;
        impl<'de> Visitor<'de> for KeyOrObject {
            type Value = Stored;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a key or an object with `type` and `key`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Stored, E> {
                Ok(Stored(Credential { kind: None, key: Some(ConfigValue::new(text)) }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Stored, A::Error> {
                Credential::deserialize(MapAccessDeserializer::new(map)).map(Stored)
            }
        }
        deserializer.deserialize_any(KeyOrObject)
    }
}
