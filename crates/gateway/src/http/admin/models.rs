//! Models: which there are, whether one answers, and what was used up.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use manyhands_agent::Failure;
use manyhands_core::ToolError;
use manyhands_llm::{Checked, ModelError, ModelId, Models, Offered, ProviderModels};
use manyhands_store::UsageRow;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{body, query};
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};
use crate::minds::local_time;

/// How many days of use are shown unless said.
const DAYS: u32 = 30;
/// How many days may be asked for.
const MAX_DAYS: u32 = 3_660;

/// Every provider with what it has, and which models are used.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let models = gateway.thinkers.now();
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let providers = models.list(&gone).await;
    let providers: Vec<Value> = providers.iter().map(|one| shown(&models, one)).collect();
    let settings = gateway.settings.current();
    answer(json!({
        "default": settings.models.default,
        "fallbacks": settings.models.fallbacks,
        "providers": providers,
        "problems": models.problems(),
    }))
}

fn shown(models: &Models, provider: &ProviderModels) -> Value {
    let known = |model: &ModelId| {
        let offered = provider.offered.as_ref().ok()?;
        offered.iter().find(|one| one.model == model.model)
    };
    let used = provider.configured.iter();
    let used = used.map(|model| one(models, model, known(model)));
    let mut shown = json!({
        "provider": provider.provider,
        "kind": provider.kind,
        "baseUrl": provider.base_url,
        "configured": provider.configured,
        "used": used.collect::<Vec<_>>(),
        "scripted": provider.scripted,
    });
    match &provider.offered {
        Ok(offered) => {
            let of = |offered: &Offered| {
                let model = ModelId {
                    provider: provider.provider.clone(),
                    model: offered.model.clone(),
                };
                one(models, &model, Some(offered))
            };
            shown["offered"] = offered.iter().map(of).collect();
        }
        Err(error) => shown["error"] = json!(error.to_string()),
    }
    shown
}

/// A model, with what is known of it: prices are in dollars per million tokens.
fn one(models: &Models, model: &ModelId, offered: Option<&Offered>) -> Value {
    json!({
        "model": model.model,
        "id": model,
        "title": offered.and_then(|one| one.title.as_deref()),
        "contextTokens": offered.and_then(|one| one.context_tokens),
        "price": models.price(model).map(|price| json!({
            "input": price.input,
            "output": price.output,
            "cacheRead": price.cache_read,
            "cacheWrite": price.cache_write,
        })),
    })
}

/// What to try.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// As `provider/model`; `models.default` when not said.
    model: Option<String>,
}

/// Asks a model for a word.
pub async fn test(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    test: Result<Json<Test>, JsonRejection>,
) -> Answer {
    let models = gateway.thinkers.now();
    let model = match body(test)?.model {
        Some(text) => text
            .parse::<ModelId>()
            .map_err(|e| Refusal(ToolError::parameter("model", e.to_string())))?,
        None => models.default_model().cloned().ok_or_else(|| {
            Refusal(
                ToolError::parameter("model", "no model is set")
                    .hint("set models.default and models.providers in config.toml"),
            )
        })?,
    };
    gateway
        .note(&owner.caller, "model.test", &model.to_string())
        .await?;
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let checked = models.test(&model, &gone).await.map_err(failed)?;
    answer(told(&checked))
}

fn told(checked: &Checked) -> Value {
    json!({
        "model": checked.model,
        "latencyMs": u64::try_from(checked.latency.as_millis()).unwrap_or(u64::MAX),
        "text": checked.text,
        "usage": checked.usage,
        "costMicros": checked.cost.micro_dollars(),
        "scripted": checked.scripted,
    })
}

/// A model's failure as a refusal.
fn failed(error: ModelError) -> Refusal {
    let message = format!("{}: {}", error.model, error.message);
    let failure = Failure::from(&error);
    let refused = ToolError {
        message,
        ..failure.refusal()
    };
    Refusal(refused.hint(error.kind.hint()))
}

/// How far back to look.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// How many days, today included; 30 when not said.
    #[schemars(range(min = 1, max = 3660))]
    days: Option<u32>,
}

/// What models used up, by day, agent, session and model.
pub async fn usage(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    since: Result<Query<Since>, QueryRejection>,
) -> Answer {
    let days = query(since)?.days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        let message = format!("must be between 1 and {MAX_DAYS}");
        return Err(Refusal(ToolError::parameter("days", message)));
    }
    let back = i64::from(days - 1) * 86_400_000;
    let zone = gateway.settings.current().timezone.clone();
    let since = local_time(gateway.clock.now().0 - back, zone.as_deref()).day;
    let rows = gateway.store.sessions().usage(&since).await?;
    let sum = |of: fn(&UsageRow) -> i64| rows.iter().map(of).sum::<i64>();
    answer(json!({
        "since": since,
        "total": {
            "calls": sum(|row| row.calls),
            "inputTokens": sum(|row| row.usage.input_tokens),
            "outputTokens": sum(|row| row.usage.output_tokens),
            "costMicros": sum(|row| row.usage.cost_micros),
        },
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    }))
}

fn row(row: &UsageRow) -> Value {
    json!({
        "day": row.usage.day,
        "agent": row.agent,
        "sessionKey": row.session_key,
        "model": row.usage.model,
        "calls": row.calls,
        "inputTokens": row.usage.input_tokens,
        "outputTokens": row.usage.output_tokens,
        "cacheReadTokens": row.usage.cache_read_tokens,
        "cacheWriteTokens": row.usage.cache_write_tokens,
        "costMicros": row.usage.cost_micros,
    })
}
