//! `web_search`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::web::{MAX_RESULTS, SearchHit, Web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::{Ceilings, Lowered};

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
        let mut ceilings = Ceilings::default();
        let requested = params.max_results.map(u64::from);
        let most = ceilings.at_most(
            "max_results",
            requested,
            MAX_RESULTS,
            "the most a search returns",
        );
        let max_results = requested.and_then(|_| u32::try_from(most).ok());
        let (provider, results) = self.0.search(&params.q, "q", None, max_results).await?;
        Outcome::of(&Output {
            q: params.q,
            provider,
            results,
            lowered: ceilings.into_lowered(),
        })
    }
}
