//! What `ast_grep` is asked for: as the model writes it, and checked.

use crate::invalid::{InvalidArguments, non_negative, positive};
use crate::target::Target;
use dryad_safety::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

/// The matches of a call that names no limit.
pub const DEFAULT_LIMIT: NonZeroUsize = NonZeroUsize::new(50).unwrap();

/// The arguments of `ast_grep`, as the model writes them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AstGrepArguments {
    /// Patterns; a match of any counts.
    pub pat: Vec<String>,
    /// Language of the patterns.
    #[serde(default)]
    pub lang: Option<String>,
    /// File, directory or glob, or several separated by commas.
    #[serde(default)]
    pub path: Option<String>,
    /// Glob that files must match as well.
    #[serde(default)]
    pub glob: Option<String>,
    /// Kind of the node within the pattern that is the match.
    #[serde(default)]
    pub sel: Option<String>,
    /// Most matches (default 50).
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<i64>,
    /// Matches to pass over.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub offset: Option<i64>,
    /// Lines to show around each match.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub context: Option<i64>,
}

/// A search that makes sense.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AstGrepQuery {
    /// The patterns: at least one, none blank, none twice.
    pub patterns: Vec<String>,
    /// What to search.
    pub target: Target,
    /// The most matches to return.
    pub limit: NonZeroUsize,
    /// Matches to pass over.
    pub offset: usize,
    /// Lines to show around each match.
    pub context: usize,
}

impl AstGrepQuery {
    /// Reads and checks the arguments of a call.
    pub fn from_arguments(mut arguments: Map<String, Value>) -> Result<Self, ToolError> {
        dryad_safety::arguments::plain_values(&mut arguments, &["limit", "offset", "context"]);
        let arguments: AstGrepArguments = dryad_safety::arguments::parse(arguments)?;
        Ok(Self::try_from(arguments)?)
    }
}

impl TryFrom<AstGrepArguments> for AstGrepQuery {
    type Error = InvalidArguments;

    fn try_from(arguments: AstGrepArguments) -> Result<Self, InvalidArguments> {
        let mut patterns: Vec<String> = Vec::new();
        for pattern in arguments.pat.iter().map(|pattern| pattern.trim()) {
            if !pattern.is_empty() && !patterns.iter().any(|known| known == pattern) {
                patterns.push(pattern.to_owned());
            }
        }
        if patterns.is_empty() {
            return Err(InvalidArguments::NoPattern);
        }
        Ok(Self {
            patterns,
            target: Target::new(arguments.lang, arguments.path, arguments.glob, arguments.sel)?,
            limit: arguments.limit.map_or(Ok(DEFAULT_LIMIT), |limit| positive("limit", limit))?,
            offset: non_negative("offset", arguments.offset.unwrap_or(0))?,
            context: non_negative("context", arguments.context.unwrap_or(0))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::pattern::Strictness;
    use serde_json::json;

    fn query(arguments: Value) -> Result<AstGrepQuery, String> {
        AstGrepQuery::from_arguments(arguments.as_object().cloned().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(
            query(json!({"pat": ["foo($A)"]})).unwrap(),
            AstGrepQuery {
                patterns: vec!["foo($A)".to_owned()],
                target: Target::default(),
                limit: DEFAULT_LIMIT,
                offset: 0,
                context: 0,
            }
        );
    }

    #[test]
    fn what_is_given_is_taken_over() {
        let arguments = json!({
            "pat": ["a", " ", "b", "a "], "lang": "TS", "path": "src,lib", "glob": "*.ts", "sel": "call_expression",
            "limit": 3, "offset": 4, "context": 2
        });
        assert_eq!(
            query(arguments).unwrap(),
            AstGrepQuery {
                patterns: vec!["a".to_owned(), "b".to_owned()],
                target: Target {
                    language: Some(Language::TypeScript),
                    path: Some("src,lib".to_owned()),
                    glob: Some("*.ts".to_owned()),
                    selector: Some("call_expression".to_owned()),
                    strictness: Strictness::Smart,
                },
                limit: NonZeroUsize::new(3).unwrap(),
                offset: 4,
                context: 2,
            }
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (arguments, message) in [
            (json!({"pat": []}), "pat needs a non-empty pattern"),
            (json!({"pat": ["", " \n"]}), "pat needs a non-empty pattern"),
            (json!({"pat": ["a"], "limit": 0}), "limit must be a positive number"),
            (json!({"pat": ["a"], "limit": -5}), "limit must be a positive number"),
            (json!({"pat": ["a"], "offset": -1}), "offset must not be negative"),
            (json!({"pat": ["a"], "context": -1}), "context must not be negative"),
            (json!({}), "invalid arguments: missing field `pat`"),
            (json!({"pat": "a"}), "invalid arguments: /pat: invalid type: string \"a\", expected a sequence"),
        ] {
            assert_eq!(query(arguments.clone()).unwrap_err(), message, "{arguments}");
        }
        let unknown = query(json!({"pat": ["a"], "lang": "cobol"})).unwrap_err();
        assert!(unknown.starts_with("unknown language: cobol"), "{unknown}");
    }

    #[test]
    fn the_schema_tells_what_is_needed_and_the_bounds() {
        let schema: Value = serde_json::from_str(dryad_safety::arguments::schema::<AstGrepArguments>().get()).unwrap();
        assert_eq!(schema["required"], json!(["pat"]));
        assert_eq!(schema["properties"]["limit"]["minimum"], 1);
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name} has no description");
        }
    }
}
