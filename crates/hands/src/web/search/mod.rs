//! Web search, through the configured providers.
//!
//! An empty list means that nothing was found. A provider that blocks robots, or that responds in an
//! unknown format, is an error: an agent that takes a block for an empty result draws wrong conclusions.

mod brave;
mod client;
mod duckduckgo;
mod searxng;
mod tavily;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::Secret;
use manyhands_guard::{Egress, EgressError};

pub use brave::Brave;
pub use client::SearchClient;
pub use duckduckgo::DuckDuckGo;
pub use searxng::SearXng;
pub use tavily::Tavily;

/// Maximum results.
pub const MAX_RESULTS: usize = 20;
/// Default timeout of a search.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Its URL.
    pub url: String,
    /// Its snippet.
    pub content: String,
}

/// Results and their provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResults {
    /// The provider.
    pub provider: ProviderName,
    /// The results; empty if nothing was found.
    pub hits: Vec<Hit>,
}

/// A search provider.
#[async_trait]
pub trait SearchProvider: Send + Sync {
    /// Its name.
    fn name(&self) -> ProviderName;

    /// At most `max` results for `query`, best first.
    async fn search(&self, query: &str, max: usize) -> Result<Vec<Hit>, SearchError>;
}

/// The providers, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderName {
    /// `tavily`
    Tavily,
    /// `brave`
    Brave,
    /// `searxng`
    SearXng,
    /// `duckduckgo`
    DuckDuckGo,
}

impl ProviderName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tavily, Self::Brave, Self::SearXng, Self::DuckDuckGo];

    /// Its name in settings and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tavily => "tavily",
            Self::Brave => "brave",
            Self::SearXng => "searxng",
            Self::DuckDuckGo => "duckduckgo",
        }
    }

    /// The setting it requires.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Tavily => "tools.web_search.tavily_api_key",
            Self::Brave => "tools.web_search.brave_api_key",
            Self::SearXng => "tools.web_search.searxng_url",
            Self::DuckDuckGo => "tools.web_search.enabled",
        }
    }
}

impl std::fmt::Display for ProviderName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ProviderName {
    type Err = SearchError;

    fn from_str(text: &str) -> Result<Self, SearchError> {
        let lower = text.trim().to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|name| name.as_str() == lower);
        found.ok_or_else(|| SearchError::UnknownProvider(text.to_owned()))
    }
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query is empty.
    #[error("must not be empty")]
    EmptyQuery,
    /// Unknown provider.
    #[error("{0} is not a search provider; use tavily, brave, searxng or duckduckgo")]
    UnknownProvider(String),
    /// It is not configured.
    #[error("{provider} is not configured\nto use it, set `{}`, or leave the provider out", .provider.setting())]
    NotConfigured {
        /// The provider.
        provider: ProviderName,
    },
    /// Its configured URL is invalid.
    #[error("`{}` is not the address of a web server: {problem}", .provider.setting())]
    Address {
        /// The provider.
        provider: ProviderName,
        /// The problem.
        problem: String,
    },
    /// It rejected the key.
    #[error("{provider} refused the key ({status}): {excerpt}\ncheck `{}`", .provider.setting())]
    Key {
        /// The provider.
        provider: ProviderName,
        /// The response status.
        status: u16,
        /// The beginning of the response.
        excerpt: String,
    },
    /// Too many searches, or the plan is exhausted.
    #[error("{provider} allows no more searches for now{}", .retry_after.map_or(String::new(), |wait| format!("; try again in {} seconds", wait.as_secs())))]
    RateLimited {
        /// The provider.
        provider: ProviderName,
        /// The delay before a retry, if given.
        retry_after: Option<Duration>,
    },
    /// It blocks us as a robot.
    #[error(
        "{provider} blocked the search: {reason}\nconfigure tavily, brave or searxng under tools.web_search, or try again later"
    )]
    Blocked {
        /// The provider.
        provider: ProviderName,
        /// How that was recognised.
        reason: String,
    },
    /// It responded in an unknown format.
    #[error(
        "{provider} answered in a form that is not understood: {reason}\nuse another provider, and report this"
    )]
    Layout {
        /// The provider.
        provider: ProviderName,
        /// What was missing.
        reason: String,
    },
    /// It responded with an error.
    #[error("{provider} answered {status}: {excerpt}")]
    Status {
        /// The provider.
        provider: ProviderName,
        /// The status.
        status: u16,
        /// The beginning of the response.
        excerpt: String,
    },
    /// Every configured engine failed.
    #[error("no search engine answered: {}", .0.iter().map(first_line).collect::<Vec<_>>().join("; "))]
    All(Vec<SearchError>),
    /// It could not be reached.
    #[error("{provider}: {error}")]
    Egress {
        /// The provider.
        provider: ProviderName,
        /// The error.
        #[source]
        error: EgressError,
    },
}

