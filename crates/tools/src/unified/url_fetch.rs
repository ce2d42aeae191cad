//! `url_fetch`

use std::collections::BTreeMap;
use std::time::Duration;

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::web::{Decode, FetchBody, FetchMethod, FetchRequest};
use manyhands_host::machine::Host;
use manyhands_host::web::{MAX_STORED, PageLink, Web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ceiling::{Ceilings, Lowered};
use crate::registration::{Registration, typed};

/// Make an HTTP(S) request and return the response, or download it to a file. Addresses inside private networks are refused,
/// and so are headers that carry credentials: name an auth profile instead.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Request URL. Only http and https are supported.
    #[schemars(length(min = 1))]
    url: String,
    /// GET, POST, PUT, PATCH or DELETE. Default GET.
    method: Option<Method>,
    /// Auth profile id: its secret is sent only where the owner said it may go.
    auth_profile: Option<String>,
    /// Custom headers: Accept, Content-Type, User-Agent, If-None-Match, If-Modified-Since, Range.
    headers: Option<BTreeMap<String, String>>,
    /// Request body: a string is sent as it is, anything else as JSON.
    body: Option<Value>,
    /// Save the response body to this path below `file_cache_dir`.
    download_path: Option<String>,
    /// Timeout in seconds, at most what `tools.url_fetch.timeout` says.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout_seconds: Option<f64>,
    /// Maximum bytes to read, at most `tools.url_fetch.max_bytes`, or the download limit.
    #[schemars(range(min = 1))]
    max_bytes: Option<u64>,
    /// Return HTML as it is instead of as readable text. Default false.
    raw: Option<bool>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl From<Method> for FetchMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::Get,
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
        }
    }
}

/// The response, or where it was saved.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// The response.
    Response {
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
        /// Selected response headers, names in lower case.
        headers: BTreeMap<String, String>,
        /// The title of a page.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Artifact with the full text, if not all is shown.
        #[serde(skip_serializing_if = "Option::is_none")]
        artifact_id: Option<String>,
        /// Requested values lowered to a limit.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lowered: Vec<Lowered>,
        /// Body as text; HTML as its readable part.
        content: String,
        /// Links on a page, at most 50.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        links: Vec<PageLink>,
    },
    /// A saved response.
    Download {
        /// Final URL, after redirects.
        url: String,
        /// HTTP status code.
        status: u16,
        /// Response content type.
        content_type: String,
        /// Absolute path of the file.
        path: String,
        /// Its size.
        bytes: u64,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
        /// Requested values lowered to a limit.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lowered: Vec<Lowered>,
    },
}

pub(crate) const TOOL: Registration = Registration {
    name: "url_fetch",
    enabled: |tools| tools.url_fetch.enabled,
    build: |deps| {
        typed(UrlFetch {
            web: deps.web.clone(),
            host: deps.host.clone(),
        })
    },
};

struct UrlFetch {
    web: Web,
    host: Host,
}

impl TypedTool for UrlFetch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        let effects = Effects::READS.and(Effects::WRITES).and(Effects::LEAVES);
        super::spec(TOOL.name)
            .effects(effects)
            .deadline(Duration::from_secs(3_660))
    }

    /// A plain fetch only reads; a body, a credential or another method may do more.
    fn effects_of(&self, arguments: &Value) -> Effects {
        let given = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
        let method = arguments
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or("GET");
        let effects = self.spec().effects;
        if method != "GET" || given("body") || given("auth_profile") {
            return effects.and(Effects::SENDS);
        }
        effects
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let settings = self.web.settings();
        let limits = &settings.tools.url_fetch;
        let mut ceilings = Ceilings::default();
        let timeout = ceilings.seconds(
            "timeout_seconds",
            params.timeout_seconds,
            limits.timeout,
            "tools.url_fetch.timeout",
        )?;
        // Downloads go to disk, so their limit is higher than that of content for the model.
        let (most, setting) = match params.download_path {
            Some(_) => (
                limits.max_download_bytes,
                "tools.url_fetch.max_download_bytes",
            ),
            None => (limits.max_bytes, "tools.url_fetch.max_bytes"),
        };
        let max_bytes = ceilings.at_most("max_bytes", params.max_bytes, most, setting);
        let lowered = ceilings.into_lowered();
        let headers = params.headers.unwrap_or_default();
        let part = headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("range"));
        if params.auth_profile.is_some() && part {
            // In parts, a response that echoes the secret could not be recognised.
            let message = "Range cannot be used together with auth_profile";
            return Err(ToolError::parameter("headers", message));
        }
        let asked = FetchRequest {
            method: params.method.map_or(FetchMethod::Get, Into::into),
            headers,
            body: params
                .body
                .filter(|body| !body.is_null())
                .map(FetchBody::from),
            max_bytes,
            max_stored: match params.max_bytes {
                None => MAX_STORED.min(settings.limits.artifact_bytes),
                Some(_) => 0, // the caller wants no more to be read
            },
            max_content: usize::try_from(limits.max_bytes).unwrap_or(usize::MAX),
            timeout,
            decode: if params.raw == Some(true) {
                Decode::Raw
            } else {
                Decode::Readable
            },
            ..FetchRequest::get(params.url)
        };
        let profile = self.web.profile(params.auth_profile.as_deref()).await?;
        let Some(path) = params.download_path else {
            let fetched = self.web.fetch(asked, profile.as_ref(), context).await?;
            let response = fetched.answer;
            let outcome = Outcome::of(&Output::Response {
                url: response.url,
                status: response.status,
                content_type: response.content_type.unwrap_or_default(),
                content: response.content,
                // Only where it tells more than the content itself.
                full_size: response.full_size.filter(|_| response.truncated),
                truncated: response.truncated,
                headers: response.headers,
                title: response.title,
                links: response.links.into_iter().map(Into::into).collect(),
                artifact_id: fetched.artifact_id,
                lowered,
            })?;
            return Ok(outcome.shortened(fetched.cut));
        };
        // The path is checked before the request, which may have effects.
        let place = self.host.to_download(&path)?;
        let saved = self.web.download(asked, profile.as_ref(), &place).await?;
        Outcome::of(&Output::Download {
            url: saved.url,
            status: saved.status,
            content_type: saved.content_type.unwrap_or_default(),
            path: place.shown(),
            bytes: saved.bytes,
            sha256: saved.sha256,
            lowered,
        })
    }
}
