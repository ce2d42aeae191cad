//! `web_search`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::web::{SearchHit, Web};

/// Search the web and return structured results, from the first configured engine that answers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Search keywords.
    #[schemars(length(min = 1, max = 2000))]
    q: String,
    /// Maximum returned results. Default `tools.web_search.max_results`, at most 20.
    #[schemars(range(min = 1, max = 20))]
    max_results: Option<u32>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The keywords.
    q: String,
    /// The provider that answered.
    provider: String,
    /// Results, best first.
    results: Vec<SearchHit>,
}

pub(super) struct WebSearch(pub(super) Web);

impl TypedTool for WebSearch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("web_search")
            .effects(Effects::READS.and(Effects::LEAVES))
            .deadline(Duration::from_secs(660))
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let (provider, results) = self
            .0
            .search(&params.q, "q", None, params.max_results)
            .await?;
        Outcome::of(&Output {
            q: params.q,
            provider,
            results,
        })
    }
}
