//! Brave: its own index, with a key.

use async_trait::async_trait;
use manyhands_core::Secret;
use manyhands_guard::Request;
use serde::Deserialize;
use url::Url;

use super::client::{RawResult, SearchClient, accept_json, sensitive};
use super::{Hit, ProviderName, SearchError, SearchProvider};

pub(super) const API: &str = "https://api.search.brave.com/";

/// Brave search.
pub struct Brave {
    search_client: SearchClient,
    base: Url,
    key: Secret,
}

/// `web` is omitted if nothing was found, so `type` distinguishes an answer from something else.
#[derive(Deserialize)]
struct Results {
    r#type: String,
    #[serde(default)]
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<RawResult>,
}

impl Brave {
    /// Brave at `base`, with the owner's `key`.
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
impl SearchProvider for Brave {
    fn name(&self) -> ProviderName {
        self.search_client.provider
    }

    async fn search(&self, query: &str, max: usize) -> Result<Vec<Hit>, SearchError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}res/v1/web/search", self.base.path()));
        url.query_pairs_mut()
            .append_pair("q", query)
            .append_pair("count", &max.to_string())
            .append_pair("result_filter", "web")
            .append_pair("text_decorations", "false");
        let mut request = Request::get(url);
        accept_json(&mut request.headers);
        let key = self.key.expose();
        sensitive(
            self.name(),
            &mut request.headers,
            "x-subscription-token",
            key,
        )?;
        let found: Results = match self.search_client.send_json(request, &[401, 403]).await {
            // Brave reports a wrong key as an invalid parameter.
            Err(SearchError::Status {
                provider,
                status: 422,
                excerpt,
            }) if excerpt.contains("SUBSCRIPTION_TOKEN_INVALID") => {
                return Err(SearchError::Key {
                    provider,
                    status: 422,
                    excerpt,
                });
            }
            found => found?,
        };
        if found.r#type != "search" {
            return Err(self.search_client.layout("it is not a search response"));
        }
        let results = found.web.map_or_else(Vec::new, |web| web.results);
        self.search_client.hits(results, max)
    }
}
