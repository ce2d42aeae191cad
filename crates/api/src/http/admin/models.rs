//! Models: which there are, whether one answers, and what was used up.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use manyhands_agent::Failure;
use manyhands_agent_services::local_time;
use manyhands_config::models::ProviderKind;
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_llm::{Checked, ModelError, ModelId, Models, Offered, ProviderModels, Usage};
use manyhands_store::UsageRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{body, query};
use crate::http::object::Json;

/// How many days of use are shown unless said.
const DAYS: u32 = 30;
/// How many days may be asked for.
const MAX_DAYS: u32 = 3_660;

/// What a model costs, in dollars for a million tokens.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Tokens that are read.
    input: f64,
    /// Tokens that are written.
    output: f64,
    /// Tokens read from the provider's cache; as `input` where it is null.
    cache_read: Option<f64>,
    /// Tokens written to the provider's cache; as `input` where it is null.
    cache_write: Option<f64>,
}

/// A model, with what is known of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// As its provider names it.
    model: String,
    /// As `provider/model`.
    id: ModelId,
    /// What it is called.
    title: Option<String>,
    /// How many tokens it takes.
    context_tokens: Option<u64>,
    /// What it costs, where that is known.
    price: Option<ModelPrice>,
}

/// A provider with its models.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Its name in the settings.
    provider: String,
    /// How it speaks.
    kind: ProviderKind,
    /// Where it is; empty for a script.
    base_url: String,
    /// Models of it that the settings name.
    configured: Vec<ModelId>,
    /// The same, with what is known of them.
    used: Vec<ModelView>,
    /// It replays a file; no model is there.
    scripted: bool,
    /// What it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<Vec<ModelView>>,
    /// Why it does not say what it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The models that there are.
#[derive(Serialize, JsonSchema)]
pub struct ModelList {
    /// The model that is used unless said.
    default: Option<String>,
    /// Models to turn to, in order.
    fallbacks: Vec<String>,
    /// Every provider.
    providers: Vec<ProviderView>,
    /// What is wrong with the settings of models.
    problems: Vec<String>,
}

/// Every provider with what it has, and which models are used.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ModelList> {
    let models = gateway.model_registry.now();
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let providers = models.list(&gone).await;
    let settings = gateway.settings.current();
    answer(ModelList {
        default: settings.models.default.clone(),
        fallbacks: settings.models.fallbacks.clone(),
        providers: providers.iter().map(|one| shown(&models, one)).collect(),
        problems: models.problems().to_vec(),
    })
}

/// A provider with what is known of its models.
pub(super) fn shown(models: &Models, provider: &ProviderModels) -> ProviderView {
    let known = |model: &ModelId| {
        let offered = provider.offered.as_ref().ok()?;
        offered.iter().find(|one| one.model == model.model)
    };
    let of = |offered: &Offered| {
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

fn one(models: &Models, model: &ModelId, offered: Option<&Offered>) -> ModelView {
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

/// What to try.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// As `provider/model`; `models.default` when not said.
    model: Option<String>,
}

/// A model that answered.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTested {
    /// The model.
    model: ModelId,
    /// How long the whole answer took, in milliseconds.
    latency_ms: u64,
    /// What it said.
    text: String,
    /// What it used up.
    usage: Usage,
    /// What that cost, in millionths of a dollar, where its price is known.
    cost_micros: Option<u64>,
    /// It was a script; no model was asked.
    scripted: bool,
}

/// Asks a model for a word.
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
                ToolError::parameter("model", "no model is set")
                    .hint("add one with `manyhands models add`, or set models.default and models.providers in config.toml"),
            )
        })?,
    };
    gateway
        .note(&owner.caller, "model.test", &model.to_string())
        .await?;
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let checked = models.test(&model, &gone).await.map_err(failed)?;
    answer(told(checked))
}

fn told(checked: Checked) -> ModelTested {
    ModelTested {
        latency_ms: u64::try_from(checked.latency.as_millis()).unwrap_or(u64::MAX),
        text: checked.text,
        usage: checked.usage,
        cost_micros: checked.cost.micro_dollars(),
        scripted: checked.scripted,
        model: checked.model,
    }
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

/// What was used up on one day, by one agent, in one session, of one model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageRow")]
pub struct Used {
    /// The day, in the owner's zone.
    day: String,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// The session.
    session_key: String,
    /// The model.
    model: String,
    /// How many replies.
    calls: i64,
    /// Tokens that were read.
    input_tokens: i64,
    /// Tokens that were written.
    output_tokens: i64,
    /// Tokens read from the provider's cache.
    cache_read_tokens: i64,
    /// Tokens written to the provider's cache.
    cache_write_tokens: i64,
    /// What it cost, in millionths of a dollar, as far as prices are known.
    cost_micros: i64,
}

/// Everything together.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotal {
    /// How many replies.
    calls: i64,
    /// Tokens that were read.
    input_tokens: i64,
    /// Tokens that were written.
    output_tokens: i64,
    /// What it cost, in millionths of a dollar.
    cost_micros: i64,
}

/// What models used up.
#[derive(Serialize, JsonSchema)]
pub struct UsageList {
    /// The first day that is counted.
    since: String,
    /// Everything together.
    total: UsageTotal,
    /// By day, agent, session and model.
    rows: Vec<Used>,
}

/// What models used up, by day, agent, session and model.
pub async fn usage(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    since: Result<Query<Since>, QueryRejection>,
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
        rows: rows.into_iter().map(Used::from).collect(),
    })
}

impl From<UsageRow> for Used {
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
