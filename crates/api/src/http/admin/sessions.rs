//! Sessions: list, read, reset, compact and change. A client sees the sessions under its own name.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_agent::{MessageWindow, ResetPolicy, SessionKey, SessionMessage, SessionSettings};
use manyhands_agent_services::{own_part, session_key};
use manyhands_core::{AgentId, Caller, ErrorCode, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, Refusal, answer};
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::{Rearrangement, SessionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::patterns;

/// Sessions or messages per page by default.
const LIMIT: u32 = 50;
/// Most sessions or messages per page.
const MAX_LIMIT: u32 = 500;
/// Longest name of a folder, in characters.
const MAX_FOLDER: usize = 100;
/// Messages kept by a compaction by default.
const KEEP: usize = 20;

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionQuery {
    /// Only sessions of this agent; all by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Maximum number; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Number to skip.
    #[serde(default)]
    offset: u32,
    /// Whether to list the archived sessions, and only these.
    #[serde(default)]
    archived: bool,
}

/// A session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Key, `agent:NAME:REST`.
    session_key: String,
    /// Current id; a reset changes it.
    session_id: String,
    /// Whose conversation.
    #[schemars(with = "String")]
    agent: AgentId,
    /// Its agent, the same as `agent`.
    agent_id: String,
    /// Label set by the user.
    label: Option<String>,
    /// Title: made by a model after the first reply, before that the start of the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Whether it is listed first.
    pinned: bool,
    /// Whether it is archived; a new message takes it out of the archive.
    archived: bool,
    /// The folder it is listed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// When it was made.
    created_at: String,
    /// When it was last used.
    last_active_at: String,
    /// Messages in the context, without archived ones.
    messages: u64,
    /// The same as `messages`.
    message_count: u64,
    /// Input tokens since the last reset.
    input_tokens: i64,
    /// Output tokens since the last reset.
    output_tokens: i64,
    /// Cost since the last reset, in millionths of a dollar.
    cost_micros: i64,
    /// Whether a turn is running.
    busy: bool,
}

/// A list of sessions.
#[derive(Serialize, JsonSchema)]
pub struct SessionList {
    /// Number of sessions listed.
    count: usize,
    /// Sessions, pinned ones first, then last used first.
    sessions: Vec<SessionView>,
    /// Number of all sessions, if counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// A session with its settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWhole {
    #[serde(flatten)]
    view: SessionView,
    /// Its settings.
    settings: SessionSettings,
    /// Queued inputs.
    queued: usize,
    /// When it was last reset.
    last_reset_at: Option<String>,
    /// Previous ids.
    previous: Vec<String>,
    /// Size of the conversation.
    context: ContextView,
    /// The model in force, as `provider/model`: of the session, of its agent or the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelId>,
}

/// Size of a conversation, in tokens.
#[derive(Serialize, JsonSchema)]
pub struct ContextView {
    /// Tokens of the last request and its reply; an estimate if messages were removed since.
    used: u64,
    /// Size from which on older messages are summarised.
    limit: u64,
}

/// The response with a session.
#[derive(Serialize, JsonSchema)]
pub struct SessionShown {
    /// The session.
    session: SessionWhole,
}

