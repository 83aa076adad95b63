//! The conversation in the form the Messages API takes it.
//!
//! The API wants all results of one round of calls in one message, no empty text, and thinking
//! only with the signature of the very model that is asked.

use dryad_protocol::content::{AssistantBlock, ImageBlock, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message, ModelView, ToolResultMessage};
use dryad_protocol::model::Model;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Stands where a picture would, for models that read none.
const NO_VISION: &str = "(an image was left out: this model reads no images)";

/// Longer ids are refused.
const MAX_ID_CHARS: usize = 64;

/// One message.
#[derive(Debug, Serialize)]
pub(super) struct WireMessage<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// A mark up to which the provider keeps a prompt in its cache.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

/// The only kind of mark in use.
pub(super) const CACHE: CacheControl = CacheControl { r#type: "ephemeral" };

/// A block, with a mark on the last one of all.
#[derive(Debug, Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    body: BlockBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockBody<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<BlockBody<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Debug, Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// The conversation, with a cache mark on the last message of the user.
pub(super) fn messages<'a>(messages: &'a [Arc<Message>], model: &Model) -> Vec<WireMessage<'a>> {
    let mut wire: Vec<WireMessage<'a>> = Vec::with_capacity(messages.len());
    let mut follows_result = false;
    for message in messages {
        let view = message.model_view();
        let is_result = matches!(view, ModelView::ToolResult(_));
        let (role, content) = match view {
            ModelView::User(blocks) => (Role::User, user_blocks(blocks, model.has_vision())),
            ModelView::Assistant(message) => (Role::Assistant, assistant_blocks(message, model)),
            ModelView::ToolResult(result) => (Role::User, vec![result_block(result, model.has_vision())]),
        };
        let content = content.into_iter().map(|body| Block { body, cache_control: None });
        match wire.last_mut().filter(|_| is_result && follows_result) {
            Some(last) => last.content.extend(content),
            None => wire.push(WireMessage { role, content: content.collect() }),
        }
        follows_result = is_result;
    }
    wire.retain(|message| !message.content.is_empty());
    mark_last(&mut wire);
    wire
}

fn mark_last(messages: &mut [WireMessage<'_>]) {
    let last = messages.iter_mut().rev().find(|message| message.role == Role::User);
    if let Some(block) = last.and_then(|message| message.content.last_mut()) {
        block.cache_control = Some(CACHE);
    }
}

fn user_blocks(blocks: &[UserBlock], has_vision: bool) -> Vec<BlockBody<'_>> {
    blocks.iter().filter_map(|block| user_block(block, has_vision)).collect()
}

fn user_block(block: &UserBlock, has_vision: bool) -> Option<BlockBody<'_>> {
    match block {
        UserBlock::Text(block) => text(&block.text),
        UserBlock::Image(image) if has_vision => Some(image_block(image)),
        UserBlock::Image(_) => text(NO_VISION),
    }
}

fn assistant_blocks<'a>(message: &'a AssistantMessage, model: &Model) -> Vec<BlockBody<'a>> {
    let is_same = message.api == model.api && message.provider == model.provider && message.model == model.id;
    let block = |block: &'a AssistantBlock| match block {
        AssistantBlock::Text(block) => text(&block.text),
        AssistantBlock::Thinking(block) => {
            let signature = block.thinking_signature.as_deref().filter(|signature| is_same && !signature.is_empty())?;
            Some(BlockBody::Thinking { thinking: &block.thinking, signature })
        }
        AssistantBlock::RedactedThinking { data } => is_same.then_some(BlockBody::RedactedThinking { data }),
        AssistantBlock::ToolCall(call) => {
            Some(BlockBody::ToolUse { id: call_id(&call.id), name: &call.name, input: &call.arguments })
        }
    };
    message.content.iter().filter_map(block).collect()
}

fn result_block(result: &ToolResultMessage, has_vision: bool) -> BlockBody<'_> {
    BlockBody::ToolResult {
        tool_use_id: call_id(result.tool_call_id.as_str()),
        content: user_blocks(&result.content, has_vision),
        is_error: result.is_error,
    }
}

/// The API refuses text that shows nothing.
fn text(text: &str) -> Option<BlockBody<'_>> {
    (!text.trim().is_empty()).then_some(BlockBody::Text { text })
}

fn image_block(image: &ImageBlock) -> BlockBody<'_> {
    BlockBody::Image { source: ImageSource { r#type: "base64", media_type: &image.mime_type, data: &image.data } }
}

/// An id that the API takes: those of other APIs may have other characters or be longer.
fn call_id(id: &str) -> Cow<'_, str> {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if id.len() <= MAX_ID_CHARS && id.chars().all(is_fine) {
        return id.into();
    }
    id.chars().take(MAX_ID_CHARS).map(|character| if is_fine(character) { character } else { '_' }).collect()
}
