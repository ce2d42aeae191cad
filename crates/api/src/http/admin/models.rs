//! Models: list, test, and usage.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use manyhands_agent::Failure;
use manyhands_agent_services::local_time;
use manyhands_config::models::ProviderKind;
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_llm::{Checked, ModelError, ModelId, Models, OfferedModel, ProviderModels, Usage};
use manyhands_store::UsageRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{body, query};
use crate::http::object::Json;

/// Days of usage by default.
const DAYS: u32 = 30;
/// Most days of usage.
const MAX_DAYS: u32 = 3_660;

/// Price of a model, in dollars per million tokens.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Input tokens.
    input: f64,
    /// Output tokens.
    output: f64,
    /// Tokens read from the provider's cache; null means the price of `input`.
    cache_read: Option<f64>,
    /// Tokens written to the provider's cache; null means the price of `input`.
    cache_write: Option<f64>,
}

/// A model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// Id at its provider.
    model: String,
    /// As `provider/model`.
    id: ModelId,
    /// Display name.
    title: Option<String>,
    /// Context window, in tokens.
    context_tokens: Option<u64>,
    /// Price, if known.
    price: Option<ModelPrice>,
}

/// A provider with its models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Its name in the settings.
    provider: String,
    /// Wire format.
    kind: ProviderKind,
    /// Endpoint; empty for a script.
    base_url: String,
    /// Its models named in the settings.
    configured: Vec<ModelId>,
    /// The same, with details.
    used: Vec<ModelView>,
    /// Whether it replays a file instead of calling a model.
    scripted: bool,
    /// Models it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<Vec<ModelView>>,
    /// Why its models could not be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// All configured models.
#[derive(Serialize, JsonSchema)]
pub struct ModelList {
    /// The default model.
    default: Option<String>,
    /// Fallback models, in order.
    fallbacks: Vec<String>,
    /// Every provider.
    providers: Vec<ProviderView>,
    /// Problems in the model settings.
    problems: Vec<String>,
}

/// Lists all providers with their models.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ModelList> {
    let models = gateway.model_registry.now();
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    // The guard above cancels the requests to providers if the client disconnects.
    let providers = models.list(&gone).await;
    let settings = gateway.settings.current();
    answer(ModelList {
        default: settings.models.default.clone(),
        fallbacks: settings.models.fallbacks.clone(),
        providers: providers.iter().map(|one| shown(&models, one)).collect(),
        problems: models.problems().to_vec(),
    })
}

/// A provider with the details of its models.
pub(super) fn shown(models: &Models, provider: &ProviderModels) -> ProviderView {
    // Details come from the list of the provider; a model it does not offer is shown by its id
    // alone.
    let known = |model: &ModelId| {
        let offered = provider.offered.as_ref().ok()?;
        offered.iter().find(|one| one.model == model.model)
    };
    let of = |offered: &OfferedModel| {
        let model = ModelId {
            provider: provider.provider.clone(),
            model: offered.model.clone(),
        };
        one(models, &model, Some(offered))
    };
    let used = provider.configured.iter();
    let used = used.map(|model| one(models, model, known(model)));
    let offered = provider.offered.as_ref();
    ProviderView {
        provider: provider.provider.clone(),
        kind: provider.kind,
        base_url: provider.base_url.clone(),
        configured: provider.configured.clone(),
        used: used.collect(),
        scripted: provider.scripted,
        offered: offered.ok().map(|all| all.iter().map(of).collect()),
        error: offered.err().map(ToString::to_string),
    }
}

fn one(models: &Models, model: &ModelId, offered: Option<&OfferedModel>) -> ModelView {
    ModelView {
        model: model.model.clone(),
        id: model.clone(),
        title: offered.and_then(|one| one.title.clone()),
        context_tokens: offered.and_then(|one| one.context_tokens),
        price: models.price(model).map(|price| ModelPrice {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        }),
    }
}

/// The model to test.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// As `provider/model`; `models.default` by default.
    model: Option<String>,
}