/// Lists sessions, last used first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    which: Result<Query<SessionQuery>, QueryRejection>,
) -> Answer<SessionList> {
    let which = query(which)?;
    let agent: Option<AgentId> = match which.agent.as_deref().map(str::parse) {
        Some(Err(e)) => return Err(Refusal(ToolError::parameter("agent", format!("{e}")))),
        Some(Ok(agent)) => Some(agent),
        None => None,
    };
    // Refuses callers that have no sessions at all, such as nodes.
    session_key(&admitted.caller, &AgentId::main(), "main")?;
    let (limit, offset) = (limit(which.limit)?, which.offset);
    let minds = gateway.minds();
    // The owner has no prefix and sees the sessions of all callers.
    let own = own_part(&admitted.caller);
    let page = (limit, offset);
    let listed = minds.list_arranged(own.as_deref(), agent.as_ref(), which.archived, page);
    let (sessions, total) = listed.await?;
    // One query for the whole page.
    let counts = minds.message_counts(&sessions).await?;
    let view = |one: &SessionRecord| {
        let messages = counts.get(&one.key).copied().unwrap_or(0);
        brief(&gateway, one, messages)
    };
    answer(SessionList {
        count: sessions.len(),
        sessions: sessions.iter().map(view).collect(),
        total: Some(total),
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
        agent_id: session.agent.to_string(),
        label: session.label.clone(),
        title: session.title.clone(),
        pinned: session.arrangement.pinned,
        archived: session.arrangement.archived,
        folder: session.arrangement.folder.clone(),
        created_at: session.created.rfc3339(),
        last_active_at: session.last_active.rfc3339(),
        messages,
        message_count: messages,
        input_tokens: session.input_tokens,
        output_tokens: session.output_tokens,
        cost_micros: session.cost_micros,
        busy,
    }
}

/// The session key in the path, if the caller may use it.
fn key(admitted: &Caller, text: &str) -> Result<SessionKey, ToolError> {
    session_key(admitted, &AgentId::main(), text)
}

/// A session with its settings.
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
            context: ContextView {
                used: minds.context_tokens(&session).await?,
                limit: minds.context_limit(),
            },
            model: minds.model_of(&session),
            previous: session.previous,
        },
    })
}

/// Returns a session: record, settings, usage and queue.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
) -> Answer<SessionShown> {
    whole(&gateway, &key(&admitted.caller, &text)?).await
}

/// Range of messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageQuery {
    /// Maximum number; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Only messages before this number.
    before: Option<i64>,
    /// The messages around this number.
    around: Option<i64>,
    /// Only messages after this number.
    after: Option<i64>,
}

/// Messages of a session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessages {
    /// The session.
    session_key: SessionKey,
    /// Messages, oldest first.
    messages: Vec<SessionMessage>,
    /// With `around` or `after`: value of `after` for later messages; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<i64>,
}

/// Returns the last messages of a session, oldest first.
pub async fn messages(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
    page: Result<Query<MessageQuery>, QueryRejection>,
) -> Answer<SessionMessages> {
    let page = query(page)?;
    let key = key(&admitted.caller, &text)?;
    let window = match (page.before, page.around, page.after) {
        (before, None, None) => MessageWindow::Before(before.unwrap_or(i64::MAX)),
        (None, Some(seq), None) => MessageWindow::Around(seq),
        (None, None, Some(seq)) => MessageWindow::After(seq),
        _ => {
            let message = "cannot be combined: name one of before, around and after";
            return Err(Refusal(ToolError::parameter("around", message)));
        }
    };
    let page = gateway
        .minds()
        .page_as_text(&key, window, limit(page.limit)?);
    let (messages, next_after) = page.await?;
    answer(SessionMessages {
        session_key: key,
        messages,
        next_after,
    })
}

/// The response after a reset.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReset {
    /// The session.
    session_key: SessionKey,
    /// Previous id.
    old_session_id: String,
    /// New id.
    new_session_id: String,
    /// Messages archived.
    archived_messages: usize,
    /// Name of the archive; empty if there was nothing to archive.
    archived_to: String,
    /// Tokens counted before the reset.
    tokens: i64,
}

/// Resets a session; its messages are archived.
pub async fn reset(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
) -> Answer<SessionReset> {
    let key = key(&admitted.caller, &text)?;
    let reset = gateway.minds().reset(&key).await?;
    gateway
        .note(&admitted.caller, "session.reset", key.as_str())
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

/// Options of a compaction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// Number of latest messages to keep in the context; 20 by default.
    #[schemars(range(min = 1))]
    keep: Option<usize>,
}

/// The response after a compaction.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompacted {
    /// The session.
    session_key: SessionKey,
    /// Messages removed from the context.
    trimmed_messages: usize,
    /// Messages kept.
    kept_messages: usize,
    /// Name of the archive.
    archived_to: String,
}

