//! What `ast_edit` is asked for: as the model writes it, and checked.

use crate::invalid::{InvalidArguments, positive};
use crate::target::Target;
use dryad_safety::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

/// The arguments of `ast_edit`, as the model writes them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AstEditArguments {
    /// Rewrites; no pattern twice.
    #[schemars(length(min = 1))]
    pub ops: Vec<AstEditOperation>,
    /// Language of the patterns.
    #[serde(default)]
    pub lang: Option<String>,
    /// File, directory or glob, or several separated by commas.
    #[serde(default)]
    pub path: Option<String>,
    /// Glob that files must match as well.
    #[serde(default)]
    pub glob: Option<String>,
    /// Kind of the node within the pattern that is replaced.
    #[serde(default)]
    pub sel: Option<String>,
    /// Most replacements.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<i64>,
}

/// One rewrite of `ast_edit`.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AstEditOperation {
    /// Code to look for.
    pub pat: String,
    /// What takes its place.
    pub out: String,
}

/// A rewrite that makes sense.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AstEditQuery {
    /// The operations: at least one, no pattern blank or twice.
    pub operations: Vec<AstEditOperation>,
    /// What to rewrite.
    pub target: Target,
    /// The most replacements to make; without it there is no bound.
    pub limit: Option<NonZeroUsize>,
}

impl AstEditQuery {
    /// Reads and checks the arguments of a call.
    pub fn from_arguments(mut arguments: Map<String, Value>) -> Result<Self, ToolError> {
        dryad_safety::arguments::plain_values(&mut arguments, &["limit"]);
        let arguments: AstEditArguments = dryad_safety::arguments::parse(arguments)?;
        Ok(Self::try_from(arguments)?)
    }
}

impl TryFrom<AstEditArguments> for AstEditQuery {
    type Error = InvalidArguments;

    fn try_from(arguments: AstEditArguments) -> Result<Self, InvalidArguments> {
        Ok(Self {
            operations: checked_operations(arguments.ops)?,
            target: Target::new(arguments.lang, arguments.path, arguments.glob, arguments.sel)?,
            limit: arguments.limit.map(|limit| positive("limit", limit)).transpose()?,
        })
    }
}

/// Patterns lose the white space around them; replacements keep theirs.
fn checked_operations(given: Vec<AstEditOperation>) -> Result<Vec<AstEditOperation>, InvalidArguments> {
    let mut operations: Vec<AstEditOperation> = Vec::with_capacity(given.len());
    for (index, AstEditOperation { pat, out }) in given.into_iter().enumerate() {
        let pat = pat.trim().to_owned();
        if pat.is_empty() {
            return Err(InvalidArguments::EmptyOperation(index));
        }
        if operations.iter().any(|known| known.pat == pat) {
            return Err(InvalidArguments::PatternTwice(pat));
        }
        operations.push(AstEditOperation { pat, out });
    }
    if operations.is_empty() { Err(InvalidArguments::NoOperation) } else { Ok(operations) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use serde_json::json;

    fn query(arguments: Value) -> Result<AstEditQuery, String> {
        AstEditQuery::from_arguments(arguments.as_object().cloned().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rewrite_is_taken_over_with_its_replacement_untouched() {
        let arguments =
            json!({"ops": [{"pat": " foo($A) ", "out": " bar($A)\n"}, {"pat": "x", "out": ""}], "lang": "rs"});
        let operation = |pat: &str, out: &str| AstEditOperation { pat: pat.to_owned(), out: out.to_owned() };
        assert_eq!(
            query(arguments).unwrap(),
            AstEditQuery {
                operations: vec![operation("foo($A)", " bar($A)\n"), operation("x", "")],
                target: Target { language: Some(Language::Rust), ..Target::default() },
                limit: None,
            }
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let operation = json!({"pat": "a", "out": "b"});
        for (arguments, message) in [
            (json!({"ops": []}), "ops needs at least one operation"),
            (json!({"ops": [operation, {"pat": " ", "out": "b"}]}), "ops[1].pat is empty"),
            (json!({"ops": [operation, {"pat": "a ", "out": "c"}]}), "pattern given twice: a"),
            (json!({"ops": [operation], "limit": 0}), "limit must be a positive number"),
            (json!({"ops": [{"pat": "a"}]}), "invalid arguments: /ops/0: missing field `out`"),
        ] {
            assert_eq!(query(arguments.clone()).unwrap_err(), message, "{arguments}");
        }
    }

    #[test]
    fn the_schema_is_self_contained() {
        let schema: Value = serde_json::from_str(dryad_safety::arguments::schema::<AstEditArguments>().get()).unwrap();
        let operations = &schema["properties"]["ops"];
        assert_eq!(operations["minItems"], 1);
        assert_eq!(operations["items"]["required"], json!(["pat", "out"]));
        assert!(schema.get("$defs").is_none());
    }
}
