//! Sessions: listed, looked into, begun anew, shortened, set. A client has those under its name.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_agent::{ResetPolicy, SessionKey, SessionMessage, SessionSettings};
use manyhands_agent_services::{own_part, session_key};
use manyhands_core::{AgentId, Caller, ErrorCode, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Asker, Refusal, answer};
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::SessionRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::shapes;

/// How many sessions, or messages, are shown unless said.
const LIMIT: u32 = 50;
/// How many may be asked for at once.
const MAX_LIMIT: u32 = 500;
/// How many messages stay when a session is shortened, unless said.
const KEEP: usize = 20;

/// Which sessions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Of this agent; of all when not said.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent: Option<String>,
    /// How many; 50 when not said.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// How many to leave out first.
    #[serde(default)]
    offset: u32,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its key, `agent:NAME:REST`.
    session_key: String,
    /// Its present id; a reset gives it another.
    session_id: String,
    /// Whose conversation.
    #[schemars(with = "String")]
    agent: AgentId,
    /// What the user calls it.
    label: Option<String>,
    /// When it was made.
    created_at: String,
    /// When somebody last said something in it.
    last_active_at: String,
    /// How many messages it shows, without what is archived.
    messages: u64,
    /// Tokens that went in since the last reset.
    input_tokens: i64,
    /// Tokens that came out since the last reset.
    output_tokens: i64,
    /// What that cost, in millionths of a dollar.
    cost_micros: i64,
    /// Whether a turn runs in it now.
    busy: bool,
}

/// Sessions.
#[derive(Serialize, JsonSchema)]
pub struct SessionList {
    /// How many are listed.
    count: usize,
    /// The sessions, the latest active first.
    sessions: Vec<SessionView>,
    /// How many there are, where that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// One session, whole.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWhole {
    #[serde(flatten)]
    view: SessionView,
    /// What is set for it.
    settings: SessionSettings,
    /// How many inputs wait in it.
    queued: usize,
    /// When it was last begun anew.
    last_reset_at: Option<String>,
    /// The ids it had before.
    previous: Vec<String>,
}

/// One session.
#[derive(Serialize, JsonSchema)]
pub struct SessionShown {
    /// The session.
    session: SessionWhole,
}

/// Sessions, the latest active first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer<SessionList> {
    let which = query(which)?;
    let agent: Option<AgentId> = match which.agent.as_deref().map(str::parse) {
        Some(Err(e)) => return Err(Refusal(ToolError::parameter("agent", format!("{e}")))),
        Some(Ok(agent)) => Some(agent),
        None => None,
    };
    session_key(&asker.caller, &AgentId::main(), "main")?;
    let (limit, offset) = (limit(which.limit)?, which.offset);
    let minds = gateway.minds();
    let (sessions, total) = match own_part(&asker.caller) {
        None => {
            let (sessions, all) = minds.list(agent.as_ref(), limit, offset).await?;
            (sessions, agent.is_none().then_some(all))
        }
        Some(own) => {
            let listed = minds.list_under(&own, agent.as_ref(), limit, offset);
            let (sessions, all) = listed.await?;
            (sessions, Some(all))
        }
    };
    let counts = minds.message_counts(&sessions).await?;
    let view = |one: &SessionRecord| {
        let messages = counts.get(&one.key).copied().unwrap_or(0);
        brief(&gateway, one, messages)
    };
    answer(SessionList {
        count: sessions.len(),
        sessions: sessions.iter().map(view).collect(),
        total,
    })
}

fn limit(said: Option<u32>) -> Result<u32, Refusal> {
    let limit = said.unwrap_or(LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("must be between 1 and {MAX_LIMIT}");
    Err(Refusal(ToolError::parameter("limit", message)))
}

fn brief(gateway: &Gateway, session: &SessionRecord, messages: u64) -> SessionView {
    let busy = session
        .key
        .parse()
        .is_ok_and(|key| gateway.minds().is_busy(&key));
    SessionView {
        session_key: session.key.clone(),
        session_id: session.id.clone(),
        agent: session.agent.clone(),
        label: session.label.clone(),
        created_at: session.created.rfc3339(),
        last_active_at: session.last_active.rfc3339(),
        messages,
        input_tokens: session.input_tokens,
        output_tokens: session.output_tokens,
        cost_micros: session.cost_micros,
        busy,
    }
}

/// The key in the address, if the asker may use it.
fn key(asker: &Caller, text: &str) -> Result<SessionKey, ToolError> {
    session_key(asker, &AgentId::main(), text)
}

/// One session, whole.
async fn whole(gateway: &Gateway, key: &SessionKey) -> Answer<SessionShown> {
    let minds = gateway.minds();
    let session = minds.get(key).await?;
    let messages = minds.message_count(&session).await?;
    answer(SessionShown {
        session: SessionWhole {
            view: brief(gateway, &session, messages),
            settings: minds.settings(&session),
            queued: minds.queued(key).await?,
            last_reset_at: session.last_reset.map(|at| at.rfc3339()),
            previous: session.previous,
        },
    })
}

/// One session: its record, what is set, what it used up, what waits in it.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
) -> Answer<SessionShown> {
    whole(&gateway, &key(&asker.caller, &text)?).await
}

/// Which messages to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// How many; 50 when not said.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Only those before this number.
    before: Option<i64>,
}

/// Messages of a session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessages {
    /// The session.
    session_key: SessionKey,
    /// The messages, oldest first.
    messages: Vec<SessionMessage>,
}

/// The last messages of a session, oldest first.
pub async fn messages(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
    page: Result<Query<Page>, QueryRejection>,
) -> Answer<SessionMessages> {
    let page = query(page)?;
    let key = key(&asker.caller, &text)?;
    let before = page.before.unwrap_or(i64::MAX);
    let messages = gateway
        .minds()
        .before(&key, before, limit(page.limit)?)
        .await?;
    answer(SessionMessages {
        session_key: key,
        messages,
    })
}

