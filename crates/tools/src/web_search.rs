//! What both web search tools share; they differ in the names of their parameters.

use manyhands_core::ToolError;
use manyhands_host::web::{MAX_RESULTS, SearchHit, Web};

use crate::ceiling::{Ceilings, Lowered};

/// A search, with the names of its parameters for errors and limits.
pub struct WebQuery<'a> {
    pub text: &'a str,
    pub text_name: &'static str,
    /// The only provider to use; else the first configured one that answers.
    pub provider: Option<&'a str>,
    pub max_results: Option<u32>,
    pub max_results_name: &'static str,
}

/// The results of a search.
pub struct WebResults {
    pub provider: String,
    pub results: Vec<SearchHit>,
    pub lowered: Vec<Lowered>,
}

/// Searches for at most as many results as a search may return.
pub async fn search(web: &Web, query: WebQuery<'_>) -> Result<WebResults, ToolError> {
    let mut ceilings = Ceilings::default();
    let requested = query.max_results.map(u64::from);
    let limit = "the most a search returns";
    let most = ceilings.at_most(query.max_results_name, requested, MAX_RESULTS, limit);
    // Without a request the default of the settings applies, not the limit.
    let max_results = requested.and_then(|_| u32::try_from(most).ok());
    let found = web.search(query.text, query.text_name, query.provider, max_results);
    let (provider, results) = found.await?;
    Ok(WebResults {
        provider,
        results,
        lowered: ceilings.into_lowered(),
    })
}
