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
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use manyhands_core::{ErrorCode, Pattern, Role, Timestamp, ToolError};
use manyhands_gateway::{FailedLogin, Gateway, NewToken};
use manyhands_http_common::{Answer, Answered, Authenticated, Owner, Refusal, answer, client};
use manyhands_page::{File, file, files};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::body;
use super::probes;
use crate::http::object::Json;

/// Lifetime of a browser session.
const LASTS: Duration = Duration::from_secs(30 * 86_400);
/// Content security policy: the page may load its own files and connect to its gateway.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginCode {
    /// Code of a login link, valid once.
    code: String,
}

/// The response with a new browser session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedIn {
    /// Token of the session, shown once.
    token: String,
    /// When the session expires.
    expires_at: Option<String>,
}

/// Exchanges the code of a login link for a session.
pub async fn login(
    State(gateway): State<Arc<Gateway>>,
    parts: Parts,
    code: Result<Json<LoginCode>, JsonRejection>,
) -> Result<Response, Refusal> {
    let LoginCode { code } = body(code)?;
    let client = client(&parts, &gateway)?;
    // The code is checked first, whatever failed before at this address: it has 192 random bits and
    // cannot be guessed, and a limit before the check would let others lock the owner out.
    if !gateway.use_link(&code) {
        let error = ToolError::new(ErrorCode::Unauthenticated, "invalid or expired login link")
            .hint("each link works once and for an hour; `manyhands link` prints a new one");
        let refused = gateway.auth.refuse(client, FailedLogin::LoginCode, error);
        return Err(Refusal(refused));
    }
    let made = gateway.auth.create(NewToken {
        name: format!("browser {}", gateway.clock.now().rfc3339()),
        role: Role::Owner,
        tools: vec![Pattern::new("*")],
        agents: vec![Pattern::new("*")],
        lifetime: Some(LASTS),
        browser: true,
    });
    let (record, token) = made.await?;
    // Audited as the new token, since no other caller is known here.
    if let Some(caller) = gateway.auth.caller(record.id) {
        let about = format!("{} from {client}", record.id);
        gateway.note(&caller, "page.login", &about).await?;
    }
    let mut response = Answered(LoggedIn {
        token: token.expose().to_owned(),
        expires_at: record.expires.map(Timestamp::rfc3339),
    })
    .into_response();
    // The response contains the token, which must not reach a cache.
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    Ok(response)
}

/// The current caller.
#[derive(Serialize, JsonSchema)]
pub struct Who {
    /// The name of the token.
    name: String,
    /// Role of the token.
    role: Role,
    /// Whether it is an owner token.
    owner: bool,
    /// The gateway's version.
    version: &'static str,
    /// Public URL of the gateway.
    url: Option<String>,
    /// Whether `POST /api/transcribe` works.
    transcription: bool,
}

/// The response after a logout.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedOut {
    /// Whether a session was revoked; false for tokens that are not a browser session.
    logged_out: bool,
}

/// A one-time login link for a browser.
#[derive(Serialize, JsonSchema)]
pub struct LoginLink {
    /// Path and fragment of the link.
    path: String,
}

/// Returns the current caller.
pub async fn session(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
) -> Answer<Who> {
    answer(Who {
        role: admitted.caller.rights.role,
        owner: admitted.caller.is_owner(),
        name: admitted.caller.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        url: gateway.settings.current().public_url.clone(),
        transcription: gateway.chats().can_transcribe(),
    })
}

/// Logs the browser out by revoking its session. Other tokens stay valid.
pub async fn logout(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
) -> Answer<LoggedOut> {
    // Other tokens are not revoked by a logout: a script's token must survive it.
    let logged_out = gateway.auth.is_browser(admitted.token);
    if logged_out {
        gateway.auth.revoke(admitted.token).await?;
        let about = admitted.token.to_string();
        gateway
            .note(&admitted.caller, "page.logout", &about)
            .await?;
    }
    answer(LoggedOut { logged_out })
}

/// Creates a one-time login link.
pub async fn link(State(gateway): State<Arc<Gateway>>, Owner(owner): Owner) -> Answer<LoginLink> {
    let path = gateway.login_link();
    gateway.note(&owner.caller, "page.link", "").await?;
    answer(LoginLink { path })
}

/// The page, or a plain greeting if it was not built in. `/login` is the page too: its script reads
/// the code of a login link.
pub async fn root(headers: HeaderMap) -> Response {
    match file("index.html") {
        Some(index) => send(index, &headers),
        // Built without Node.js there is no page.
        None => probes::greeting().await.into_response(),
    }
}

/// Serves an asset of the page.
pub async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match file(&format!("assets/{name}")) {
        Some(found) => send(found, &headers),
        None => Refusal(ToolError::not_found("no such file")).into_response(),
    }
}

/// Serves the guide. It holds no secrets and describes only the program, so it needs no token.
pub async fn guide(name: Option<Path<String>>, headers: HeaderMap) -> Response {
    let name = name.map_or_else(|| "index.html".to_owned(), |Path(name)| name);
    match file(&format!("docs/{name}")) {
        Some(found) => send(found, &headers),
        None => Refusal(ToolError::not_found("no such page in the guide")).into_response(),
    }
}

/// Sends `/docs` to `/docs/`: the links of the guide are relative, so that it also works below a path of a proxy.
pub async fn guide_root() -> Redirect {
    Redirect::permanent("docs/")
}

/// Files of the page at the root.
pub(super) fn beside() -> impl Iterator<Item = &'static str> {
    let plain = |file: &&File| !file.name.contains('/') && file.name != "index.html";
    files().iter().filter(plain).map(|file| file.name)
}

/// Serves a root file of the page.
pub async fn other(uri: http::Uri, headers: HeaderMap) -> Response {
    match file(uri.path().trim_start_matches('/')) {
        Some(found) => send(found, &headers),
        None => Refusal(ToolError::not_found("no such file")).into_response(),
    }
}

fn send(file: &'static File, asked: &HeaderMap) -> Response {
    let takes = asked
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    // Files are stored compressed, which keeps the binary small and suits every browser.
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
    // Also for uncompressed responses: caches must keep both variants apart.
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // The names of these files contain their hash.
    let kept = match file.is_lasting() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    guard(headers);
    response
}

/// Decompresses a file for clients that do not accept compression.
fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sets the security headers of the page.
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
