//! `tool::web_search`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::web::{SearchHit, Web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::Lowered;
use crate::registration::{Registration, typed};
use crate::web_search::{WebQuery, search};

/// Search the web with Tavily, Brave, SearXNG or DuckDuckGo: the first configured one that answers, or only the one you name.
/// DuckDuckGo is used when no other is configured. A provider that shows a wall instead of results failed: the next configured
/// one is tried, and if none answers that is an error, not an empty list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Search query string.
    #[schemars(length(min = 1, max = 2000))]
    query: String,
    /// Search provider: "tavily", "brave", "searxng" or "duckduckgo".
    provider: Option<String>,
    /// Maximum number of results. Default 5, at most 20: more is lowered to 20.
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
}

/// Search results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Results, best first.
    results: Vec<SearchHit>,
    /// The provider that served the results.
    provider: String,
    /// Requested values lowered to a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lowered: Vec<Lowered>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::web_search",
    enabled: |tools| tools.web_search.enabled,
    build: |deps| typed(WebSearch(deps.web.clone())),
};

struct WebSearch(Web);

impl TypedTool for WebSearch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::READS.and(Effects::LEAVES))
            .deadline(Duration::from_secs(660))
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let query = WebQuery {
            text: &params.query,
            text_name: "query",
            provider: params.provider.as_deref(),
            max_results: params.max_results,
            max_results_name: "maxResults",
        };
        let found = search(&self.0, query).await?;
        Outcome::of(&Output {
            provider: found.provider,
            results: found.results,
            lowered: found.lowered,
        })
    }
}
