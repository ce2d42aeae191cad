//! Tokens and cost of turns and replies.

use manyhands_core::Timestamp;
use manyhands_llm::Reply;
use manyhands_store::Usage;

/// Usage of a turn.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnUsage {
    /// Number of model replies.
    pub replies: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost in millionths of a dollar, as far as prices are known.
    pub cost_micros: u64,
    /// Duration from start to end; absent while the turn is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Usage of one reply, as the store counts it.
pub(crate) fn usage_of(reply: &Reply, now: Timestamp) -> Usage {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    Usage {
        day: now.rfc3339().chars().take(10).collect(),
        model: reply.model.to_string(),
        input_tokens: count(reply.usage.total_input()),
        output_tokens: count(reply.usage.output),
        cache_read_tokens: count(reply.usage.cache_read),
        cache_write_tokens: count(reply.usage.cache_write),
        cost_micros: count(reply.cost.micro_dollars().unwrap_or(0)),
    }
}
