//! Web access for tools: one egress, rebuilt when its settings change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_config::Settings;
use manyhands_core::{CallContext, CutPart, ErrorCode, Secret, ToolError};
use manyhands_guard::{
    Egress, EgressError, EgressPolicy, FetchLimits, HeaderMap, Request, Response, SystemLookup,
};
use manyhands_hands::web::search::{SearchError, SearchSettings, Searchers};
use manyhands_hands::web::{
    self, AuthProfile, AuthProfileSettings, ContentKind, Downloaded, FetchError, FetchRequest,
    FetchResult,
};
use manyhands_store::Vault;
use schemars::JsonSchema;
use serde::Serialize;
use url::Url;

use crate::machine::{Host, PAST_THE_CUT, ResolvedPath};
use crate::settings::LiveSettings;

/// How much of a response is read for storing when the result shows only a part. Larger ones can be
/// downloaded.
pub const MAX_STORED: u64 = 8 * 1024 * 1024;

/// The most results of one search.
pub const MAX_RESULTS: u64 = 20;

/// Web access. Cheap to clone.
#[derive(Clone)]
pub struct Web(Arc<Inner>);

struct Inner {
    egress: ArcSwap<Egress>,
    /// The networks the present egress was built from.
    networks: ArcSwap<Vec<String>>,
    settings: LiveSettings,
    host: Host,
    vault: Vault,
}

impl Web {
    /// Builds the egress from the settings in force.
    pub fn new(settings: &LiveSettings, host: Host, vault: Vault) -> Self {
        let current = settings.current();
        Self(Arc::new(Inner {
            egress: ArcSwap::from_pointee(egress(&current)),
            networks: ArcSwap::from_pointee(current.egress.allow_private.clone()),
            settings: settings.clone(),
            host,
            vault,
        }))
    }

    /// Applies changed settings; requests in flight finish on the old egress.
    pub fn reconfigure(&self) {
        let current = self.0.settings.current();
        if **self.0.networks.load() != current.egress.allow_private {
            // Rebuilt only if the networks changed: a new egress starts with an empty connection
            // pool.
            self.0
                .networks
                .store(Arc::new(current.egress.allow_private.clone()));
            self.0.egress.store(Arc::new(egress(&current)));
        }
    }

    /// The present egress.
    pub fn egress(&self) -> Arc<Egress> {
        self.0.egress.load_full()
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.0.settings.current()
    }

    /// Sends a request and reads the response. Known secrets are removed before it is truncated,
    /// and the full text is stored.
    pub async fn fetch(
        &self,
        mut asked: FetchRequest,
        profile: Option<&AuthProfile>,
        context: &CallContext,
    ) -> Result<Fetched, ToolError> {
        let (egress, url) = (self.0.egress.load_full(), asked.url.clone());
        let (most_read, most_shown) = (asked.max_bytes, asked.max_content as u64);
        // Read a little more than is shown, so that a secret across the cut is seen whole and
        // removed.
        asked.max_bytes = most_read.saturating_add(PAST_THE_CUT);
        asked.max_content = asked.max_content.saturating_add(PAST_THE_CUT as usize);
        let fetched = web::fetch(&egress, asked, profile).await;
        let mut answer = fetched.map_err(|e| fetch_failure(&e, &url))?;
        let limit = match answer.kind {
            ContentKind::Page | ContentKind::Binary => most_shown,
            ContentKind::Text => most_shown.min(most_read),
        };
        // Redaction comes before truncation; in the other order half a secret could remain, which
        // can no longer be recognised.
        let (content, cut) = self.0.host.redacted_cut(&answer.content, limit);
        let read = std::mem::replace(&mut answer.content, content);
        let was_whole = !answer.truncated;
        answer.truncated |= cut;
        let whole = answer.whole.take();
        let whole = whole.or_else(|| (cut && was_whole).then_some(read));
        // The full text goes through the same redaction before it is stored.
        let (size, artifact) = match whole {
            Some(whole) => {
                let size = whole.len() as u64;
                let stored = self.0.host.store_text("response.txt", whole, context).await;
                (size, stored)
            }
            None => (answer.content.len() as u64, None),
        };
        let size = answer.full_size.unwrap_or(0).max(size);
        let cut = answer
            .truncated
            .then(|| CutPart::text("content", size, artifact));
        Ok(Fetched {
            answer,
            artifact_id: artifact.map(|id| id.to_string()),
            cut: cut.into_iter().collect(),
        })
    }

