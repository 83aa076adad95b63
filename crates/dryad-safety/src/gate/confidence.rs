//! The confidence a model must report for tools that ask for it.
//!
//! A missing report is a failure, never an implicit 100. The failure is the call's result, so the model
//! can think again.

use super::{Gate, Origin, Stage, Subject, Verdict};
use dryad_protocol::call::BadArguments;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The reserved argument.
pub const KEY: &str = "_flyto_confidence";

/// What became of a call at this gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Whether it may go on.
    pub pass: bool,
    /// Why not; empty when it may.
    pub error: String,
    /// The arguments to go on with.
    pub arguments: Result<Map<String, Value>, BadArguments>,
}

/// Checks the reported confidence and takes it out of the arguments. With a `minimum` of 0 the arguments
/// are handed back untouched.
pub fn check(minimum: u8, arguments: Result<Map<String, Value>, BadArguments>) -> Checked {
    if minimum == 0 {
        return Checked { pass: true, error: String::new(), arguments };
    }
    let reported = arguments.as_ref().ok().and_then(reported);
    match reported {
        None => {
            let error = format!("requires {KEY} (0-100) in input, min={minimum}");
            Checked { pass: false, error, arguments }
        }
        Some(reported) if reported < f64::from(minimum) => {
            let error = format!("confidence {reported} below required {minimum}");
            Checked { pass: false, error, arguments }
        }
        Some(_) => Checked { pass: true, error: String::new(), arguments: arguments.map(stripped) },
    }
}

/// The arguments without the reserved one.
pub(crate) fn stripped(mut arguments: Map<String, Value>) -> Map<String, Value> {
    arguments.shift_remove(KEY);
    arguments
}

fn reported(arguments: &Map<String, Value>) -> Option<f64> {
    arguments.get(KEY)?.as_f64().filter(|reported| (0.0..=100.0).contains(reported))
}

/// The gate.
#[derive(Clone, Copy, Debug)]
pub struct Confidence;

impl Gate for Confidence {
    fn stage(&self) -> Stage {
        Stage::Arguments
    }

    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let minimum = match subject.origin {
            Origin::Call => subject.tool.spec().capability.min_confidence,
            Origin::Apply | Origin::Rollback => 0,
        };
        let checked = check(minimum, subject.call.arguments.clone());
        let verdict = if checked.pass { Verdict::Allow } else { Verdict::Deny(checked.error) };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Result<Map<String, Value>, BadArguments> {
        Ok(value.as_object().cloned().unwrap())
    }

    fn garbage() -> Result<Map<String, Value>, BadArguments> {
        Err(BadArguments { problem: "no JSON".to_owned(), text: "{".to_owned() })
    }

    #[test]
    fn switched_off_it_touches_nothing() {
        for input in [arguments(json!({"a": 1, KEY: 5})), garbage()] {
            assert_eq!(check(0, input.clone()), Checked { pass: true, error: String::new(), arguments: input });
        }
    }

    #[test]
    fn what_is_missing_or_no_confidence_fails() {
        let inputs = [
            arguments(json!({"a": 1})),
            arguments(json!({KEY: "90"})),
            arguments(json!({KEY: 101})),
            arguments(json!({KEY: -1})),
            arguments(json!({KEY: null})),
            garbage(),
        ];
        for input in inputs {
            let checked = check(80, input);
            assert!(!checked.pass);
            assert_eq!(checked.error, "requires _flyto_confidence (0-100) in input, min=80");
        }
    }

    #[test]
    fn too_little_fails_and_says_how_much() {
        for (reported, shown) in [(json!(70), "70"), (json!(70.0), "70"), (json!(79.5), "79.5"), (json!(0), "0")] {
            let checked = check(80, arguments(json!({KEY: reported})));
            assert_eq!((checked.pass, checked.error), (false, format!("confidence {shown} below required 80")));
        }
    }

    #[test]
    fn enough_passes_and_the_key_is_gone() {
        for reported in [json!(80), json!(100), json!(80.5)] {
            let checked = check(80, arguments(json!({"b": 1, KEY: reported, "a": 2})));
            let arguments = arguments(json!({"b": 1, "a": 2}));
            assert_eq!(checked, Checked { pass: true, error: String::new(), arguments });
        }
    }
}
