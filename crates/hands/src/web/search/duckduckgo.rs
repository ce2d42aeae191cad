//! DuckDuckGo: its page for browsers without scripts. No key, and the first to block robots.

use async_trait::async_trait;
use dom_query::{Document, NodeRef};
use manyhands_guard::{HeaderName, HeaderValue, Method, Request};
use url::{Url, form_urlencoded};

use super::super::charset::{Completeness, decode};
use super::super::html;
use super::client::{RawResult, SearchClient, excerpt};
use super::{Hit, ProviderName, SearchError, SearchProvider};

pub(super) const PAGE: &str = "https://html.duckduckgo.com/html/";

/// Elements of the page that asks to prove that one is not a robot.
const WALL: &str = "[class*=\"anomaly-modal\"], form#challenge-form, form[action*=\"anomaly.js\"], \
    .g-recaptcha, .h-captcha, #captcha, [class*=\"cf-challenge\"]";
const RESULT: &str = ".result:not(.result--ad):not(.result--no-result)";
const NOTHING: &str = ".no-results, .result--no-result";

/// DuckDuckGo's page.
pub struct DuckDuckGo {
    search_client: SearchClient,
    page: Url,
}

impl DuckDuckGo {
    /// The page at `page`.
    pub fn new(search_client: SearchClient, page: &str) -> Result<Self, SearchError> {
        let page = search_client.base(page)?;
        Ok(Self {
            search_client,
            page,
        })
    }
}

#[async_trait]
impl SearchProvider for DuckDuckGo {
    fn name(&self) -> ProviderName {
        self.search_client.provider
    }

    /// Sends the same request as the form on the page.
    async fn search(&self, query: &str, max: usize) -> Result<Vec<Hit>, SearchError> {
        let mut request = Request::new(Method::POST, self.page.as_str());
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("q", query)
            .append_pair("b", "")
            .finish();
        request.body = Some(form.into());
        for (name, value) in [
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "text/html"),
        ] {
            let name = HeaderName::from_static(name);
            request
                .headers
                .insert(name, HeaderValue::from_static(value));
        }
        let answer = self.search_client.send(request).await?;
        let status = answer.status.as_u16();
        // DuckDuckGo blocks with a success status.
        if matches!(status, 202 | 401 | 403 | 418) {
            let reason = format!("it answered {status} instead of results");
            return Err(self.search_client.blocked(reason));
        }
        if !answer.status.is_success() {
            return Err(SearchError::Status {
                provider: self.name(),
                status,
                excerpt: excerpt(&answer.body),
            });
        }
        let (search_client, page) = (self.search_client.clone(), self.page.clone());
        let read = tokio::task::spawn_blocking(move || {
            let text = decode(&answer.body, None, &page, Completeness::Whole);
            read(&search_client, &html::parse(&text).document, &page, max)
        });
        let read = read.await;
        read.unwrap_or_else(|error| Err(self.search_client.layout(error.to_string())))
    }
}

fn read(
    search_client: &SearchClient,
    document: &Document,
    page: &Url,
    max: usize,
) -> Result<Vec<Hit>, SearchError> {
    let results = document.select(RESULT);
    let items: Vec<RawResult> = results
        .nodes()
        .iter()
        .filter_map(|result| item(result, page))
        .collect();
    if items.is_empty() {
        // Only without results: a page about captchas contains these words too.
        if document.select(WALL).exists() {
            return Err(search_client.blocked("it asks to prove that the client is not a robot"));
        }
        if !results.exists() && document.select(NOTHING).exists() {
            return Ok(Vec::new());
        }
        return Err(search_client.layout("neither results nor the words that there are none"));
    }
    let hits = search_client.hits(items, max)?;
    // A changed page layout usually shows as missing snippets first.
    if hits.len() > 1 && hits.iter().all(|hit| hit.content.is_empty()) {
        return Err(search_client.layout("its results have no snippets"));
    }
    Ok(hits)
}

fn item(result: &NodeRef<'_>, page: &Url) -> Option<RawResult> {
    let inside = |selector: &str| {
        let result = dom_query::Selection::from(*result);
        let found = result.select(selector);
        found.nodes().first().copied()
    };
    let link = inside("a.result__a[href]")?;
    let url = target(&link.attr("href")?, page)?;
    Some(RawResult {
        title: Some(escaped(&link)),
        url: Some(url.into()),
        content: inside(".result__snippet").map(|snippet| escaped(&snippet)),
    })
}

/// The text of `node`, escaped, since items contain HTML.
fn escaped(node: &NodeRef<'_>) -> String {
    html::line(node).replace('&', "&amp;").replace('<', "&lt;")
}

/// The target of a result, whose link goes through a redirector.
fn target(href: &str, page: &Url) -> Option<Url> {
    let url = page.join(href).ok()?;
    match url.path() {
        "/l/" => {}
        // An advertisement.
        "/y.js" => return None,
        _ => return Some(url),
    }
    let (_, target) = url.query_pairs().find(|(name, _)| name == "uddg")?;
    Url::parse(&target).ok()
}
