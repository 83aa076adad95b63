//! A home for sessions, and things to be said in them.

use dryad_protocol::entry::{Compaction, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_protocol::time::Timestamp;
use dryad_session::open::Opening;
use dryad_session::places::Places;
use dryad_session::problem::OpenError;
use dryad_session::session::Session;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When everything happens.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_738_314_300_000);

/// A directory of its own with a session store.
pub(crate) struct Home {
    pub(crate) root: tempfile::TempDir,
    pub(crate) places: Places,
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(&root.path().join("home"));
        Self { root, places }
    }

    pub(crate) fn cwd(&self) -> &'static Path {
        Path::new("/srv/project")
    }

    pub(crate) fn create(&self) -> Session {
        Session::create(&self.places, self.cwd(), None, NOW)
    }

    pub(crate) fn opening(&self) -> Opening<'_> {
        Opening { places: &self.places, cwd: None, here: self.cwd(), now: NOW }
    }

    pub(crate) fn open(&self, path: &Path) -> Result<Session, OpenError> {
        Session::open(path, &self.opening())
    }

    pub(crate) fn open_for_reading(&self, path: &Path) -> Session {
        Session::open_for_reading(path, &self.opening()).unwrap()
    }

    /// A file with these lines.
    pub(crate) fn file(&self, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        path
    }
}

pub(crate) fn user(text: &str) -> EntryBody {
    message(json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}))
}

pub(crate) fn assistant(text: &str) -> EntryBody {
    answer(json!([{"type": "text", "text": text}]), "stop")
}

pub(crate) fn calling(id: &str, tool: &str, arguments: &Value) -> EntryBody {
    answer(json!([{"type": "toolCall", "id": id, "name": tool, "arguments": arguments}]), "toolUse")
}

pub(crate) fn answer(content: Value, stop: &str) -> EntryBody {
    let cost = json!({"input": 0.01, "output": 0.02, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.03});
    message(json!({
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "p", "model": "m",
        "usage": {"input": 100, "output": 20, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 127, "cost": cost},
        "stopReason": stop, "timestamp": 2,
    }))
}

pub(crate) fn result(call: &str, tool: &str, text: &str) -> EntryBody {
    message(json!({"role": "toolResult", "toolCallId": call, "toolName": tool,
        "content": [{"type": "text", "text": text}], "isError": false, "timestamp": 3}))
}

pub(crate) fn message(value: Value) -> EntryBody {
    EntryBody::Message { message: Arc::new(serde_json::from_value::<Message>(value).unwrap()) }
}

pub(crate) fn compaction(summary: &str, first_kept: &EntryId) -> EntryBody {
    EntryBody::Compaction(Compaction {
        summary: summary.to_owned(),
        first_kept_entry_id: Some(first_kept.clone()),
        tokens_before: 10,
        ..Compaction::default()
    })
}

/// The texts that a model gets to see.
pub(crate) fn texts(session: &Session) -> Vec<String> {
    let texts = dryad_session::context::messages(session).into_iter().map(|message| {
        let value = serde_json::to_value(message.as_ref()).unwrap();
        let blocks = value["content"].as_array().cloned().unwrap_or_default();
        let text = blocks.iter().map(|block| block["text"].as_str().or(block["name"].as_str()).unwrap_or("?"));
        text.collect::<Vec<_>>().join("|")
    });
    texts.collect()
}
