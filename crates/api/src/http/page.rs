//! The page at `/`, and how a browser logs in to it.
//!
//! A browser session is a token that the page stores for its own origin (scheme, host and port) and sends in the
//! `Authorization` header, like every other client. There is no cookie: browsers send cookies to every port of
//! a host, so that any server on the same machine would receive one, and nothing a browser sends by itself may
//! be enough to act as the owner. The one-time code of a login link stands behind the `#`, so it is never
//! part of a request for a page, a log line or a `Referer`; the page exchanges it for the token.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use manyhands_core::{ErrorCode, Pattern, Role, Timestamp, ToolError};
use manyhands_gateway::{Failed, Gateway, NewToken};
use manyhands_http_common::{Answer, Answered, Asker, Owner, Refusal, answer, client};
use manyhands_page::{FILES, File, file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::body;
use super::probes;
use crate::http::object::Json;

/// How long a login lasts.
const LASTS: Duration = Duration::from_secs(30 * 86_400);
/// What the page may do: load its own files and talk to the gateway it came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// What a browser shows to log in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// The code of a login link, which works once.
    code: String,
}

/// A browser session that was opened.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedIn {
    /// The session's token, returned this once.
    token: String,
    /// When the session ends.
    expires_at: Option<String>,
}

/// Exchanges the code of a login link for a session.
pub async fn login(
    State(gateway): State<Arc<Gateway>>,
    parts: Parts,
    code: Result<Json<Code>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Code { code } = body(code)?;
    let client = client(&parts, &gateway)?;
    // The code is looked at first, whatever failed before at this address: it has 192 random bits, so
    // nobody guesses one, and a limit before the check would let others keep the owner out.
    if !gateway.use_link(&code) {
        let error = ToolError::new(ErrorCode::Unauthenticated, "invalid or expired login link")
            .hint("each link works once and for an hour; `manyhands link` prints a new one");
        let refused = gateway.doorman.refuse(client, Failed::LoginCode, error);
        return Err(Refusal(refused));
    }
    let made = gateway.doorman.create(NewToken {
        name: format!("browser {}", gateway.clock.now().rfc3339()),
        role: Role::Owner,
        tools: vec![Pattern::new("*")],
        agents: vec![Pattern::new("*")],
        lifetime: Some(LASTS),
        browser: true,
    });
    let (record, token) = made.await?;
    if let Some(caller) = gateway.doorman.caller(record.id) {
        let about = format!("{} from {client}", record.id);
        gateway.note(&caller, "page.login", &about).await?;
    }
    let mut response = Answered(LoggedIn {
        token: token.expose().to_owned(),
        expires_at: record.expires.map(Timestamp::rfc3339),
    })
    .into_response();
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    Ok(response)
}

/// Who asks.
#[derive(Serialize, JsonSchema)]
pub struct Who {
    /// The name of the token.
    name: String,
    /// What it is for.
    role: Role,
    /// Whether it is the owner.
    owner: bool,
    /// The gateway's version.
    version: &'static str,
    /// The address under which others reach the gateway.
    url: Option<String>,
}

/// Whether a browser was logged out.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedOut {
    /// Whether a session was revoked; false for tokens that are not a browser session.
    logged_out: bool,
}

/// A link that logs a browser in, once.
#[derive(Serialize, JsonSchema)]
pub struct LoginLink {
    /// Its path and fragment at this gateway.
    path: String,
}

/// Who is logged in.
pub async fn session(State(gateway): State<Arc<Gateway>>, Asker(asker): Asker) -> Answer<Who> {
    answer(Who {
        role: asker.caller.rights.role,
        owner: asker.caller.is_owner(),
        name: asker.caller.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        url: gateway.settings.current().public_url.clone(),
    })
}

/// Logs the browser out: its session is revoked. Other tokens stay valid.
pub async fn logout(State(gateway): State<Arc<Gateway>>, Asker(asker): Asker) -> Answer<LoggedOut> {
    let logged_out = gateway.doorman.is_browser(asker.token);
    if logged_out {
        gateway.doorman.revoke(asker.token).await?;
        let about = asker.token.to_string();
        gateway.note(&asker.caller, "page.logout", &about).await?;
    }
    answer(LoggedOut { logged_out })
}

/// Makes a link that logs a browser in, once.
pub async fn link(State(gateway): State<Arc<Gateway>>, Owner(owner): Owner) -> Answer<LoginLink> {
    let path = gateway.login_link();
    gateway.note(&owner.caller, "page.link", "").await?;
    answer(LoginLink { path })
}

/// The page, or a greeting where it was not built in. `/login` is the page too: the code of a login link
/// is read by its script.
pub async fn root(headers: HeaderMap) -> Response {
    match file("index.html") {
        Some(index) => send(index, &headers),
        None => probes::greeting().await.into_response(),
    }
}

/// A file of the page.
pub async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match file(&format!("assets/{name}")) {
        Some(found) => send(found, &headers),
        None => Refusal(ToolError::not_found("the page has no such file")).into_response(),
    }
}

/// The files of the page that stand beside it.
pub(super) fn beside() -> impl Iterator<Item = &'static str> {
    let plain = |file: &&File| !file.name.contains('/') && file.name != "index.html";
    FILES.iter().filter(plain).map(|file| file.name)
}

/// A file that stands beside the page.
pub async fn other(uri: http::Uri, headers: HeaderMap) -> Response {
    match file(uri.path().trim_start_matches('/')) {
        Some(found) => send(found, &headers),
        None => Refusal(ToolError::not_found("the page has no such file")).into_response(),
    }
}

fn send(file: &'static File, asked: &HeaderMap) -> Response {
    let takes = asked
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    let packed = file.packed && takes.is_some_and(|takes| takes.contains("gzip"));
    let bytes = match file.packed && !packed {
        true => unpacked(file.bytes).map(Cow::Owned),
        false => Ok(Cow::Borrowed(file.bytes)),
    };
    let mut response = match bytes {
        Ok(bytes) => (StatusCode::OK, bytes).into_response(),
        Err(error) => return Refusal(ToolError::internal(error.to_string())).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.mime()));
    if packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let kept = match file.is_lasting() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    guard(headers);
    response
}

/// A file of the page for those who do not take it packed.
fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a browser is told to hold the page to.
fn guard(headers: &mut HeaderMap) {
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(
        "cross-origin-opener-policy",
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
}
