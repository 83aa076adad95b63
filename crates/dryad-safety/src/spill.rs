//! Large results: the whole text goes to a file, the model gets its two ends and the way to the rest.
//!
//! The last step before a result is given back. What is stored is what was given, so secrets must have been covered
//! before. Nothing is ever lost: a text that cannot be stored stays whole in the result.
//!
//! Trust boundary: the stored path may show how the place where a session runs is laid out. It is for the caller of this
//! result alone, and must not be written where others read without a look at it.

mod cut;

use crate::artifact::Artifacts;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use dryad_protocol::id::CallId;
use std::collections::BTreeSet;
use std::io;

/// Texts above so many bytes are stored, unless another limit is given.
pub const DEFAULT_SPILL_BYTES: usize = 64 * 1024;

/// Bytes that stay of each end.
const END_BYTES: usize = 8 * 1024;

/// Does something about results that are too large for a model.
pub trait ResultProcessor: Send + Sync {
    /// Gives back what the model shall see of a result, and where the rest is. May block on a disk.
    fn process(&self, call: &CallId, tool: &str, result: ToolResult) -> Processed;

    /// Whether [`process`](Self::process) would do anything; quick, so that small results need no thread that may block.
    fn concerns(&self, tool: &str, result: &ToolResult) -> bool;
}

/// A result after processing.
#[derive(Clone, Debug, PartialEq)]
pub struct Processed {
    /// What the model sees.
    pub result: ToolResult,
    stored_path: Option<String>,
}

/// Stores large texts as artifacts, which `read` brings back.
#[derive(Clone, Debug)]
pub struct Spill {
    artifacts: Artifacts,
    limit: usize,
    exempt: BTreeSet<String>,
}

impl Processed {
    /// A result as it was: nothing is stored.
    pub fn unchanged(result: ToolResult) -> Self {
        Self { result, stored_path: None }
    }

    /// A result whose whole text is stored at `path`; an empty path means that it is not.
    pub fn stored(result: ToolResult, path: impl Into<String>) -> Self {
        Self { result, stored_path: Some(path.into()).filter(|path| !path.is_empty()) }
    }

    /// Whether the result was shortened, which is so exactly when the whole is stored.
    pub fn truncated(&self) -> bool {
        self.stored_path.is_some()
    }

    /// Where the whole is: a file, or whatever the processor calls a place. For the caller alone.
    pub fn stored_path(&self) -> Option<&str> {
        self.stored_path.as_deref()
    }
}

impl Spill {
    /// Stores texts above [`DEFAULT_SPILL_BYTES`] of all tools but `read` and `bash`, which cut their own.
    pub fn new(artifacts: Artifacts) -> Self {
        let exempt = ["read", "bash"].map(str::to_owned);
        Self { artifacts, limit: DEFAULT_SPILL_BYTES, exempt: exempt.into() }
    }

    /// The same with another limit in bytes.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The same, leaving the results of one more tool alone.
    #[must_use]
    pub fn exempting(mut self, tool: impl Into<String>) -> Self {
        self.exempt.insert(tool.into());
        self
    }

    /// Stores the texts of a result, a line break between two blocks.
    fn store(&self, tool: &str, result: &ToolResult) -> io::Result<(u64, String)> {
        let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
        let artifact = self.artifacts.keep(tool, texts.join("\n").as_bytes())?;
        let address = address(artifact.number);
        let path = artifact.path.into_os_string().into_string();
        // A path that is no text cannot be told as text; its address can.
        Ok((artifact.number, path.unwrap_or(address)))
    }
}

impl ResultProcessor for Spill {
    fn process(&self, call: &CallId, tool: &str, mut result: ToolResult) -> Processed {
        if !self.concerns(tool, &result) {
            return Processed::unchanged(result);
        }
        match self.store(tool, &result) {
            Ok((number, path)) => {
                cut::keep_ends(&mut result.content, END_BYTES.min(self.limit / 4), &address(number));
                Processed::stored(result, path)
            }
            Err(error) => {
                tracing::warn!(%call, tool, %error, "a large result could not be stored and stays whole");
                Processed::unchanged(result)
            }
        }
    }

    fn concerns(&self, tool: &str, result: &ToolResult) -> bool {
        let bytes = || result.content.iter().filter_map(UserBlock::as_text).map(str::len).sum::<usize>();
        !self.exempt.contains(tool) && bytes() > self.limit
    }
}

fn address(number: u64) -> String {
    format!("artifact://{number}")
}