    /// Sends a request and saves the response to a file.
    pub async fn download(
        &self,
        asked: FetchRequest,
        profile: Option<&AuthProfile>,
        place: &ResolvedPath,
    ) -> Result<Downloaded, ToolError> {
        let (egress, url) = (self.0.egress.load_full(), asked.url.clone());
        let saved = web::download(&egress, asked, profile, place.root.jail(), &place.path).await;
        saved.map_err(|e| fetch_failure(&e, &url))
    }

    /// Requests a file and returns the response as a stream. The headers are sent to the origin of
    /// `url` only.
    pub async fn open(
        &self,
        url: &str,
        headers: HeaderMap,
        max_bytes: u64,
    ) -> Result<Response, ToolError> {
        let request = Request {
            headers,
            limits: FetchLimits {
                total_timeout: Some(Duration::from_secs(600)),
                max_bytes: Some(max_bytes),
                // Redirects are followed here, unlike for credentials: headers are sent to the
                // first origin only.
                max_redirects: Some(5),
            },
            ..Request::get(url)
        };
        let answer = self.0.egress.load_full().fetch(request).await;
        answer.map_err(|e| self.connection_error(&e, url))
    }

    /// The error for a file that did not arrive, or not completely.
    pub fn connection_error(&self, error: &EgressError, url: &str) -> ToolError {
        let shown: String = url.chars().take(200).collect();
        match error {
            EgressError::Url(_) | EgressError::Scheme(_) | EgressError::Userinfo => {
                ToolError::parameter("sourceUrl", error.to_string())
            }
            EgressError::Header(_) => ToolError::parameter("authHeaders", error.to_string()),
            EgressError::TooLarge { limit } => ToolError::new(
                ErrorCode::TooLarge,
                format!(
                    "{shown} is larger than {limit} bytes (limits.artifact_file_bytes), so nothing was kept"
                ),
            ),
            _ => egress_failure(error, &shown),
        }
    }

    /// The auth profile with this id and its secret from the vault.
    pub async fn profile(&self, id: Option<&str>) -> Result<Option<AuthProfile>, ToolError> {
        let Some(id) = id else {
            return Ok(None);
        };
        let settings = self.settings();
        let Some(found) = settings
            .auth_profiles
            .iter()
            .find(|profile| profile.id == id)
        else {
            let known: Vec<&str> = settings
                .auth_profiles
                .iter()
                .map(|profile| profile.id.as_str())
                .collect();
            let known = if known.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(ToolError::parameter(
                "auth_profile",
                format!("there is no profile {id:?}; {known}"),
            )
            .hint("the owner adds them under auth_profiles in config.toml"));
        };
        let wrong = |why: String| {
            ToolError::new(ErrorCode::Unavailable, format!("auth profile {id}: {why}"))
        };
        let url = Url::parse(&found.url).map_err(|e| wrong(e.to_string()))?;
        // The secret is read for each request, so that a changed one applies at once.
        let secret = self
            .secret(&found.secret)
            .await?
            .ok_or_else(|| wrong(format!("{} is not in the vault", found.secret)))?;
        let methods = found
            .methods
            .iter()
            .map(|method| method.to_ascii_uppercase().parse());
        let profile = AuthProfile::new(AuthProfileSettings {
            id: found.id.clone(),
            scheme: url.scheme().to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
            port: url.port(),
            path_prefix: url.path().to_owned(),
            methods: methods
                .collect::<Result<_, _>>()
                .map_err(|_| wrong("it lists an unknown HTTP method".to_owned()))?,
            header: found.header.clone(),
            format: found.format.clone(),
            secret,
        });
        profile.map(Some).map_err(|e| wrong(e.to_string()))
    }

    /// Searches with the named provider, or with the first configured one that answers.
    pub async fn search(
        &self,
        query: &str,
        parameter: &str,
        provider: Option<&str>,
        max: Option<u32>,
    ) -> Result<(String, Vec<SearchHit>), ToolError> {
        let settings = self.settings();
        let search = &settings.tools.web_search;
        let configured = SearchSettings {
            tavily_api_key: self
                .key(search.tavily_api_key.as_deref(), "TAVILY_API_KEY")
                .await?,
            brave_api_key: self
                .key(search.brave_api_key.as_deref(), "BRAVE_API_KEY")
                .await?,
            searxng_url: search.searxng_url.clone(),
            timeout: Some(Duration::from_secs(search.timeout)),
        };
        let max = max.unwrap_or(search.max_results) as usize;
        let failed = |e: SearchError| search_failure(&e, parameter);
        let searchers =
            Searchers::configured(configured, self.0.egress.load_full()).map_err(failed)?;
        let found = searchers
            .search(query, max, provider)
            .await
            .map_err(failed)?;
        let hits = found.hits.into_iter().map(|hit| SearchHit {
            title: hit.title,
            url: hit.url,
            content: hit.content,
        });
        Ok((found.provider.to_string(), hits.collect()))
    }

