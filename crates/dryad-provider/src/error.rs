//! Why a model request failed, by what can be done about it.
//!
//! Texts shown here may come from a server; keys are removed from them before they are put in.

use std::time::Duration;
use thiserror::Error;

/// Why a model request failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProviderError {
    /// There is no key, or the server does not accept it.
    #[error("authentication failed for {provider}: {message}")]
    Auth {
        /// Whose key.
        provider: String,
        /// The HTTP status, when the server said so by one.
        status: Option<u16>,
        /// What the server, or the key's source, said.
        message: String,
    },
    /// Too many requests, or a quota is used up.
    #[error("rate limited ({status}): {message}")]
    RateLimit {
        /// The HTTP status; 200 when a stream said so.
        status: u16,
        /// What the server said.
        message: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server cannot take the request now.
    #[error("overloaded ({status}): {message}")]
    Overloaded {
        /// The HTTP status; 200 when a stream said so.
        status: u16,
        /// What the server said.
        message: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit into the model's window.
    #[error("context too long: {message}")]
    ContextOverflow {
        /// The HTTP status, when the server said so by one.
        status: Option<u16>,
        /// What the server said.
        message: String,
    },
    /// The server refuses the request itself.
    #[error("bad request ({status}): {message}")]
    BadRequest {
        /// The HTTP status; 200 when a stream said so.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// No answer: the host is unknown, unreachable, silent, or not a model server.
    #[error("network error: {message}")]
    Network {
        /// What happened, with the host.
        message: String,
    },
    /// The answer began and did not end as it should.
    #[error("stream broken: {message}")]
    StreamBroken {
        /// What happened.
        message: String,
    },
    /// The model or its API cannot do what was asked.
    #[error("unsupported: {message}")]
    Unsupported {
        /// What it cannot do.
        message: String,
    },
}

impl ProviderError {
    /// Whether the same request may go through later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimit { .. } | Self::Overloaded { .. } | Self::Network { .. } | Self::StreamBroken { .. } => true,
            Self::Auth { .. } | Self::ContextOverflow { .. } | Self::BadRequest { .. } | Self::Unsupported { .. } => {
                false
            }
        }
    }

    /// The HTTP status that the server failed with, if it did by one.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::Auth { status, .. } | Self::ContextOverflow { status, .. } => *status,
            Self::RateLimit { status, .. } | Self::Overloaded { status, .. } | Self::BadRequest { status, .. } => {
                Some(*status).filter(|status| *status != 200)
            }
            Self::Network { .. } | Self::StreamBroken { .. } | Self::Unsupported { .. } => None,
        }
    }

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimit { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            Self::Auth { .. }
            | Self::ContextOverflow { .. }
            | Self::BadRequest { .. }
            | Self::Network { .. }
            | Self::StreamBroken { .. }
            | Self::Unsupported { .. } => None,
        }
    }
}
