//! The pipeline and the orchestrator, driven as an embedder would: with tools of their own.
#![expect(clippy::unwrap_used, reason = "test code")]

mod batch;
mod pipeline;
mod support;
