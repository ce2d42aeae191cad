//! Usage of models.

use manyhands_core::AgentId;

use super::Sessions;
use crate::error::StoreError;
use crate::sql::Statement;

/// Usage of one reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The day, `2026-11-15`.
    pub day: String,
    /// The model that answered.
    pub model: String,
    /// Input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: i64,
    /// Cost in millionths of a dollar.
    pub cost_micros: i64,
}

/// Usage of one model on one day, by agent and session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The agent.
    pub agent: AgentId,
    /// The session.
    pub session_key: String,
    /// Number of replies.
    pub calls: i64,
    /// Their sum.
    pub usage: Usage,
}

impl Usage {
    pub(super) fn add(&self, agent: &AgentId, session_key: &str) -> Statement {
        Statement::new(
            "INSERT INTO model_usage (day, agent, session_key, model, calls, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, cost_micros)
             VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9)
             ON CONFLICT (day, agent, session_key, model) DO UPDATE SET
                 calls = model_usage.calls + 1,
                 input_tokens = model_usage.input_tokens + excluded.input_tokens,
                 output_tokens = model_usage.output_tokens + excluded.output_tokens,
                 cache_read_tokens = model_usage.cache_read_tokens + excluded.cache_read_tokens,
                 cache_write_tokens = model_usage.cache_write_tokens + excluded.cache_write_tokens,
                 cost_micros = model_usage.cost_micros + excluded.cost_micros",
        )
        .bind(self.day.as_str())
        .bind(agent.as_str())
        .bind(session_key)
        .bind(self.model.as_str())
        .bind(self.input_tokens)
        .bind(self.output_tokens)
        .bind(self.cache_read_tokens)
        .bind(self.cache_write_tokens)
        .bind(self.cost_micros)
    }
}

impl Sessions {
    /// Usage since a day, newest day first.
    pub async fn usage(&self, since: &str) -> Result<Vec<UsageRow>, StoreError> {
        let select = Statement::new(
            "SELECT day, agent, session_key, model, calls, input_tokens, output_tokens,
                 cache_read_tokens, cache_write_tokens, cost_micros FROM model_usage",
        )
        .then_with(" WHERE day >= ", since)
        .then(" ORDER BY day DESC, agent, session_key, model LIMIT 10000");
        let rows = self.sql.all(select).await?;
        let read = |row: &crate::sql::Row| {
            Ok(UsageRow {
                agent: row.parsed("agent")?,
                session_key: row.text("session_key")?,
                calls: row.int("calls")?,
                usage: Usage {
                    day: row.text("day")?,
                    model: row.text("model")?,
                    input_tokens: row.int("input_tokens")?,
                    output_tokens: row.int("output_tokens")?,
                    cache_read_tokens: row.int("cache_read_tokens")?,
                    cache_write_tokens: row.int("cache_write_tokens")?,
                    cost_micros: row.int("cost_micros")?,
                },
            })
        };
        rows.iter().map(read).collect()
    }
}
