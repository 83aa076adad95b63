//! What a rule watches: text, thinking, calls, calls of one tool, calls that name a file.

use globset::{GlobBuilder, GlobMatcher};

/// One thing that is watched.
#[derive(Debug)]
pub(super) enum Scope {
    Text,
    Thinking,
    Tool {
        /// This tool alone.
        name: Option<String>,
        /// Only when the call names such a file.
        files: Option<GlobMatcher>,
    },
}

/// Which part of an answer grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Source<'a> {
    Text,
    Thinking,
    Tool(&'a str),
}

impl Scope {
    /// What a rule says it watches: without a word, text and any call.
    pub(super) fn all(tokens: &[String]) -> Result<Vec<Self>, String> {
        if tokens.is_empty() {
            return Ok(vec![Self::Text, Self::Tool { name: None, files: None }]);
        }
        tokens.iter().map(|token| Self::one(token.trim())).collect()
    }

    fn one(token: &str) -> Result<Self, String> {
        let (token, files) = match token.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            Some((name, pattern)) => (name.trim(), Some(glob(pattern.trim())?.compile_matcher())),
            None => (token, None),
        };
        let name = token.strip_prefix("tool:").map(str::trim);
        match (name.unwrap_or(token), name.is_some(), files) {
            ("", _, _) => Err(format!("`{token}` is no scope")),
            ("text", false, None) => Ok(Self::Text),
            ("thinking", false, None) => Ok(Self::Thinking),
            ("tool", false, files) | ("*", true, files) => Ok(Self::Tool { name: None, files }),
            (name, true, files) | (name, false, files @ Some(_)) => {
                Ok(Self::Tool { name: Some(name.to_owned()), files })
            }
            (other, false, None) => {
                Err(format!("`{other}` is no scope; scopes are text, thinking, tool, tool:name and name(glob)"))
            }
        }
    }

    /// Whether this part of an answer is watched. A file that is not known yet fits nothing.
    pub(super) fn covers(&self, source: Source<'_>, files: &[String]) -> bool {
        match (self, source) {
            (Self::Text, Source::Text) | (Self::Thinking, Source::Thinking) => true,
            (Self::Tool { name, files: wanted }, Source::Tool(tool)) => {
                name.as_deref().is_none_or(|name| name == tool)
                    && wanted.as_ref().is_none_or(|wanted| files.iter().any(|file| wanted.is_match(file)))
            }
            (Self::Text | Self::Thinking | Self::Tool { .. }, Source::Text | Source::Thinking | Source::Tool(_)) => {
                false
            }
        }
    }
}

/// A pattern for files; one without a slash fits in any directory.
pub(super) fn glob(pattern: &str) -> Result<globset::Glob, String> {
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| error.to_string())
}
