//! Reverse thinking: the agent challenges its own choice before a call that asks for it.
//!
//! A checkpoint asks whether a person approves; this asks whether the agent, thinking against itself,
//! still does. Which of the two comes first, or whether one stands for the other, is the order of the
//! list of gates. Without anybody to think, the call goes on: a deliverable is never forced to exist.

use super::{Gate, Origin, Subject, Verdict};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Where the deliverable is kept in the record of a call.
pub const METADATA_KEY: &str = "flyto.counterfactual.deliverable";

/// Where reverse thinking stands beside the checkpoint.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReverseThinkingOrder {
    /// Nowhere.
    Off,
    /// Before it.
    #[default]
    BeforeCheckpoint,
    /// After it.
    AfterCheckpoint,
    /// In its place.
    InsteadOfCheckpoint,
}

/// What a challenge has come to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Deliverable {
    /// What was taken for granted.
    pub hidden_assumptions: Vec<String>,
    /// How it could fail.
    pub failure_scenarios: Vec<String>,
    /// Keep, switch, or find out more.
    pub verdict: ChallengeVerdict,
    /// Why.
    pub verdict_reason: String,
    /// Which step was challenged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// When.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub produced_at: String,
    /// Who thought.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// The verdict of a challenge.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum ChallengeVerdict {
    /// The choice holds.
    #[default]
    #[serde(rename = "A_holds")]
    Holds,
    /// Another way is better.
    #[serde(rename = "B_wins")]
    OtherWins,
    /// It depends on something that is not known yet.
    #[serde(rename = "depends_on_X")]
    Depends,
}

/// What is challenged.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// Which tool.
    pub tool_name: String,
    /// What it says of itself.
    pub description: String,
    /// With which arguments.
    pub arguments: Map<String, Value>,
}

/// Thinks against a choice.
pub trait Challenger: Send + Sync {
    /// Challenges one call.
    fn challenge(&self, challenge: Challenge) -> BoxFuture<'_, Result<Deliverable, String>>;
}

/// The gate.
pub struct ReverseThinking {
    challenger: Option<Arc<dyn Challenger>>,
}

impl ReverseThinking {
    /// A gate that asks this one to think, if there is one.
    pub fn new(challenger: Option<Arc<dyn Challenger>>) -> Self {
        Self { challenger }
    }

    async fn think(&self, subject: Subject<'_>) -> Verdict {
        let spec = subject.tool.spec();
        let Some(challenger) = &self.challenger else {
            tracing::info!(tool = spec.name, "no model to challenge the call: it goes on unchallenged");
            return Verdict::Allow;
        };
        let challenge = Challenge {
            tool_name: spec.name.clone(),
            description: spec.description.clone(),
            arguments: subject.arguments.clone(),
        };
        let deliverable = match challenger.challenge(challenge).await {
            Ok(deliverable) => deliverable,
            Err(problem) => {
                tracing::warn!(tool = spec.name, problem, "the challenge failed: the call goes on unchallenged");
                return Verdict::Allow;
            }
        };
        let verdict = match deliverable.verdict {
            ChallengeVerdict::OtherWins => Verdict::Deny(deliverable.verdict_reason.clone()),
            ChallengeVerdict::Holds | ChallengeVerdict::Depends => Verdict::Allow,
        };
        subject.notes.set_deliverable(deliverable);
        verdict
    }
}

impl Gate for ReverseThinking {
    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let asked = subject.origin == Origin::Call && subject.tool.spec().metadata.requires_reverse_thinking;
        Box::pin(async move { Ok(if asked { self.think(subject).await } else { Verdict::Allow }) })
    }
}
