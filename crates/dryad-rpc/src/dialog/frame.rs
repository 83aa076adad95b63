//! The frames of questions and answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the host's user is asked or told. The first four wait for an `extension_ui_response`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UiRequest<'a> {
    /// One of several; answered by `value`.
    Select {
        /// What it is about.
        title: &'a str,
        /// What there is to choose from.
        options: &'a [String],
        /// After so many milliseconds nothing was chosen.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Yes or no; answered by `confirmed`.
    Confirm {
        /// What it is about.
        title: &'a str,
        /// The question.
        message: &'a str,
        /// After so many milliseconds it is a no.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A line of text; answered by `value`.
    Input {
        /// What it is about.
        title: &'a str,
        /// What stands there before anything is typed.
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'a str>,
        /// After so many milliseconds nothing was typed.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A text to edit; answered by `value`.
    Editor {
        /// What it is about.
        title: &'a str,
        /// The text.
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'a str>,
        /// Whether it looks like the prompt.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_style: Option<bool>,
    },
    /// A question is not asked any more.
    Cancel {
        /// Its id.
        target_id: &'a str,
    },
    /// Something to be shown for a while.
    Notify {
        /// What.
        message: &'a str,
        /// How it is meant.
        #[serde(skip_serializing_if = "Option::is_none")]
        notify_type: Option<NotifyType>,
    },
    /// A short text that stays; without a text it goes.
    SetStatus {
        /// Whose.
        status_key: &'a str,
        /// The text.
        #[serde(skip_serializing_if = "Option::is_none")]
        status_text: Option<&'a str>,
    },
    /// Lines that stay; without lines they go.
    SetWidget {
        /// Whose.
        widget_key: &'a str,
        /// The lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_lines: Option<&'a [String]>,
        /// Where.
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_placement: Option<WidgetPlacement>,
    },
    /// The title of the window. Sent only when the environment asks for it.
    SetTitle {
        /// The title.
        title: &'a str,
    },
    /// A text for the prompt's editor.
    #[serde(rename = "set_editor_text")]
    SetEditorText {
        /// The text.
        text: &'a str,
    },
}

/// How a notice is meant.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NotifyType {
    /// For information.
    Info,
    /// As a warning.
    Warning,
    /// As an error.
    Error,
}

/// Where lines stand.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    /// Above the prompt's editor.
    AboveEditor,
    /// Below it.
    BelowEditor,
}

/// What the host's user has answered. No response follows.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UiResponse {
    /// The id of the request.
    pub id: String,
    /// What was chosen or typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// The dialog was closed without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    /// It was closed because the time was up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// A request with its id.
#[derive(Serialize)]
pub(super) struct UiFrame<'a> {
    r#type: &'static str,
    id: &'a str,
    #[serde(flatten)]
    request: &'a UiRequest<'a>,
}

impl<'a> UiRequest<'a> {
    pub(super) fn frame(&'a self, id: &'a str) -> UiFrame<'a> {
        UiFrame { r#type: "extension_ui_request", id, request: self }
    }
}
