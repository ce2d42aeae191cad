//! `gsv__SessionsList`

use manyhands_agent::{Minds, SessionKey};
use manyhands_agent_services::session_key;
use manyhands_core::{
    CallContext, Caller, Effects, Outcome, Timestamp, ToolError, ToolSpec, TypedTool,
};
use manyhands_store::SessionRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_deps::AgentToolDeps;
use crate::registration::{Registration, always, typed};

const DEFAULT_LIMIT: u32 = 20;
/// Sessions read per page when only some are visible.
const PAGE: u32 = 500;
/// Most characters per message.
const MAX_TEXT: usize = 2_000;

/// List sessions with their metadata, the latest active first. Runs of scheduled jobs are left out unless `includeJobs` is true.
/// Callers other than the owner see only the sessions of their own token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Maximum number of sessions to return. Default 20, maximum 100.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// Pagination offset. Default 0.
    offset: Option<u32>,
    /// Number of recent messages to include per session (0-20). Default 0 (none).
    #[schemars(range(max = 20))]
    message_limit: Option<u32>,
    /// Also list the sessions of job runs. Default false.
    include_jobs: Option<bool>,
}

/// A list of sessions.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The sessions.
    sessions: Vec<ListedSession>,
    /// Number of all sessions, without those left out.
    total: u64,
    /// Number of job-run sessions left out; `includeJobs` lists them.
    #[serde(skip_serializing_if = "is_zero")]
    jobs_left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    /// Its key.
    session_key: String,
    /// Label set by the user.
    label: Option<String>,
    /// When it was created, in milliseconds since 1970.
    #[schemars(with = "i64")]
    created_at: Timestamp,
    /// When it was last used, in milliseconds since 1970.
    #[schemars(with = "i64")]
    last_active_at: Timestamp,
    /// Number of messages in the model's context.
    message_count: u64,
    /// Latest messages, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<ListedMessage>>,
}

/// A message.
#[derive(Serialize, JsonSchema)]
struct ListedMessage {
    /// `user`, `assistant` or `tool`.
    role: &'static str,
    /// Text, truncated if very long.
    text: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__SessionsList",
    enabled: always,
    build: |deps| typed(SessionsList(deps.agents())),
};

struct SessionsList(AgentToolDeps);

impl TypedTool for SessionsList {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let minds = self.0.minds()?;
        let (limit, offset) = (
            params.limit.unwrap_or(DEFAULT_LIMIT),
            params.offset.unwrap_or(0),
        );
        let jobs = params.include_jobs.unwrap_or(false);
        let (found, total, jobs_left_out) =
            visible(minds, &context.caller, jobs, limit, offset).await?;
        let message_limit = params.message_limit.unwrap_or(0);
        let mut sessions = Vec::with_capacity(found.len());
        for session in found {
            let messages = match message_limit {
                0 => None,
                _ => recent(minds, &session, message_limit).await?,
            };
            sessions.push(ListedSession {
                message_count: minds.message_count(&session).await?,
                session_key: session.key,
                label: session.label,
                created_at: session.created,
                last_active_at: session.last_active,
                messages,
            });
        }
        // Keys, labels and times are the gateway's own; only messages may contain untrusted text.
        let output = Output {
            sessions,
            total,
            jobs_left_out,
        };
        Ok(Outcome::of(&output)?.clean(message_limit == 0))
    }
}

async fn recent(
    minds: &Minds,
    session: &SessionRecord,
    limit: u32,
) -> Result<Option<Vec<ListedMessage>>, ToolError> {
    let Ok(key) = session.key.parse::<SessionKey>() else {
        return Ok(None);
    };
    let messages = minds.recent(&key, limit).await?;
    let messages = messages.into_iter().map(|message| ListedMessage {
        role: message.role,
        text: shortened(&message.text),
    });
    Ok(Some(messages.collect()))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}\n[cut: {} bytes in all]", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

/// The sessions the caller may see, their number, and the number of job runs left out.
async fn visible(
    minds: &Minds,
    caller: &Caller,
    jobs: bool,
    limit: u32,
    offset: u32,
) -> Result<(Vec<SessionRecord>, u64, u64), ToolError> {
    if caller.is_owner() {
        if !jobs {
            return minds.conversations(limit, offset).await;
        }
        let (found, total) = minds.list(None, limit, offset).await?;
        return Ok((found, total, 0));
    }
    // Whether a caller may see a session is decided from its key, which SQL cannot, so every page is
    // read.
    let (mut found, mut total, mut left_out, mut from) = (Vec::new(), 0, 0, 0);
    loop {
        let (page, _) = minds.list(None, PAGE, from).await?;
        let more = page.len() == PAGE as usize;
        from += PAGE;
        for session in page {
            let Ok(key) = session.key.parse::<SessionKey>() else {
                continue;
            };
            if session_key(caller, key.agent(), key.as_str()).is_err() {
                continue;
            }
            if key.is_job_run() && !jobs {
                left_out += 1;
                continue;
            }
            if total >= u64::from(offset) && found.len() < limit as usize {
                found.push(session);
            }
            total += 1;
        }
        if !more {
            return Ok((found, total, left_out));
        }
    }
}
