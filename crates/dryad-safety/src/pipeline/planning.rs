//! A tool's plan, made on a thread where blocking is allowed.

use super::{Pipeline, Way};
use crate::plan::Plan;
use crate::tool::ToolError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::task::JoinError;

/// The characters of bad argument text that are shown back to the model.
const SHOWN_ARGUMENTS: usize = 300;

impl Pipeline {
    /// Has the tool plan; a panic there becomes an error.
    pub(super) async fn plan(&self, way: Way<'_>) -> Result<Plan, ToolError> {
        if let Err(bad) = &way.call.arguments {
            let shown: String = bad.text.chars().take(SHOWN_ARGUMENTS).collect();
            let problem = &bad.problem;
            return Err(ToolError::new(format!("the arguments are not a JSON object: {problem}; they began: {shown}")));
        }
        let (tool, arguments, context) =
            (way.tool.clone(), way.arguments.clone(), self.plan_context(way.context, Some(way.call.id.clone())));
        if tool.plans_at_once() {
            return catch_unwind(AssertUnwindSafe(|| tool.plan(arguments, &context)))
                .unwrap_or_else(|panic| Err(said(&way.call.name, &crate::panic::text(panic.as_ref()))));
        }
        tokio::task::spawn_blocking(move || tool.plan(arguments, &context))
            .await
            .unwrap_or_else(|error| Err(crashed(&way.call.name, error)))
    }
}

/// What a panic elsewhere becomes.
pub(super) fn crashed(what: &str, error: JoinError) -> ToolError {
    let message = match error.try_into_panic() {
        Ok(panic) => crate::panic::text(panic.as_ref()),
        Err(error) => error.to_string(),
    };
    said(what, &message)
}

fn said(what: &str, message: &str) -> ToolError {
    ToolError::new(format!("{what} crashed: {message}"))
}
