//! Reads the settings files, checks them against the table, and lays one over the other.
//!
//! Nested objects merge, everything else replaces. Keys that nobody knows stay and are told by
//! `dryad doctor`; a wrong type is an error that names file, key and expected type. What a project
//! may not set is left out with a note.

use super::Settings;
use super::schema::{KEYS, Key, Scope, TIGHTENED_GROUP, USER_ONLY_GROUPS};
use crate::home::{Home, project_settings_file};
use dryad_safety::permission::PermissionSettings;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The merged settings, and what is to be said about the files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    /// As used.
    pub(crate) settings: Settings,
    /// The files that were found.
    pub(crate) files: Vec<PathBuf>,
    /// What is odd about them and does not hinder.
    pub(crate) notes: Vec<Note>,
}

/// Something odd in a settings file.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct Note {
    /// The file.
    pub(crate) file: PathBuf,
    /// The key's path.
    pub(crate) key: String,
    /// What is odd.
    pub(crate) problem: NoteKind,
}

/// What is odd about a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum NoteKind {
    /// Nobody reads it.
    UnknownKey,
    /// A project may not set it; it was left out.
    NotForProjects,
}

/// Why the settings cannot be used.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    /// A file is there and cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is no JSON.
    #[error("{}: {source}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A value has the wrong type.
    #[error("{}: {key}: expected {expected}, found {found}", file.display())]
    Type {
        /// The file.
        file: PathBuf,
        /// The key's path.
        key: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: &'static str,
    },
}

impl SettingsError {
    /// The file that cannot be used.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::Read { file, .. } | Self::Syntax { file, .. } | Self::Type { file, .. } => file,
        }
    }
}

impl NoteKind {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown key, ignored",
            Self::NotForProjects => "a project may not set this, ignored",
        }
    }
}

/// Reads the user's and the project's file.
///
/// # Errors
///
/// When a file is there and cannot be read or understood.
pub(crate) fn load(home: &Home, workdir: &Path) -> Result<Layers, SettingsError> {
    let mut layers = Layers::default();
    let mut merged = Map::new();
    let mut project_permissions = PermissionSettings::default();
    let user_file = home.settings_file();
    let project_file = project_settings_file(workdir);
    let places = [(&user_file, Scope::UserOnly), (&project_file, Scope::Everywhere)];
    // In the home directory itself the two are one file, which is the user's.
    let places = places.into_iter().take(if user_file == project_file { 1 } else { 2 });
    for (file, least_scope) in places {
        let Some(mut fields) = read(file)? else { continue };
        layers.files.push(file.clone());
        if least_scope == Scope::Everywhere {
            remove_user_only(&mut fields, file, &mut layers.notes);
        }
        check(&fields, file, &mut layers.notes)?;
        if least_scope == Scope::Everywhere {
            // It is laid beside the user's, not over it.
            let tightened = fields.remove(TIGHTENED_GROUP).unwrap_or_default();
            project_permissions = serde_json::from_value(tightened).unwrap_or_default();
        }
        merge(&mut merged, fields);
    }
    layers.settings = to_settings(merged, &user_file)?;
    layers.settings.project_permissions = project_permissions;
    Ok(layers)
}

fn read(file: &Path) -> Result<Option<Map<String, Value>>, SettingsError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory => {
            return Ok(None);
        }
        Err(source) => return Err(SettingsError::Read { file: file.to_owned(), source }),
    };
    let text = text.trim_start_matches('\u{feff}');
    let value = serde_json::from_str(text).map_err(|source| SettingsError::Syntax { file: file.to_owned(), source })?;
    match value {
        Value::Object(fields) => Ok(Some(fields)),
        other => Err(wrong_type(file, "(the whole file)", "an object", &other)),
    }
}

fn remove_user_only(fields: &mut Map<String, Value>, file: &Path, notes: &mut Vec<Note>) {
    let mut note = |key: &str| {
        notes.push(Note { file: file.to_owned(), key: key.to_owned(), problem: NoteKind::NotForProjects });
    };
    for group in USER_ONLY_GROUPS {
        if fields.remove(group).is_some() {
            note(group);
        }
    }
    for key in KEYS.iter().filter(|key| key.scope == Scope::UserOnly) {
        if take(fields, key.name).is_some() {
            note(key.name);
        }
    }
}

fn take(fields: &mut Map<String, Value>, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => fields.remove(path),
        Some((group, rest)) => take(fields.get_mut(group)?.as_object_mut()?, rest),
    }
}

/// Checks every value of the file, and notes the keys nobody knows.
fn check(fields: &Map<String, Value>, file: &Path, notes: &mut Vec<Note>) -> Result<(), SettingsError> {
    for (name, value) in fields {
        check_value(name, value, file, notes)?;
    }
    Ok(())
}

fn check_value(path: &str, value: &Value, file: &Path, notes: &mut Vec<Note>) -> Result<(), SettingsError> {
    if let Some(key) = KEYS.iter().find(|key| key.name == path) {
        return if key.kind.fits(value) { Ok(()) } else { Err(wrong_type(file, path, &key.kind.expected(), value)) };
    }
    let is_group = |key: &Key| key.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    if !KEYS.iter().any(is_group) {
        notes.push(Note { file: file.to_owned(), key: path.to_owned(), problem: NoteKind::UnknownKey });
        return Ok(());
    }
    let Value::Object(fields) = value else { return Err(wrong_type(file, path, "an object", value)) };
    for (name, value) in fields {
        check_value(&format!("{path}.{name}"), value, file, notes)?;
    }
    Ok(())
}

fn wrong_type(file: &Path, key: &str, expected: &str, value: &Value) -> SettingsError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    SettingsError::Type { file: file.to_owned(), key: key.to_owned(), expected: expected.to_owned(), found }
}

fn merge(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (name, value) in above {
        match (below.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(fields)) => merge(known, fields),
            (_, value) => {
                below.insert(name, value);
            }
        }
    }
}

/// Every value was checked, so this fails only if table and type disagree.
fn to_settings(merged: Map<String, Value>, file: &Path) -> Result<Settings, SettingsError> {
    serde_json::from_value(Value::Object(merged))
        .map_err(|source| SettingsError::Syntax { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests;
