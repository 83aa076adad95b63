//! The conversation as contents and parts.
//!
//! All results of one answer's calls stand together in one content, as the API demands; pictures
//! among them follow the results. Ids are given back where the server itself gave them.

use super::decoder::MADE_UP;
use dryad_protocol::content::{AssistantBlock, ImageBlock, ToolCall, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message, ModelView, StopReason, ToolResultMessage};
use dryad_protocol::model::{Model, ThinkingMode};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// What stands in a picture's place for a model that reads none.
const IMAGE_OMITTED: &str = "(an image was left out: this model does not read images)";

/// The documented mark for calls that another model made: newer models refuse calls without one.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
pub(super) struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response {
    Output(String),
    Error(String),
}

impl<'a> Part<'a> {
    pub(super) fn text(text: &'a str, signature: Option<&'a str>) -> Self {
        Self { text: Some(text), thought_signature: signature, ..Self::default() }
    }

    fn image(image: &'a ImageBlock) -> Self {
        let blob = Blob { mime_type: &image.mime_type, data: &image.data };
        Self { inline_data: Some(blob), ..Self::default() }
    }
}

/// The conversation, oldest first.
pub(super) fn contents<'a>(model: &Model, messages: &'a [Arc<Message>]) -> Vec<Content<'a>> {
    let mut walk =
        Walk { model, contents: Vec::with_capacity(messages.len()), real_ids: HashSet::new(), images: Vec::new() };
    for message in messages {
        match message.model_view() {
            ModelView::User(blocks) => walk.user(blocks),
            ModelView::Assistant(answer) => walk.answer(answer),
            ModelView::ToolResult(result) => walk.result(result),
        }
    }
    walk.end_results();
    walk.contents
}

struct Walk<'a, 'm> {
    model: &'m Model,
    contents: Vec<Content<'a>>,
    /// Ids of calls that the server gave.
    real_ids: HashSet<&'a str>,
    /// Pictures of the results so far, to follow the last of them.
    images: Vec<Part<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn push(&mut self, role: &'static str, parts: Vec<Part<'a>>) {
        if !parts.is_empty() {
            self.contents.push(Content { role, parts });
        }
    }

    fn user(&mut self, blocks: &'a [UserBlock]) {
        self.end_results();
        let parts = blocks.iter().filter_map(|block| match block {
            UserBlock::Text(block) if block.text.is_empty() => None,
            UserBlock::Text(block) => Some(Part::text(&block.text, None)),
            UserBlock::Image(image) if self.model.has_vision() => Some(Part::image(image)),
            UserBlock::Image(_) => Some(Part::text(IMAGE_OMITTED, None)),
        });
        let parts = parts.collect();
        self.push("user", parts);
    }

    fn answer(&mut self, answer: &'a AssistantMessage) {
        self.end_results();
        let own = is_own(self.model, answer);
        let mut parts = Vec::with_capacity(answer.content.len());
        let mut has_call = false;
        for block in &answer.content {
            match block {
                AssistantBlock::Text(block) => {
                    let signature = block.text_signature.as_deref().filter(|_| own);
                    if !block.text.is_empty() || signature.is_some() {
                        parts.push(Part::text(&block.text, signature));
                    }
                }
                AssistantBlock::Thinking(block) => {
                    let signature = block.thinking_signature.as_deref().filter(|_| own);
                    parts.extend(
                        signature.map(|mark| Part { thought: true, ..Part::text(&block.thinking, Some(mark)) }),
                    );
                }
                AssistantBlock::RedactedThinking { .. } => {}
                AssistantBlock::ToolCall(call) => {
                    parts.push(self.call(call, own, !has_call));
                    has_call = true;
                }
            }
        }
        self.push("model", parts);
    }

    fn call(&mut self, call: &'a ToolCall, own: bool, is_first: bool) -> Part<'a> {
        let id = Some(call.id.as_str()).filter(|id| own && !id.starts_with(MADE_UP));
        self.real_ids.extend(id);
        let wants_mark = self.model.thinking.as_ref().is_some_and(|range| range.mode == ThinkingMode::GoogleLevel);
        let foreign = (!own && is_first && wants_mark).then_some(FOREIGN_CALL);
        let signature = call.thought_signature.as_deref().filter(|_| own).or(foreign);
        let function_call = FunctionCall { id, name: &call.name, args: &call.arguments };
        Part { function_call: Some(function_call), thought_signature: signature, ..Part::default() }
    }

    fn result(&mut self, result: &'a ToolResultMessage) {
        let id = self.real_ids.get(result.tool_call_id.as_str()).copied();
        let text = self.result_text(result);
        let response = if result.is_error { Response::Error(text) } else { Response::Output(text) };
        let function_response = Some(FunctionResponse { id, name: &result.tool_name, response });
        let part = Part { function_response, ..Part::default() };
        match self.contents.last_mut() {
            Some(last) if last.parts.iter().any(|part| part.function_response.is_some()) => last.parts.push(part),
            _ => self.push("user", vec![part]),
        }
    }

    /// The result's text; its pictures are put aside.
    fn result_text(&mut self, result: &'a ToolResultMessage) -> String {
        let mut texts = Vec::with_capacity(result.content.len());
        for block in &result.content {
            match block {
                UserBlock::Text(block) => texts.push(block.text.as_str()),
                UserBlock::Image(image) if self.model.has_vision() => {
                    texts.push("(see the attached image)");
                    self.images.push(Part::image(image));
                }
                UserBlock::Image(_) => texts.push(IMAGE_OMITTED),
            }
        }
        texts.join("\n")
    }

    fn end_results(&mut self) {
        if let Some(last) = self.contents.last_mut() {
            last.parts.append(&mut self.images);
        }
    }
}

/// Whether the answer is this model's own and was not broken off.
fn is_own(model: &Model, answer: &AssistantMessage) -> bool {
    let complete = match answer.stop_reason {
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => true,
        StopReason::Error | StopReason::Aborted => false,
    };
    complete && answer.api == model.api && answer.provider == model.provider && answer.model == model.id
}