    /// An API key by its vault reference, or from the environment if the settings name none.
    async fn key(
        &self,
        reference: Option<&str>,
        variable: &str,
    ) -> Result<Option<Secret>, ToolError> {
        // A reference in the settings wins, even a broken one: falling back to the environment
        // would hide the mistake.
        match reference {
            Some(reference) => self.secret(reference).await,
            None => Ok(self
                .0
                .host
                .variable(variable)
                .filter(|key| !key.is_empty())
                .map(Secret::new)),
        }
    }

    /// Returns a secret by its vault reference, if there is one.
    pub async fn secret(&self, reference: &str) -> Result<Option<Secret>, ToolError> {
        let name = reference.strip_prefix("vault:").unwrap_or(reference);
        Ok(self.0.vault.get(name).await?)
    }
}

/// A response, and what of it was stored because it is not shown.
pub struct Fetched {
    /// The response.
    pub answer: FetchResult,
    /// The artifact with its full text.
    pub artifact_id: Option<String>,
    /// The truncated parts.
    pub cut: Vec<CutPart>,
}

/// A link on a page.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Link")]
pub struct PageLink {
    /// What it says.
    text: String,
    /// Where it leads.
    url: String,
}

impl From<web::PageLink> for PageLink {
    fn from(link: web::PageLink) -> Self {
        Self {
            text: link.text,
            url: link.url,
        }
    }
}

/// One search result.
#[derive(Serialize, JsonSchema)]
pub struct SearchHit {
    /// Its title.
    title: String,
    /// Where it is.
    url: String,
    /// What it says about the question.
    content: String,
}

fn fetch_failure(error: &FetchError, url: &str) -> ToolError {
    let shown: String = url.chars().take(200).collect();
    match error {
        FetchError::Headers(_) => ToolError::parameter("headers", error.to_string()),
        FetchError::Auth(_) => ToolError::parameter("auth_profile", error.to_string()),
        FetchError::Egress(egress) => egress_failure(egress, &shown),
        FetchError::Jail(jail) => crate::machine::jail_failure(jail, "download_path"),
        FetchError::TooLarge { .. } => {
            ToolError::new(ErrorCode::TooLarge, format!("{shown} {error}"))
        }
        FetchError::Redirected { .. } | FetchError::Status { .. } => {
            ToolError::new(ErrorCode::Failed, format!("{shown} {error}"))
        }
        FetchError::Lost(_) => ToolError::internal(error.to_string()),
    }
}

fn egress_failure(error: &EgressError, shown: &str) -> ToolError {
    let (message, hint) = match error.to_string().split_once('\n') {
        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
        None => (error.to_string(), None),
    };
    let code = match error {
        EgressError::Url(_) | EgressError::Scheme(_) | EgressError::Userinfo => {
            return ToolError::parameter("url", message);
        }
        EgressError::Header(_) => return ToolError::parameter("headers", message),
        EgressError::Private { .. } => ErrorCode::Forbidden,
        EgressError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        EgressError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::Failed,
    };
    let failure = ToolError::new(code, format!("{shown}: {message}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn search_failure(error: &SearchError, parameter: &str) -> ToolError {
    let message = error.to_string();
    let (message, hint) = message
        .split_once('\n')
        .map_or((message.as_str(), None), |(m, h)| (m, Some(h)));
    let failure = match error {
        SearchError::EmptyQuery => return ToolError::parameter(parameter, message),
        SearchError::UnknownProvider(_) | SearchError::NotConfigured { .. } => {
            ToolError::parameter("provider", message)
        }
        SearchError::RateLimited { retry_after, .. } => {
            let limited = ToolError::new(ErrorCode::RateLimited, message);
            match retry_after {
                Some(wait) => limited.retry_after(*wait),
                None => limited,
            }
        }
        SearchError::Address { .. }
        | SearchError::Key { .. }
        | SearchError::Blocked { .. }
        | SearchError::All(_) => ToolError::new(ErrorCode::Unavailable, message),
        _ => ToolError::new(ErrorCode::Failed, message),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn egress(settings: &Settings) -> Egress {
    let networks = settings.egress.allow_private.iter();
    let policy = EgressPolicy {
        // Already validated when the settings were read.
        allow_private: networks.filter_map(|net| net.parse().ok()).collect(),
        // Each request sets its own, smaller limits.
        total_timeout: Duration::from_secs(3_600),
        max_bytes: u64::MAX,
        ..EgressPolicy::default()
    };
    Egress::new(policy, Arc::new(SystemLookup))
}
