//! Tavily: a search API for agents, with a key.

use async_trait::async_trait;
use manyhands_core::Secret;
use manyhands_guard::{HeaderName, HeaderValue, Method, Request};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::client::{RawResult, SearchClient, sensitive};
use super::{Hit, ProviderName, SearchError, SearchProvider};

pub(super) const API: &str = "https://api.tavily.com/";

/// Tavily search.
pub struct Tavily {
    search_client: SearchClient,
    base: Url,
    key: Secret,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<RawResult>,
}

impl Tavily {
    /// Tavily at `base`, with the owner's `key`.
    pub fn new(search_client: SearchClient, base: &str, key: Secret) -> Result<Self, SearchError> {
        let base = search_client.base(base)?;
        Ok(Self {
            search_client,
            base,
            key,
        })
    }
}

#[async_trait]
impl SearchProvider for Tavily {
    fn name(&self) -> ProviderName {
        self.search_client.provider
    }

    async fn search(&self, query: &str, max: usize) -> Result<Vec<Hit>, SearchError> {
        let mut request = Request::new(Method::POST, format!("{}search", self.base));
        let json = HeaderValue::from_static("application/json");
        request
            .headers
            .insert(HeaderName::from_static("content-type"), json);
        let bearer = format!("Bearer {}", self.key.expose());
        sensitive(self.name(), &mut request.headers, "authorization", &bearer)?;
        let body = json!({"query": query, "max_results": max, "search_depth": "basic"});
        request.body = Some(body.to_string().into());
        match self
            .search_client
            .send_json::<Results>(request, &[401, 403])
            .await
        {
            Ok(found) => self.search_client.hits(found.results, max),
            // The plan or the credit is exhausted.
            Err(SearchError::Status {
                status: 432 | 433, ..
            }) => Err(SearchError::RateLimited {
                provider: self.name(),
                retry_after: None,
            }),
            Err(error) => Err(error),
        }
    }
}
