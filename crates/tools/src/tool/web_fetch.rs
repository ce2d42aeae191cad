//! `tool::web_fetch`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::web::FetchRequest;
use manyhands_host::web::{MAX_STORED, Web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ceiling::{Ceilings, Lowered};
use crate::registration::{Registration, typed};

/// Bytes of text shown in a result.
const MAX_CONTENT: usize = 100_000;

/// Fetch a page of the web and read it: HTML becomes readable text with its title and links, other text stays as it is.
/// Addresses inside private networks are refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// URL to fetch.
    #[schemars(length(min = 1))]
    url: String,
    /// Read at most this many bytes of the response. Default and most: 500000, or what `tools.web_fetch.max_bytes` says.
    #[schemars(range(min = 1))]
    max_size: Option<u64>,
}

/// The page.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Final URL, after redirects.
    url: String,
    /// HTTP status code.
    status: u16,
    /// Response content type.
    content_type: String,
    /// Whether part of the content is missing.
    truncated: bool,
    /// Full size, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_size: Option<u64>,
    /// Title of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Artifact with the full text, if not all is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    /// Requested values lowered to a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lowered: Vec<Lowered>,
    /// The content, at most 100 KB.
    content: String,
    /// Links on the page, at most 50.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<manyhands_host::web::PageLink>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::web_fetch",
    enabled: |tools| tools.web_fetch.enabled,
    build: |deps| typed(WebFetch(deps.web.clone())),
};

struct WebFetch(Web);

impl TypedTool for WebFetch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::READS.and(Effects::LEAVES))
            .deadline(Duration::from_secs(3_660))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let settings = self.0.settings();
        let limits = &settings.tools.web_fetch;
        let mut ceilings = Ceilings::default();
        let max_bytes = ceilings.at_most(
            "maxSize",
            params.max_size,
            limits.max_bytes,
            "tools.web_fetch.max_bytes",
        );
        let asked = FetchRequest {
            max_bytes,
            max_stored: match params.max_size {
                None => MAX_STORED.min(settings.limits.artifact_bytes),
                Some(_) => 0, // the caller wants no more to be read
            },
            max_content: MAX_CONTENT,
            timeout: Duration::from_secs(limits.timeout),
            max_redirects: 10,
            ..FetchRequest::get(params.url)
        };
        let fetched = self.0.fetch(asked, None, context).await?;
        let page = fetched.answer;
        let outcome = Outcome::of(&Output {
            url: page.url,
            status: page.status,
            content_type: page.content_type.unwrap_or_default(),
            content: page.content,
            truncated: page.truncated,
            // Only where it tells more than the content.
            full_size: page.full_size.filter(|_| page.truncated),
            title: page.title,
            links: page.links.into_iter().map(Into::into).collect(),
            artifact_id: fetched.artifact_id,
            lowered: ceilings.into_lowered(),
        })?;
        Ok(outcome.shortened(fetched.cut))
    }
}
