//! The conversation in the form Chat Completions takes it.

use super::call_id::call_id;
use super::dialect::{Dialect, ThinkingFormat};
use crate::request::Request;
use dryad_protocol::content::{AssistantBlock, ImageBlock, ToolCall, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message, ModelView, ToolResultMessage};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// Stands where a picture would, for models that read none.
pub(super) const NO_VISION: &str = "(an image was left out: this model reads no images)";

/// Stands in a result that has nothing but pictures.
const SEE_IMAGE: &str = "(see the image below)";

/// One message.
#[derive(Debug, Default, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// The system prompt and the conversation.
pub(super) fn messages<'a>(request: &Request<'a>, dialect: &Dialect<'_>) -> Vec<WireMessage<'a>> {
    let mut builder = Builder {
        messages: Vec::with_capacity(request.messages.len() + 1),
        result_images: Vec::new(),
        has_vision: request.model.has_vision(),
        has_short_ids: dialect.has_short_ids,
    };
    if !request.system.is_empty() {
        let content = Some(Content::Text(request.system.into()));
        builder.messages.push(WireMessage { role: dialect.system_role, content, ..WireMessage::default() });
    }
    let replay_from = replay_from(request, dialect);
    for (position, message) in request.messages.iter().enumerate() {
        match message.model_view() {
            ModelView::User(blocks) => builder.user(blocks),
            ModelView::Assistant(message) => {
                let is_same = message.provider == request.model.provider && message.model == request.model.id;
                builder.assistant(message, is_same && position >= replay_from);
            }
            ModelView::ToolResult(result) => builder.result(result, dialect.names_results),
        }
    }
    builder.flush_images();
    builder.messages
}

/// From which message on reasoning goes back. `DeepSeek` wants that of the current round only.
fn replay_from(request: &Request<'_>, dialect: &Dialect<'_>) -> usize {
    let is_user = |message: &Arc<Message>| matches!(message.model_view(), ModelView::User(_));
    match dialect.thinking {
        ThinkingFormat::DeepSeek => request.messages.iter().rposition(is_user).unwrap_or(0),
        ThinkingFormat::None
        | ThinkingFormat::OpenAi
        | ThinkingFormat::OpenRouter
        | ThinkingFormat::Qwen
        | ThinkingFormat::Zai => 0,
    }
}

struct Builder<'a> {
    messages: Vec<WireMessage<'a>>,
    /// Pictures of tool results: a result holds text only, so they follow the last result of a
    /// batch in a message of their own.
    result_images: Vec<&'a ImageBlock>,
    has_vision: bool,
    has_short_ids: bool,
}

impl<'a> Builder<'a> {
    fn user(&mut self, blocks: &'a [UserBlock]) {
        self.flush_images();
        if let Some(content) = self.user_content(blocks) {
            self.messages.push(WireMessage { role: "user", content: Some(content), ..WireMessage::default() });
        }
    }

    /// Plain text where that is enough: not every server takes parts.
    fn user_content(&self, blocks: &'a [UserBlock]) -> Option<Content<'a>> {
        let is_image = |block: &UserBlock| matches!(block, UserBlock::Image(_));
        if !self.has_vision || !blocks.iter().any(is_image) {
            let text = plain_text(blocks);
            return (!text.is_empty()).then_some(Content::Text(text));
        }
        let parts = blocks.iter().filter_map(|block| match block {
            UserBlock::Text(block) if block.text.is_empty() => None,
            UserBlock::Text(block) => Some(ContentPart::Text { text: &block.text }),
            UserBlock::Image(image) => Some(image_part(image)),
        });
        Some(Content::Parts(parts.collect()))
    }

    fn assistant(&mut self, message: &'a AssistantMessage, has_replay: bool) {
        self.flush_images();
        let mut wire = WireMessage { role: "assistant", ..WireMessage::default() };
        let mut text: Option<Cow<'a, str>> = None;
        for block in &message.content {
            match block {
                AssistantBlock::Text(block) if block.text.is_empty() => {}
                AssistantBlock::Text(block) => add(&mut text, &block.text),
                AssistantBlock::Thinking(block) if has_replay => {
                    match block.thinking_signature.as_deref() {
                        Some("reasoning_content") => add(&mut wire.reasoning_content, &block.thinking),
                        Some("reasoning") => add(&mut wire.reasoning, &block.thinking),
                        Some("reasoning_text") => add(&mut wire.reasoning_text, &block.thinking),
                        // Of another API.
                        Some(_) | None => {}
                    }
                }
                AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } => {}
                AssistantBlock::ToolCall(call) => wire.tool_calls.push(wire_call(call, self.has_short_ids)),
            }
        }
        wire.content = text.map(Content::Text);
        if wire.content.is_some() || !wire.tool_calls.is_empty() {
            self.messages.push(wire);
        }
    }

    fn result(&mut self, result: &'a ToolResultMessage, is_named: bool) {
        let images = result.content.iter().filter_map(|block| match block {
            UserBlock::Image(image) => Some(image),
            UserBlock::Text(_) => None,
        });
        let mut text = match self.has_vision {
            true => {
                self.result_images.extend(images);
                joined(result.content.iter().filter_map(UserBlock::as_text))
            }
            false => plain_text(&result.content),
        };
        if text.is_empty() && !result.content.is_empty() && !self.result_images.is_empty() {
            text = SEE_IMAGE.into();
        }
        self.messages.push(WireMessage {
            role: "tool",
            name: is_named.then_some(result.tool_name.as_str()),
            tool_call_id: Some(call_id(result.tool_call_id.as_str(), self.has_short_ids)),
            content: Some(Content::Text(text)),
            ..WireMessage::default()
        });
    }

    fn flush_images(&mut self) {
        if self.result_images.is_empty() {
            return;
        }
        let text = ContentPart::Text { text: "Images of the tool results above:" };
        let images = self.result_images.drain(..).map(image_part);
        let content = Some(Content::Parts(std::iter::once(text).chain(images).collect()));
        self.messages.push(WireMessage { role: "user", content, ..WireMessage::default() });
    }
}

fn plain_text(blocks: &[UserBlock]) -> Cow<'_, str> {
    joined(blocks.iter().map(|block| block.as_text().unwrap_or(NO_VISION)))
}

/// Texts on lines of their own; a single one is lent.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let mut all = None;
    texts.filter(|text| !text.is_empty()).for_each(|text| add(&mut all, text));
    all.unwrap_or_default()
}

fn add<'a>(all: &mut Option<Cow<'a, str>>, text: &'a str) {
    match all {
        None => *all = Some(text.into()),
        Some(all) => {
            let all = all.to_mut();
            all.push('\n');
            all.push_str(text);
        }
    }
}

fn image_part<'a>(image: &ImageBlock) -> ContentPart<'a> {
    let url = format!("data:{};base64,{}", image.mime_type, image.data);
    ContentPart::ImageUrl { image_url: ImageUrl { url } }
}

fn wire_call(call: &ToolCall, has_short_ids: bool) -> WireCall<'_> {
    // A map of JSON values always has a text.
    let arguments = serde_json::to_string(&call.arguments).unwrap_or_else(|_| "{}".to_owned());
    WireCall {
        id: call_id(&call.id, has_short_ids),
        r#type: "function",
        function: WireFunction { name: &call.name, arguments },
    }
}
