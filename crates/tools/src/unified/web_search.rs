//! `web_search`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::web::{SearchHit, Web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::Lowered;
use crate::registration::{Registration, typed};
use crate::web_search::{WebQuery, search};

/// Search the web and return structured results, from the first configured engine that answers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Search keywords.
    #[schemars(length(min = 1, max = 2000))]
    q: String,
    /// Maximum returned results. Default `tools.web_search.max_results`, at most 20: more is lowered to 20.
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
}

/// Search results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The keywords.
    q: String,
    /// The provider that answered.
    provider: String,
    /// Results, best first.
    results: Vec<SearchHit>,
    /// Requested values lowered to a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lowered: Vec<Lowered>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "web_search",
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
            text: &params.q,
            text_name: "q",
            provider: None,
            max_results: params.max_results,
            max_results_name: "max_results",
        };
        let found = search(&self.0, query).await?;
        Outcome::of(&Output {
            q: params.q,
            provider: found.provider,
            results: found.results,
            lowered: found.lowered,
        })
    }
}