impl SearchError {
    /// Whether another engine may succeed.
    fn is_engines(&self) -> bool {
        !matches!(
            self,
            Self::EmptyQuery | Self::UnknownProvider(_) | Self::NotConfigured { .. }
        )
    }
}

/// The error message, without its advice.
fn first_line(error: &SearchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The configuration.
#[derive(Debug, Clone, Default)]
pub struct SearchSettings {
    /// The key for Tavily.
    pub tavily_api_key: Option<Secret>,
    /// The key for Brave.
    pub brave_api_key: Option<Secret>,
    /// The URL of the owner's SearXNG. On a private network, egress must allow it.
    pub searxng_url: Option<String>,
    /// Timeout of one search; default 20 seconds.
    pub timeout: Option<Duration>,
}

/// The configured providers, best first.
pub struct Searchers {
    providers: Vec<Box<dyn SearchProvider>>,
    /// Number of providers tried in turn if none is named: those that the owner configured. Queries go to no
    /// engine that the owner did not choose.
    tried: usize,
}

impl Searchers {
    /// Creates the providers of `settings`. DuckDuckGo needs no setting.
    pub fn configured(settings: SearchSettings, egress: Arc<Egress>) -> Result<Self, SearchError> {
        let timeout = settings.timeout.unwrap_or(SEARCH_TIMEOUT);
        let search_client = |provider| SearchClient {
            provider,
            egress: Arc::clone(&egress),
            timeout,
        };
        let mut providers: Vec<Box<dyn SearchProvider>> = Vec::new();
        if let Some(key) = settings.tavily_api_key {
            let search_client = search_client(ProviderName::Tavily);
            providers.push(Box::new(Tavily::new(search_client, tavily::API, key)?));
        }
        if let Some(key) = settings.brave_api_key {
            let search_client = search_client(ProviderName::Brave);
            providers.push(Box::new(Brave::new(search_client, brave::API, key)?));
        }
        if let Some(url) = settings.searxng_url {
            let search_client = search_client(ProviderName::SearXng);
            providers.push(Box::new(SearXng::new(search_client, &url)?));
        }
        // DuckDuckGo is tried on its own initiative only if nothing else is configured.
        let tried = providers.len().max(1);
        let search_client = search_client(ProviderName::DuckDuckGo);
        providers.push(Box::new(DuckDuckGo::new(search_client, duckduckgo::PAGE)?));
        Ok(Self { providers, tried })
    }

    /// These providers, in order of preference.
    pub fn of(providers: Vec<Box<dyn SearchProvider>>) -> Self {
        let tried = providers.len();
        Self { providers, tried }
    }

    /// The provider named `requested`, or the best one.
    pub fn choose(&self, requested: Option<&str>) -> Result<&dyn SearchProvider, SearchError> {
        let requested = requested.map(str::parse::<ProviderName>).transpose()?;
        let mut providers = self.providers.iter().map(Box::as_ref);
        match providers
            .find(|provider| requested.is_none_or(|requested| provider.name() == requested))
        {
            Some(provider) => Ok(provider),
            None => Err(SearchError::NotConfigured {
                provider: requested.unwrap_or(ProviderName::DuckDuckGo),
            }),
        }
    }

    /// At most `max` results (never more than [`MAX_RESULTS`]) from the provider named `requested`, or from the
    /// first configured one that succeeds.
    pub async fn search(
        &self,
        query: &str,
        max: usize,
        requested: Option<&str>,
    ) -> Result<SearchResults, SearchError> {
        let query = query.trim();
        if query.is_empty() {
            return Err(SearchError::EmptyQuery);
        }
        let max = max.clamp(1, MAX_RESULTS);
        let mut failures = Vec::new();
        let all = match requested {
            Some(_) => vec![self.choose(requested)?],
            None => self
                .providers
                .iter()
                .map(Box::as_ref)
                .take(self.tried)
                .collect(),
        };
        for provider in all {
            match provider.search(query, max).await {
                Ok(mut hits) => {
                    // Providers return more than requested.
                    hits.truncate(max);
                    let provider = provider.name();
                    return Ok(SearchResults { provider, hits });
                }
                Err(error) if error.is_engines() => failures.push(error),
                Err(error) => return Err(error),
            }
        }
        match failures.len() {
            // A single failure keeps its advice.
            1 => Err(failures.remove(0)),
            _ => Err(SearchError::All(failures)),
        }
    }
}
