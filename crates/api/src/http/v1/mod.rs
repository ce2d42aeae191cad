//! `/v1`: an agent as a model, for programs that speak OpenAI's or Anthropic's format.
//!
//! A request stands for itself: it is worked on in a session of its own that is removed when the answer is there. One
//! that names a session (`x-session-key` or `metadata.session`) says its last message in that one; `user` and other
//! hints change nothing. The agent's own tools are called inside, through the one path; calls of tools that the client
//! sent along end the answer, and their results come with the client's next request (`continuation`).
//!
//! Each format is two files, how a request is read and how an answer is written; `prompt`, `begin` and `answer` are
//! what they share.

mod answer;
mod begin;
mod chat;
mod chat_answer;
mod continuation;
mod dialect;
mod messages;
mod messages_answer;
mod models;
mod prompt;
mod responses;
mod responses_answer;

pub(super) use chat::{ChatRequest, complete};
pub(super) use dialect::speak;
pub(super) use messages::{MessagesRequest, count, message};
pub(super) use models::{Since, get, list};
pub(super) use responses::{ResponsesRequest, respond};

use axum::extract::rejection::JsonRejection;
use manyhands_config::Settings;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use serde_json::json;

use super::admin::agents;
use super::object::Json;

/// The agent that is meant by the name of a model: `agent/NAME` or `NAME`.
fn agent(settings: &Settings, model: &str) -> Result<AgentId, ToolError> {
    let name = model.strip_prefix("agent/").unwrap_or(model);
    let named = agents::names(settings)
        .into_iter()
        .find(|id| id.as_str() == name);
    named.ok_or_else(|| {
        let shown: String = model.chars().take(80).collect();
        ToolError::not_found(format!("there is no model {shown:?}"))
            .hint("GET /v1/models lists the agents there are, as agent/NAME")
            .details(json!({ "model": shown }))
    })
}

/// The body of a request; what is wrong with it is said of the parameter.
fn body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, ToolError> {
    const TYPED: &str = "Failed to deserialize the JSON body into the target type: ";
    body.map(|Json(value)| value).map_err(|rejection| {
        let text = rejection.body_text();
        let typed = text.strip_prefix(TYPED).unwrap_or(&text);
        // What is wrong within the body comes behind its path: `messages[0].role: ...`.
        match typed.split_once(": ") {
            Some((path, problem)) if !path.contains(' ') => {
                let problem = problem.split(" at line ").next().unwrap_or(problem);
                ToolError::parameter(path, problem)
            }
            _ => ToolError::new(ErrorCode::InvalidArguments, typed),
        }
    })
}
