//! `tool::web_search`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::web::{SearchHit, Web};

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
    /// Maximum number of results. Default 5, at most 20.
    #[schemars(range(min = 1, max = 20))]
    max_results: Option<u32>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Results, best first.
    results: Vec<SearchHit>,
    /// The provider that served the results.
    provider: String,
}

pub(super) struct WebSearch(pub(super) Web);

impl TypedTool for WebSearch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("tool::web_search")
            .effects(Effects::READS.and(Effects::LEAVES))
            .deadline(Duration::from_secs(660))
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let (provider, results) = self
            .0
            .search(
                &params.query,
                "query",
                params.provider.as_deref(),
                params.max_results,
            )
            .await?;
        Outcome::of(&Output { results, provider })
    }
}
