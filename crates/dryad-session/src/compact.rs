//! Making room: what a compaction summarises, what it keeps, and what the model is asked for.
//!
//! ```text
//! tokens ─► threshold ─► prune old tool outputs ─► plan (cut point, files) ─► prompts ─► [model] ─► entry
//! ```
//!
//! Nothing here asks a model: a [`plan::Plan`] hands out prompts and takes the answers.

pub mod branch;
mod cut;
pub mod files;
pub mod plan;
pub mod prompt;
pub mod prune;
pub mod tokens;
mod transcript;

/// When the context is compacted, and what stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// Tokens that are left free for the answer.
    pub reserve_tokens: u64,
    /// Tokens of the newest messages that are kept as they are.
    pub keep_recent_tokens: u64,
    /// Above so many tokens; takes precedence.
    pub threshold_tokens: Option<u64>,
    /// Above such a part of the window, in percent.
    pub threshold_percent: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            threshold_tokens: None,
            threshold_percent: None,
        }
    }
}

impl Settings {
    /// Above how many tokens the context of a model with this window is compacted.
    pub fn threshold(&self, window: u64) -> u64 {
        match (self.threshold_tokens, self.threshold_percent) {
            (Some(tokens), _) if tokens > 0 => tokens,
            (_, Some(percent)) if percent > 0.0 => (window as f64 * percent.min(100.0) / 100.0) as u64,
            (_, _) => window.saturating_sub(self.reserve_tokens.max(window * 15 / 100)),
        }
    }

    /// Whether a context of so many tokens is compacted by itself.
    pub fn is_due(&self, tokens: u64, window: u64) -> bool {
        self.enabled && window > 0 && tokens > self.threshold(window)
    }
}

#[cfg(test)]
mod tests;
