//! `/v1`: agents as models, for programs that speak OpenAI's or Anthropic's format.
//!
//! A request stands alone: it runs in a temporary session that is deleted when the response is
//! complete. A request that names a session (`x-session-key` or `metadata.session`) sends its last
//! message there; `user` and other hints are ignored. The agent's own tools are called internally,
//! through the one path; calls of tools sent by the client end the response, and their results come
//! with the client's next request (`continuation`).
//!
//! Each format has two files, for parsing requests and for writing responses; `prompt`, `start` and
//! `answer` are shared.

mod answer;
mod chat;
mod chat_answer;
mod continuation;
mod error_format;
mod messages;
mod messages_answer;
mod models;
mod prompt;
mod responses;
mod responses_answer;
mod start;

pub(super) use chat::{ChatRequest, complete};
pub(super) use error_format::convert_errors;
pub(super) use messages::{MessagesRequest, count, message};
pub(super) use models::{ServingSince, get, list};
pub(super) use responses::{ResponsesRequest, respond};

use axum::extract::rejection::JsonRejection;
use manyhands_config::Settings;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use serde_json::json;

use super::admin::agents;
use super::object::Json;

/// The agent a model name refers to: `agent/NAME` or `NAME`.
fn agent(settings: &Settings, model: &str) -> Result<AgentId, ToolError> {
    let name = model.strip_prefix("agent/").unwrap_or(model);
    let named = agents::names(settings)
        .into_iter()
        .find(|id| id.as_str() == name);
    named.ok_or_else(|| {
        let shown: String = model.chars().take(80).collect();
        ToolError::not_found(format!("unknown model {shown:?}"))
            .hint("GET /v1/models lists the agents, as agent/NAME")
            .details(json!({ "model": shown }))
    })
}

/// The request body; errors name the parameter.
fn body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, ToolError> {
    // The prefix that axum adds; it means nothing to a client.
    const TYPED: &str = "Failed to deserialize the JSON body into the target type: ";
    body.map(|Json(value)| value).map_err(|rejection| {
        let text = rejection.body_text();
        let typed = text.strip_prefix(TYPED).unwrap_or(&text);
        // Errors inside the body follow its path: `messages[0].role: ...`.
        match typed.split_once(": ") {
            Some((path, problem)) if !path.contains(' ') => {
                let problem = problem.split(" at line ").next().unwrap_or(problem);
                ToolError::parameter(path, problem)
            }
            _ => ToolError::new(ErrorCode::InvalidArguments, typed),
        }
    })
}
