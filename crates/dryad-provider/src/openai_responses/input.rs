//! The conversation as input items.
//!
//! An answer of the very model that is asked is replayed with its reasoning and item ids; the
//! server wants them together or not at all. Of any other answer only text and calls are sent.

use dryad_protocol::content::{AssistantBlock, ImageBlock, ToolCall, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message, ModelView, StopReason, ToolResultMessage};
use dryad_protocol::model::Model;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// The server refuses longer call ids.
const LONGEST_ID: usize = 64;

/// What stands in a picture's place for a model that reads none.
const IMAGE_OMITTED: &str = "(an image was left out: this model does not read images)";

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    /// A reasoning item, byte for byte.
    Raw(&'a RawValue),
    User {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    Assistant(AssistantItem<'a>),
    Call(CallItem<'a>),
    Output {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct AssistantItem<'a> {
    r#type: &'static str,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    content: [Part<'a>; 1],
}

#[derive(Serialize)]
pub(super) struct CallItem<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    call_id: Cow<'a, str>,
    name: &'a str,
    /// The server wants JSON inside of a string.
    #[serde(serialize_with = "as_text")]
    arguments: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText { text: &'a str },
    InputImage { detail: &'static str, image_url: DataUrl<'a> },
    OutputText { text: &'a str, annotations: [(); 0] },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

pub(super) struct DataUrl<'a>(&'a ImageBlock);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.0.mime_type, self.0.data))
    }
}

fn as_text<S: Serializer>(arguments: &&Map<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(*arguments).map_err(serde::ser::Error::custom)?;
    serializer.serialize_str(&text)
}

/// The conversation, oldest first.
pub(super) fn items<'a>(model: &Model, messages: &'a [Arc<Message>]) -> Vec<Item<'a>> {
    let mut items = Vec::with_capacity(messages.len() + 4);
    for message in messages {
        match message.model_view() {
            ModelView::User(blocks) => {
                let content: Vec<_> = blocks.iter().filter_map(|block| part(model, block)).collect();
                if !content.is_empty() {
                    items.push(Item::User { role: "user", content });
                }
            }
            ModelView::Assistant(answer) => push_answer(model, answer, &mut items),
            ModelView::ToolResult(result) => items.push(output(model, result)),
        }
    }
    items
}

fn part<'a>(model: &Model, block: &'a UserBlock) -> Option<Part<'a>> {
    match block {
        UserBlock::Text(block) if block.text.is_empty() => None,
        UserBlock::Text(block) => Some(Part::InputText { text: &block.text }),
        UserBlock::Image(image) if model.has_vision() => {
            Some(Part::InputImage { detail: "auto", image_url: DataUrl(image) })
        }
        UserBlock::Image(_) => Some(Part::InputText { text: IMAGE_OMITTED }),
    }
}

fn push_answer<'a>(model: &Model, answer: &'a AssistantMessage, items: &mut Vec<Item<'a>>) {
    let replays = is_replayable(model, answer);
    let last = answer.content.iter().rposition(|block| !matches!(block, AssistantBlock::Thinking(_)));
    for (index, block) in answer.content.iter().enumerate() {
        match block {
            // The server refuses reasoning that nothing follows.
            AssistantBlock::Thinking(block) if replays && last.is_some_and(|last| index < last) => {
                let item = block.thinking_signature.as_deref().and_then(|item| serde_json::from_str(item).ok());
                items.extend(item.map(Item::Raw));
            }
            AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } => {}
            AssistantBlock::Text(block) if block.text.is_empty() => {}
            AssistantBlock::Text(block) => {
                let mark = block.text_signature.as_deref().filter(|_| replays);
                items.push(Item::Assistant(AssistantItem::new(&block.text, mark)));
            }
            AssistantBlock::ToolCall(call) => items.push(Item::Call(CallItem::new(call, replays))),
        }
    }
}

/// Whether the answer is this model's own and complete, with all reasoning that belongs to it.
fn is_replayable(model: &Model, answer: &AssistantMessage) -> bool {
    let own = answer.api == model.api && answer.provider == model.provider && answer.model == model.id;
    let complete = match answer.stop_reason {
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => true,
        StopReason::Error | StopReason::Aborted => false,
    };
    let signed = answer.content.iter().all(|block| match block {
        AssistantBlock::Thinking(block) => block.thinking_signature.is_some(),
        AssistantBlock::Text(_) | AssistantBlock::RedactedThinking { .. } | AssistantBlock::ToolCall(_) => true,
    });
    own && complete && signed
}

impl<'a> AssistantItem<'a> {
    /// `mark` is the item's id, with the phase behind a bar where the server told one.
    fn new(text: &'a str, mark: Option<&'a str>) -> Self {
        let (id, phase) = match mark.map(|mark| mark.split_once('|').ok_or(mark)) {
            Some(Ok((id, phase))) => (Some(id), Some(phase)),
            Some(Err(id)) => (Some(id), None),
            None => (None, None),
        };
        let content = [Part::OutputText { text, annotations: [] }];
        Self { r#type: "message", role: "assistant", id, phase, content }
    }
}

impl<'a> CallItem<'a> {
    fn new(call: &'a ToolCall, replays: bool) -> Self {
        let item_id = call.id.split_once('|').map(|(_, item_id)| item_id);
        Self {
            r#type: "function_call",
            id: item_id.filter(|id| replays && !id.is_empty()),
            call_id: call_id(&call.id),
            name: &call.name,
            arguments: &call.arguments,
        }
    }
}

fn output<'a>(model: &Model, result: &'a ToolResultMessage) -> Item<'a> {
    let has_image = result.content.iter().any(|block| block.as_text().is_none());
    let output = if has_image && model.has_vision() {
        Output::Parts(result.content.iter().filter_map(|block| part(model, block)).collect())
    } else {
        Output::Text(plain(&result.content))
    };
    Item::Output { r#type: "function_call_output", call_id: call_id(result.tool_call_id.as_str()), output }
}

/// All blocks as text; a picture becomes a note.
fn plain(blocks: &[UserBlock]) -> Cow<'_, str> {
    match blocks {
        [UserBlock::Text(block)] => Cow::Borrowed(&block.text),
        _ => {
            let texts: Vec<&str> = blocks.iter().map(|block| block.as_text().unwrap_or(IMAGE_OMITTED)).collect();
            Cow::Owned(texts.join("\n"))
        }
    }
}

/// The part of a call's id that the server calls `call_id`, made acceptable if another API gave it.
fn call_id(id: &str) -> Cow<'_, str> {
    let id = id.split('|').next().unwrap_or_default();
    let fits = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if id.len() <= LONGEST_ID && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let start: String = id.chars().filter(|&character| fits(character)).take(LONGEST_ID - 17).collect();
    Cow::Owned(format!("{start}_{:016x}", hasher.finish()))
}
