//! The page at `/`, and how a browser logs in to it.
//!
//! A link that works once gives the browser a token of its own as a cookie that no script can read and
//! no other site can send. The token is on record like any other: taking it back logs the browser out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use manyhands_core::{ErrorCode, Pattern, Role, ToolError};
use manyhands_page::{FILES, File, file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::admin::query;
use super::asker::{Asker, Owner, client};
use super::probes;
use super::refusal::{Answer, Answered, Refusal, answer};
use crate::doorman::{Failed, NewToken};
use crate::gateway::Gateway;

/// The name of the cookie.
const COOKIE: &str = "manyhands";
/// How long a login lasts.
const LASTS: Duration = Duration::from_secs(30 * 86_400);
/// How long a link is good that nobody used.
const LINK_MS: i64 = 3_600_000;
/// How many links may wait.
const MAX_LINKS: usize = 32;
/// What the page may do: load its own files and talk to the gateway it came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Links that wait to be used, by the hash of their code, and until when they are good. How long it
/// takes to find a hash says nothing about a code.
#[derive(Default)]
pub(crate) struct Links(Mutex<BTreeMap<[u8; 32], i64>>);

impl Gateway {
    /// A link that logs a browser in, once: its path and query.
    pub fn login_link(&self) -> String {
        let bytes: [u8; 24] = self.ids.random();
        let code: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = self.clock.now().0;
        let mut links = self.links.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, until| *until > now);
        if links.len() >= MAX_LINKS {
            links.pop_first();
        }
        links.insert(Sha256::digest(&code).into(), now + LINK_MS);
        format!("/login?code={code}")
    }

    fn use_link(&self, code: &str) -> bool {
        let mut links = self.links.0.lock().unwrap_or_else(PoisonError::into_inner);
        let until = links.remove(&<[u8; 32]>::from(Sha256::digest(code)));
        until.is_some_and(|until| until > self.clock.now().0)
    }
}

/// The token that a browser shows as a cookie, where it counts: for the page's own requests. One that changes
/// something must say that it comes from a page of ours; the door looked at what it says.
pub(super) fn cookie(parts: &Parts) -> Option<&str> {
    let path = parts.uri.path();
    if !path.starts_with("/api/") && path != "/ws" {
        return None;
    }
    let headers = &parts.headers;
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = said("sec-fetch-site") == Some("same-origin") || headers.contains_key(header::ORIGIN);
    let looks = parts.method == Method::GET && path != "/ws";
    if !looks && !own {
        return None;
    }
    let all = headers.get_all(header::COOKIE).iter();
    let mut all = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    all.find_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// What a link holds.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// The code, which works once.
    code: String,
}

/// Logs a browser in by a link that works once.
pub async fn login(
    State(gateway): State<Arc<Gateway>>,
    code: Result<Query<Code>, QueryRejection>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let Code { code } = query(code)?;
    // The code is looked at first, whatever failed before at this address: it has 192 random bits, so
    // nobody guesses one, and a limit before the check would let others keep the owner out.
    if !gateway.use_link(&code) {
        let message = "this link was used already, or is too old";
        let error = ToolError::new(ErrorCode::Unauthenticated, message)
            .hint("`manyhands link` prints a new one");
        let client = client(&parts, &gateway)?;
        let refusal = Refusal(gateway.doorman.refuse(client, Failed::LoginCode, error));
        let reads = |value: &HeaderValue| value.to_str().is_ok_and(|it| it.contains("text/html"));
        if parts.headers.get(header::ACCEPT).is_some_and(reads)
            && let Some(index) = file("index.html")
        {
            // A person is told by the page itself, which says how to get another.
            let mut told = send(index, &parts.headers);
            *told.status_mut() = refusal.into_response().status();
            let never = HeaderValue::from_static("no-store");
            told.headers_mut().insert(header::CACHE_CONTROL, never);
            return Ok(told);
        }
        return Err(refusal);
    }
    let name = format!("page {}", gateway.clock.now().rfc3339());
    let made = gateway.doorman.create(NewToken {
        name,
        role: Role::Owner,
        tools: vec![Pattern::new("*")],
        lifetime: Some(LASTS),
    });
    let (record, token) = made.await?;
    gateway.learn_secrets().await?;
    let secure = match gateway.listening().is_some_and(|listening| listening.tls) {
        true => "; Secure",
        false => "",
    };
    let cookie = format!(
        "{COOKIE}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
        token.expose(),
        LASTS.as_secs()
    );
    tracing::info!(token = %record.id, "a browser logged in");
    let mut response = Redirect::to("/").into_response();
    let cookie = HeaderValue::from_str(&cookie).map_err(|e| ToolError::internal(e.to_string()))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    guard(response.headers_mut());
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

/// A browser that was logged out.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedOut {
    /// Always true.
    logged_out: bool,
}

/// A link that logs a browser in, once.
#[derive(Serialize, JsonSchema)]
pub struct LoginLink {
    /// Its path and query at this gateway.
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

/// Logs the browser out: its token is taken back.
pub async fn logout(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
) -> Result<Response, Refusal> {
    if asker.caller.name.starts_with("page ") {
        gateway.doorman.revoke(asker.token).await?;
    }
    let gone = format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    let gone = HeaderValue::from_str(&gone).map_err(|e| ToolError::internal(e.to_string()))?;
    let mut response = Answered(LoggedOut { logged_out: true }).into_response();
    response.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(response)
}

/// Makes a link that logs a browser in, once.
pub async fn link(State(gateway): State<Arc<Gateway>>, Owner(owner): Owner) -> Answer<LoginLink> {
    let path = gateway.login_link();
    gateway.note(&owner.caller, "page.link", "").await?;
    answer(LoginLink { path })
}

/// The page, or a greeting where it was not built in.
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
