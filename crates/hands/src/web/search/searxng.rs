//! SearXNG: the owner's own metasearch server.

use async_trait::async_trait;
use manyhands_guard::Request;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::client::{RawResult, SearchClient, accept_json};
use super::{Hit, ProviderName, SearchError, SearchProvider};

/// A SearXNG server.
pub struct SearXng {
    search_client: SearchClient,
    base: Url,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<RawResult>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

impl SearXng {
    /// The server at `base`.
    pub fn new(search_client: SearchClient, base: &str) -> Result<Self, SearchError> {
        let base = search_client.base(base)?;
        Ok(Self {
            search_client,
            base,
        })
    }
}

#[async_trait]
impl SearchProvider for SearXng {
    fn name(&self) -> ProviderName {
        self.search_client.provider
    }

    async fn search(&self, query: &str, max: usize) -> Result<Vec<Hit>, SearchError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}search", self.base.path()));
        url.query_pairs_mut()
            .append_pair("q", query)
            .append_pair("format", "json");
        let mut request = Request::get(url);
        accept_json(&mut request.headers);
        let found: Results = match self.search_client.send_json(request, &[403]).await {
            // There is no key: this is how it refuses a disabled format.
            Err(SearchError::Key { .. }) => {
                return Err(self.search_client.blocked(
                    "it answered 403; add json to search.formats in its settings.yml, and let its limiter pass this machine",
                ));
            }
            found => found?,
        };
        // Otherwise blocked engines would look like an empty result.
        if found.results.is_empty() && !found.unresponsive_engines.is_empty() {
            let engines: Vec<String> = found.unresponsive_engines.iter().map(engine).collect();
            let reason = format!("none of its engines gave results; {}", engines.join(", "));
            return Err(self.search_client.blocked(reason));
        }
        self.search_client.hits(found.results, max)
    }
}

/// `["google", "CAPTCHA"]` in words.
fn engine(entry: &Value) -> String {
    let part = |at: usize| entry.get(at).and_then(Value::as_str).unwrap_or("?");
    format!("{} said {}", part(0), part(1))
}
