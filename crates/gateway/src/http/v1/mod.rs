//! `/v1`: an agent as a model, for programs that speak OpenAI's format.
//!
//! A request stands for itself: it is worked on in a session of its own that is removed when
//! the answer is there. One that names a session (`x-session-key` or `metadata.session`)
//! says its last message in that one; `user` and other hints change nothing. Tools are called inside, through the one path.

mod ask;
mod completions;
mod dialect;
mod models;

pub(super) use ask::Ask;
pub(super) use completions::complete;
pub(super) use dialect::speak;
pub(super) use models::{Since, get, list};

use manyhands_config::Settings;
use manyhands_core::{AgentId, ToolError};
use serde_json::json;

use super::admin::agents;

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