/// A session that was begun anew.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReset {
    /// The session.
    session_key: SessionKey,
    /// The id before.
    old_session_id: String,
    /// The id after.
    new_session_id: String,
    /// How many messages went into the archive.
    archived_messages: usize,
    /// Where that is; empty when nothing was said.
    archived_to: String,
    /// The tokens that were counted before.
    tokens: i64,
}

/// Begins a session anew; what was said is archived.
pub async fn reset(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
) -> Answer<SessionReset> {
    let key = key(&asker.caller, &text)?;
    let reset = gateway.minds().reset(&key).await?;
    gateway
        .note(&asker.caller, "session.reset", key.as_str())
        .await?;
    answer(SessionReset {
        session_key: key,
        old_session_id: reset.old,
        new_session_id: reset.new,
        archived_messages: reset.archived,
        archived_to: reset.archived_to,
        tokens: reset.tokens,
    })
}

/// How much to keep.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// How many of the last messages a model is still shown; 20 when not said.
    #[schemars(range(min = 1))]
    keep: Option<usize>,
}

/// A session that was shortened.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompacted {
    /// The session.
    session_key: SessionKey,
    /// How many messages are no longer shown.
    trimmed_messages: usize,
    /// How many still are.
    kept_messages: usize,
    /// Where the others are.
    archived_to: String,
}

/// Leaves out all but the last messages; the others are archived.
pub async fn compact(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
    how: Result<Json<Compact>, JsonRejection>,
) -> Answer<SessionCompacted> {
    let keep = body(how)?.keep.unwrap_or(KEEP);
    if keep == 0 {
        let wrong = ToolError::parameter("keep", "must be at least 1");
        return Err(Refusal(wrong.hint("to keep nothing, begin anew: reset")));
    }
    let key = key(&asker.caller, &text)?;
    let done = gateway.minds().trim(&key, keep).await?;
    gateway
        .note(&asker.caller, "session.compact", key.as_str())
        .await?;
    answer(SessionCompacted {
        session_key: key,
        trimmed_messages: done.trimmed,
        kept_messages: done.kept,
        archived_to: done.archived_to,
    })
}

/// What to set; what is not named stays, and null goes back to what the agent says.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Patch {
    /// What the user calls it.
    #[serde(default, deserialize_with = "named")]
    label: Option<Option<String>>,
    /// As `provider/model`. Only the owner sets it.
    #[serde(default, deserialize_with = "named")]
    model: Option<Option<String>>,
    /// How hard to think.
    #[serde(default, deserialize_with = "named")]
    thinking_level: Option<Option<Thinking>>,
    /// What the model is told besides. Only the owner sets it.
    #[serde(default, deserialize_with = "named")]
    system_prompt: Option<Option<String>>,
    /// The most tokens of one reply.
    #[serde(default, deserialize_with = "named")]
    #[schemars(range(min = 1))]
    max_tokens: Option<Option<u32>>,
    /// `{"mode":"manual"}`, `{"mode":"daily","atHour":4}` or `{"mode":"idle","idleMinutes":60}`.
    #[serde(default, deserialize_with = "named")]
    reset_policy: Option<Option<ResetPolicy>>,
}

/// Tells null from not being there.
fn named<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

impl Patch {
    /// The model, once everything that can be wrong was looked at.
    fn checked(&self, asker: &Caller) -> Result<Option<Option<ModelId>>, ToolError> {
        let owners = [
            ("model", self.model.is_some()),
            ("systemPrompt", self.system_prompt.is_some()),
        ];
        if let Some((name, _)) = owners.iter().find(|(_, said)| *said)
            && !asker.is_owner()
        {
            let message = format!("only the owner sets {name}");
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        if self.max_tokens == Some(Some(0)) {
            return Err(ToolError::parameter("maxTokens", "must be at least 1"));
        }
        match self.reset_policy {
            Some(Some(ResetPolicy::Daily { at_hour: 24.. })) => {
                let message = "atHour must be between 0 and 23";
                return Err(ToolError::parameter("resetPolicy", message));
            }
            Some(Some(ResetPolicy::Idle { idle_minutes: 0 })) => {
                let message = "idleMinutes must be at least 1";
                return Err(ToolError::parameter("resetPolicy", message));
            }
            _ => {}
        }
        let wrong = |e: manyhands_llm::InvalidModel| ToolError::parameter("model", e.to_string());
        let parsed = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
        self.model.as_ref().map(parsed).transpose().map_err(wrong)
    }
}

/// Sets what is set for a session.
pub async fn patch(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
    change: Result<Json<Patch>, JsonRejection>,
) -> Answer<SessionShown> {
    let change = body(change)?;
    let key = key(&asker.caller, &text)?;
    let model = change.checked(&asker.caller)?;
    let apply = move |settings: &mut SessionSettings, label: &mut Option<String>| {
        set(label, &change.label);
        set(&mut settings.model, &model);
        set(&mut settings.thinking_level, &change.thinking_level);
        set(&mut settings.system_prompt, &change.system_prompt);
        set(&mut settings.max_tokens, &change.max_tokens);
        set(&mut settings.reset_policy, &change.reset_policy);
    };
    gateway.minds().patch(&key, apply).await?;
    gateway
        .note(&asker.caller, "session.patch", key.as_str())
        .await?;
    whole(&gateway, &key).await
}

fn set<T: Clone>(place: &mut Option<T>, change: &Option<Option<T>>) {
    if let Some(value) = change {
        place.clone_from(value);
    }
}