/// Removes all but the latest messages from the context; the others are archived.
pub async fn compact(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
    how: Result<Json<Compact>, JsonRejection>,
) -> Answer<SessionCompacted> {
    let keep = body(how)?.keep.unwrap_or(KEEP);
    if keep == 0 {
        let wrong = ToolError::parameter("keep", "must be at least 1");
        return Err(Refusal(wrong.hint("use reset to remove all messages")));
    }
    let key = key(&admitted.caller, &text)?;
    let done = gateway.minds().trim(&key, keep).await?;
    gateway
        .note(&admitted.caller, "session.compact", key.as_str())
        .await?;
    answer(SessionCompacted {
        session_key: key,
        trimmed_messages: done.trimmed,
        kept_messages: done.kept,
        archived_to: done.archived_to,
    })
}

/// Settings to change; omitted ones are kept, and null restores the agent's default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Patch {
    /// Label set by the user.
    #[serde(default, deserialize_with = "named")]
    label: Option<Option<String>>,
    /// As `provider/model`. Only for the owner.
    #[serde(default, deserialize_with = "named")]
    model: Option<Option<String>>,
    /// Reasoning level.
    #[serde(default, deserialize_with = "named")]
    thinking_level: Option<Option<Thinking>>,
    /// Extra system prompt. Only for the owner.
    #[serde(default, deserialize_with = "named")]
    system_prompt: Option<Option<String>>,
    /// Most tokens per reply.
    #[serde(default, deserialize_with = "named")]
    #[schemars(range(min = 1))]
    max_tokens: Option<Option<u32>>,
    /// `{"mode":"manual"}`, `{"mode":"daily","atHour":4}` or `{"mode":"idle","idleMinutes":60}`.
    #[serde(default, deserialize_with = "named")]
    reset_policy: Option<Option<ResetPolicy>>,
    /// Whether it is listed first.
    pinned: Option<bool>,
    /// Whether it is archived.
    archived: Option<bool>,
    /// The folder it is listed in, at most 100 characters; null or an empty text removes it from its folder.
    #[serde(default, deserialize_with = "named")]
    folder: Option<Option<String>>,
}

/// Distinguishes null from an omitted field.
fn named<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

impl Patch {
    /// Validates the change and returns the model.
    fn checked(&self, admitted: &Caller) -> Result<Option<Option<ModelId>>, ToolError> {
        let owners = [
            ("model", self.model.is_some()),
            ("systemPrompt", self.system_prompt.is_some()),
        ];
        if let Some((name, _)) = owners.iter().find(|(_, said)| *said)
            && !admitted.is_owner()
        {
            let message = format!("only the owner may set {name}");
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        if self.max_tokens == Some(Some(0)) {
            return Err(ToolError::parameter("maxTokens", "must be at least 1"));
        }
        let odd =
            |name: &String| name.chars().count() > MAX_FOLDER || name.contains(char::is_control);
        if self.folder.iter().flatten().any(odd) {
            let message = format!("must have at most {MAX_FOLDER} printable characters");
            return Err(ToolError::parameter("folder", message));
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

/// Changes the settings of a session.
pub async fn patch(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
    change: Result<Json<Patch>, JsonRejection>,
) -> Answer<SessionShown> {
    let change = body(change)?;
    let key = key(&admitted.caller, &text)?;
    // Everything is checked before anything is set.
    let model = change.checked(&admitted.caller)?;
    let folder = change.folder.clone();
    let arrangement = Rearrangement {
        pinned: change.pinned,
        archived: change.archived,
        folder: folder.map(|folder| folder.filter(|name| !name.trim().is_empty())),
    };
    let apply = move |settings: &mut SessionSettings, label: &mut Option<String>| {
        set(label, &change.label);
        set(&mut settings.model, &model);
        set(&mut settings.thinking_level, &change.thinking_level);
        set(&mut settings.system_prompt, &change.system_prompt);
        set(&mut settings.max_tokens, &change.max_tokens);
        set(&mut settings.reset_policy, &change.reset_policy);
    };
    gateway.minds().patch(&key, apply).await?;
    gateway.minds().arrange(&key, arrangement).await?;
    gateway
        .note(&admitted.caller, "session.patch", key.as_str())
        .await?;
    whole(&gateway, &key).await
}

fn set<T: Clone>(place: &mut Option<T>, change: &Option<Option<T>>) {
    if let Some(value) = change {
        place.clone_from(value);
    }
}
