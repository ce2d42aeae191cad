//! `Process`

use manyhands_core::ToolError;
use manyhands_hands::jobs::{Jobs, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{NodeTool, ToolResult, to_json, tool};

/// Manage background Bash sessions: list them, poll one, read its log, write to it, kill it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// Action to perform.
    action: Action,
    /// Session ID. Required for all actions except "list".
    session_id: Option<String>,
    /// Data to send for "write" and "submit" actions.
    data: Option<String>,
    /// Log line offset for "log" action.
    offset: Option<u64>,
    /// Maximum log lines for "log" action. Default 200.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Poll,
    Log,
    Write,
    Submit,
    Kill,
}

pub(super) fn process(jobs: Jobs) -> NodeTool {
    tool::<Params, _>("Process", "shell.exec", move |params, _| {
        let jobs = jobs.clone();
        Box::pin(async move { act(&jobs, params).await })
    })
}

async fn act(jobs: &Jobs, params: Params) -> ToolResult {
    let data = params.data.unwrap_or_default();
    let id = || session(params.session_id.as_deref());
    match params.action {
        Action::List => {
            let sessions = jobs.process_list();
            to_json(&json!({ "count": sessions.len(), "sessions": sessions }))
        }
        Action::Poll => to_json(&jobs.poll(id()?)?),
        Action::Log => to_json(&jobs.log(id()?, params.offset.unwrap_or(0), params.limit)?),
        Action::Write => to_json(&jobs.write(id()?, &data).await?),
        Action::Submit => to_json(&jobs.submit(id()?, &data).await?),
        Action::Kill => to_json(&jobs.kill(id()?).await?),
    }
}

fn session(given: Option<&str>) -> Result<SessionId, ToolError> {
    let given = given.filter(|id| !id.trim().is_empty());
    let missing = || ToolError::parameter("sessionId", "is required for this action");
    Ok(given.ok_or_else(missing)?.parse()?)
}