/// A successful test.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTested {
    /// The model.
    model: ModelId,
    /// Duration of the response, in milliseconds.
    latency_ms: u64,
    /// The reply.
    text: String,
    /// Tokens used.
    usage: Usage,
    /// Cost in millionths of a dollar, if the price is known.
    cost_micros: Option<u64>,
    /// Whether it was a script and no model was called.
    scripted: bool,
}

/// Tests a model with a short prompt.
pub async fn test(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    test: Result<Json<Test>, JsonRejection>,
) -> Answer<ModelTested> {
    let models = gateway.model_registry.now();
    let model = match body(test)?.model {
        Some(text) => text
            .parse::<ModelId>()
            .map_err(|e| Refusal(ToolError::parameter("model", e.to_string())))?,
        None => models.default_model().cloned().ok_or_else(|| {
            Refusal(
                ToolError::parameter("model", "no model is configured")
                    .hint("add one with `manyhands models add`, or set models.default and models.providers in config.toml"),
            )
        })?,
    };
    gateway
        // Recorded first: a test costs money even if it fails.
        .note(&owner.caller, "model.test", &model.to_string())
        .await?;
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let checked = models.test(&model, &gone).await.map_err(failed)?;
    answer(tested(checked))
}

fn tested(checked: Checked) -> ModelTested {
    ModelTested {
        latency_ms: u64::try_from(checked.latency.as_millis()).unwrap_or(u64::MAX),
        text: checked.text,
        usage: checked.usage,
        cost_micros: checked.cost.micro_dollars(),
        scripted: checked.scripted,
        model: checked.model,
    }
}

/// Converts a model's failure to an error response.
fn failed(error: ModelError) -> Refusal {
    let message = format!("{}: {}", error.model, error.message);
    let failure = Failure::from(&error);
    let refused = ToolError {
        message,
        ..failure.refusal()
    };
    Refusal(refused.hint(error.kind.hint()))
}

/// Time range.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// Number of days including today; 30 by default.
    #[schemars(range(min = 1, max = 3660))]
    days: Option<u32>,
}

/// Usage of one day, agent, session and model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageRow")]
pub struct ModelUsageRow {
    /// Day in the owner's time zone.
    day: String,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// The session.
    session_key: String,
    /// The model.
    model: String,
    /// Number of replies.
    calls: i64,
    /// Input tokens.
    input_tokens: i64,
    /// Output tokens.
    output_tokens: i64,
    /// Tokens read from the provider's cache.
    cache_read_tokens: i64,
    /// Tokens written to the provider's cache.
    cache_write_tokens: i64,
    /// Cost in millionths of a dollar, as far as prices are known.
    cost_micros: i64,
}

/// Total usage.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotal {
    /// Number of replies.
    calls: i64,
    /// Input tokens.
    input_tokens: i64,
    /// Output tokens.
    output_tokens: i64,
    /// Cost in millionths of a dollar.
    cost_micros: i64,
}

/// Usage of models.
#[derive(Serialize, JsonSchema)]
pub struct UsageList {
    /// First day.
    since: String,
    /// Everything together.
    total: UsageTotal,
    /// Usage by day, agent, session and model.
    rows: Vec<ModelUsageRow>,
}

/// Returns usage by day, agent, session and model.
pub async fn usage(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    since: Result<Query<UsageQuery>, QueryRejection>,
) -> Answer<UsageList> {
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
    let total = UsageTotal {
        calls: sum(|row| row.calls),
        input_tokens: sum(|row| row.usage.input_tokens),
        output_tokens: sum(|row| row.usage.output_tokens),
        cost_micros: sum(|row| row.usage.cost_micros),
    };
    answer(UsageList {
        since,
        total,
        rows: rows.into_iter().map(ModelUsageRow::from).collect(),
    })
}

impl From<UsageRow> for ModelUsageRow {
    fn from(row: UsageRow) -> Self {
        Self {
            day: row.usage.day,
            agent: row.agent,
            session_key: row.session_key,
            model: row.usage.model,
            calls: row.calls,
            input_tokens: row.usage.input_tokens,
            output_tokens: row.usage.output_tokens,
            cache_read_tokens: row.usage.cache_read_tokens,
            cache_write_tokens: row.usage.cache_write_tokens,
            cost_micros: row.usage.cost_micros,
        }
    }
}
