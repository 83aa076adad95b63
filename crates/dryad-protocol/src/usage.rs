//! What a model request consumed and what it cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one request, and their price.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens the model wrote, its reasoning included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// The sum of the four.
    pub total_tokens: u64,
    /// In dollars.
    pub cost: Cost,
}

/// Dollars by kind of token.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// For `Usage::input`.
    pub input: f64,
    /// For `Usage::output`.
    pub output: f64,
    /// For `Usage::cache_read`.
    pub cache_read: f64,
    /// For `Usage::cache_write`.
    pub cache_write: f64,
    /// The sum.
    pub total: f64,
}

/// A model's prices in dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// Prompt tokens.
    pub input: f64,
    /// Written tokens.
    pub output: f64,
    /// Prompt tokens read from a cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache.
    pub cache_write: f64,
}

/// Token counts as a provider reports them, before they are priced.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TokenCounts {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens the model wrote, its reasoning included.
    pub output: u64,
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Prompt tokens written to a cache.
    pub cache_write: u64,
}

impl Usage {
    /// Adds what another request consumed.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total_tokens += other.total_tokens;
        self.cost.input += other.cost.input;
        self.cost.output += other.cost.output;
        self.cost.cache_read += other.cost.cache_read;
        self.cost.cache_write += other.cost.cache_write;
        self.cost.total += other.cost.total;
    }

    /// Prices these counts.
    pub fn priced(counts: TokenCounts, prices: &Prices) -> Self {
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let mut cost = Cost {
            input: dollars(counts.input, prices.input),
            output: dollars(counts.output, prices.output),
            cache_read: dollars(counts.cache_read, prices.cache_read),
            cache_write: dollars(counts.cache_write, prices.cache_write),
            total: 0.0,
        };
        cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
        let TokenCounts { input, output, cache_read, cache_write } = counts;
        Self { input, output, cache_read, cache_write, total_tokens: input + output + cache_read + cache_write, cost }
    }
}
