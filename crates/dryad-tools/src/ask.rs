//! `ask`: puts questions to the user.
//!
//! Where nobody can be asked the tool says so, and the model decides by itself. Not wanting to answer ends
//! the run: what the model would do next is what the user was asked about.

mod question;

pub use question::{Asked, Question};

use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::{kept, parse};
use dryad_safety::dialog::UserInterface;
use dryad_safety::foreign::{Foreign, ForeignResult, ForeignTool};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, ToolError};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

dryad_safety::kept_schema!(SCHEMA, Arguments, "ask.schema.json");

/// What the model is told where nobody can be asked.
const NOBODY: &str =
    "ask needs an interactive session: nobody can answer here. Decide by yourself and say what you decided";

/// What the model is told when the user does not want to answer.
const CANCELLED: &str = "Question cancelled by the user";

/// How the user is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AskSettings {
    /// After so long the recommended or first option is taken; never without one.
    pub timeout: Option<Duration>,
}

impl Default for AskSettings {
    fn default() -> Self {
        Self { timeout: Some(Duration::from_secs(30)) }
    }
}

/// Puts questions to the user.
struct Ask {
    user: Option<Arc<dyn UserInterface>>,
    settings: AskSettings,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The questions, asked one after the other.
    questions: Vec<Question>,
}

/// The tool, for this user, or for nobody.
pub fn ask_tool(user: Option<Arc<dyn UserInterface>>, settings: AskSettings) -> Foreign {
    let metadata = Metadata {
        read_only: true,
        search_hint: "ask the user a question choose options".to_owned(),
        permission_class: PermissionClass::Readonly,
        audit_operation: "invoke".to_owned(),
        ..Metadata::default()
    };
    let spec = ToolSpec {
        name: "ask".to_owned(),
        label: "ask".to_owned(),
        description: include_str!("ask.md").trim_end().to_owned(),
        prompt_snippet: Some("Ask the user to choose".to_owned()),
        prompt_guidelines: Vec::new(),
        parameters: kept(SCHEMA),
        hidden: false,
        metadata,
        capability: Capability::touching(&["user"]),
    };
    Foreign::new(Ask { user, settings, spec })
}

impl Ask {
    async fn ask(&self, arguments: Map<String, Value>) -> Result<ToolResult, ToolError> {
        let Arguments { questions } = parse(arguments)?;
        if questions.is_empty() {
            return Err(ToolError::new("questions must not be empty"));
        }
        let Some(user) = &self.user else { return Err(ToolError::new(NOBODY)) };
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            match question.put(user.as_ref(), self.settings.timeout).await {
                Some(answer) => answers.push(answer),
                None => return Ok(ToolResult::error(CANCELLED).with_details(json!({"endsRun": true}))),
            }
        }
        let text = match answers.as_slice() {
            [one] => one.sentence(),
            several => several.iter().map(Asked::line).collect::<Vec<_>>().join("\n"),
        };
        Ok(ToolResult::text(text).with_details(json!({"questions": answers})))
    }
}

impl ForeignTool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _: &'a PlanContext,
    ) -> BoxFuture<'a, Result<ForeignResult, ToolError>> {
        Box::pin(async move { Ok(ForeignResult { result: self.ask(arguments).await?, ..ForeignResult::default() }) })
    }
}

#[cfg(test)]
mod tests;
