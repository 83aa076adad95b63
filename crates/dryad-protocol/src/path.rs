//! Paths that survive JSON, whatever bytes they are made of.

use crate::one_line::one_line;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// An absolute path of a file that a change touches.
///
/// Serialised as a string when it is UTF-8, otherwise as `{"hex": "…"}` of its bytes, so that
/// no name is ever altered by being recorded.
#[derive(Clone, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd)]
#[schemars(with = "Form")]
pub struct FilePath(PathBuf);

impl FilePath {
    /// Takes the path as it is; the caller has made it absolute.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// All of it at once: component by component, as a `Path` does it, takes several times as long, and changes of thousands
/// of files are looked up again and again.
impl Hash for FilePath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let bytes = self.0.as_os_str().as_bytes();
        match is_plain(bytes) {
            true => bytes.hash(state),
            false => self.0.components().collect::<PathBuf>().as_os_str().as_bytes().hash(state),
        }
    }
}

/// Whether a path is written as it would be if it was put together from its components.
fn is_plain(bytes: &[u8]) -> bool {
    let is_empty_or_dot = |rest: &[u8]| matches!(rest, [] | [b'/', ..] | [b'.'] | [b'.', b'/', ..]);
    let mut separators = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    separators.all(|at| !is_empty_or_dot(bytes.get(at + 1..).unwrap_or_default()))
}

/// The path as people read it, in one line whatever it is called.
impl fmt::Display for FilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&one_line(&self.0.to_string_lossy()))
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
enum Form<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes { hex: String },
}

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.0.to_str() {
            Some(text) => Form::Text(text.into()),
            None => Form::Bytes { hex: to_hex(self.0.as_os_str().as_bytes()) },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(PathBuf::from(text.into_owned()))),
            Form::Bytes { hex } => from_hex(&hex)
                .map(|bytes| Self(PathBuf::from(OsString::from_vec(bytes))))
                .ok_or_else(|| D::Error::custom("a path in hex has pairs of the digits 0-9 and a-f")),
        }
    }
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}

/// The bytes that lower- or upper-case hexadecimal digits stand for.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher as _;

    #[test]
    fn a_name_that_is_not_utf8_survives_json() {
        let path = FilePath::new(OsString::from_vec(b"/tmp/\xff\xfe name".to_vec()));
        let json = serde_json::to_string(&path).unwrap();
        assert_eq!(json, r#"{"hex":"2f746d702ffffe206e616d65"}"#);
        assert_eq!(serde_json::from_str::<FilePath>(&json).unwrap(), path);
    }

    #[test]
    fn equal_paths_have_equal_hashes() {
        let hash =
            |path: &FilePath| std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(path);
        for (one, other) in [("/a/b", "/a//b"), ("/a/b", "/a/./b"), ("/a/b", "/a/b/"), ("/a/b", "/a/b/."), ("/", "//")]
        {
            let (one, other) = (FilePath::new(one), FilePath::new(other));
            assert_eq!((&one, hash(&one)), (&other, hash(&other)));
        }
        for (one, other) in [("/a/b", "/a/.b"), ("/a/b", "/ab"), ("/a/..", "/a"), ("/a", "a")] {
            let (one, other) = (FilePath::new(one), FilePath::new(other));
            assert!(one != other && hash(&one) != hash(&other), "{one} {other}");
        }
    }

    #[test]
    fn a_name_cannot_pretend_to_be_another_line() {
        let path = FilePath::new(OsString::from_vec(b"/a\nerror: \x1b[2J\xff".to_vec()));
        assert_eq!(path.to_string(), "/a\\nerror: \\u{1b}[2J\u{fffd}");
    }

    #[test]
    fn an_ordinary_name_is_plain_text() {
        assert_eq!(serde_json::to_string(&FilePath::new("/a/ü")).unwrap(), r#""/a/ü""#);
    }
}
