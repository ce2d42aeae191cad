//! OAuth over HTTP: external access tokens at `/mcp`, the metadata that describes this, and the
//! callback page of a login.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use manyhands_core::{ErrorCode, ServerName, ToolError};
use manyhands_federation::oauth_guests::{COME_BACK, GuestRefusal, is_foreign};
use manyhands_federation::servers::oauth::Returned;
use manyhands_gateway::{Admitted, FailedLogin, Gateway};
use manyhands_http_common::{Refusal, admit as admit_bearer, bearer, proved};
use serde_json::{Value, json};

/// Path of the protected-resource metadata.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A rejected caller, and the error for `WWW-Authenticate`.
struct Refused {
    error: ToolError,
    word: Option<&'static str>,
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self { error, word: None }
    }
}

/// Authenticates the bearer of our own token or of an external access token, and passes the caller
/// on.
pub async fn admit(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match admitted(&gateway, &parts).await {
        Ok(admitted) => {
            let mut request = Request::from_parts(parts, body);
            request.extensions_mut().insert(admitted);
            next.run(request).await
        }
        Err(refused) => {
            let challenge = challenge(&gateway, parts.uri.path(), &refused);
            let mut response = Refusal(refused.error).into_response();
            if let Some(challenge) = challenge {
                let headers = response.headers_mut();
                headers.insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

async fn admitted(gateway: &Gateway, parts: &Parts) -> Result<Admitted, Refused> {
    let settings = gateway.settings.current();
    // Our own tokens have a recognisable prefix; only others are checked as access tokens.
    let foreign = bearer(parts).filter(|token| is_foreign(token));
    let Some(token) = foreign.filter(|_| !settings.oauth.issuers.is_empty()) else {
        return Ok(admit_bearer(parts, gateway)?);
    };
    let audiences = audiences(gateway, parts.uri.path());
    let networks = &settings.egress.allow_private;
    let clock = &*gateway.clock;
    let checked = gateway
        .guests
        .check(token, &audiences, &settings.oauth, networks, clock);
    // Clients log in again on `invalid_token` and request more scopes on `insufficient_scope`.
    let unauthenticated = |why: &str| Refused {
        error: ToolError::new(ErrorCode::Unauthenticated, why)
            .hint("log in again at the authorization server"),
        word: Some("invalid_token"),
    };
    match checked.await {
        Ok(guest) => {
            let admitted = gateway.auth.admit_guest(guest)?;
            proved(parts);
            Ok(admitted)
        }
        // Not signed by a trusted issuer: counted like any other failed login.
        Err(GuestRefusal::Unproven(why)) => {
            let client = manyhands_http_common::client(parts, gateway)?;
            let Refused { error, word } = unauthenticated(why);
            let error = gateway.auth.refuse(client, FailedLogin::Foreign, error);
            Err(Refused { error, word })
        }
        // Signed by a trusted issuer, so an expired token is not a guess and not counted as a
        // failed login.
        Err(GuestRefusal::Unfit(why)) => Err(unauthenticated(why)),
        Err(GuestRefusal::Ungranted) => Err(Refused {
            error: ToolError::new(
                ErrorCode::Forbidden,
                "the token is valid but grants no rights here",
            )
            .hint("the owner can extend oauth.grants, or request a token with other scopes"),
            word: Some("insufficient_scope"),
        }),
        Err(GuestRefusal::Later(why)) => {
            let error = ToolError::new(ErrorCode::Unavailable, why);
            Err(error.retry_after(COME_BACK).into())
        }
    }
}

/// Accepted audiences of a token: all of `/mcp`, or the requested path.
fn audiences(gateway: &Gateway, path: &str) -> Vec<String> {
    let base = gateway.servers.oauth().base();
    let whole = base.as_ref().map(|base| format!("{base}/mcp"));
    // Issuers may know the gateway by a name of their own.
    let said = gateway.settings.current().oauth.audience.clone();
    // A token may be bound to the path of one server (RFC 8707).
    let one = base
        .map(|base| format!("{base}{path}"))
        .filter(|_| path != "/mcp");
    said.or(whole).into_iter().chain(one).collect()
}

/// The `WWW-Authenticate` challenge, if external tokens are accepted.
fn challenge(gateway: &Gateway, path: &str, refused: &Refused) -> Option<HeaderValue> {
    let settings = gateway.settings.current();
    let challenges = matches!(
        refused.error.code,
        ErrorCode::Unauthenticated | ErrorCode::Forbidden
    );
    // Without issuers there is no authorization server to name.
    if settings.oauth.issuers.is_empty() || !challenges {
        return None;
    }
    let base = gateway.servers.oauth().base()?;
    let mut text =
        format!("Bearer realm=\"manyhands\", resource_metadata=\"{base}{WELL_KNOWN}{path}\"");
    if let Some(word) = refused.word {
        text.push_str(&format!(", error=\"{word}\""));
    }
    let scopes = settings.oauth.scopes.join(" ");
    // Quotes would break the header's syntax.
    if !scopes.is_empty() && !scopes.contains(['"', '\\']) {
        text.push_str(&format!(", scope=\"{scopes}\""));
    }
    HeaderValue::try_from(text).ok()
}

/// Protected-resource metadata of `/mcp`.
pub async fn resource(State(gateway): State<Arc<Gateway>>) -> Result<Json<Value>, Refusal> {
    described(&gateway, "/mcp")
}

/// Protected-resource metadata of one server's path. Does not reveal whether the server exists.
pub async fn resource_of(
    State(gateway): State<Arc<Gateway>>,
    Path(server): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let name = server.parse::<ServerName>();
    let name = name.map_err(|e| Refusal(ToolError::parameter("server", e.to_string())))?;
    described(&gateway, &format!("/mcp/{name}"))
}

fn described(gateway: &Gateway, path: &str) -> Result<Json<Value>, Refusal> {
    let settings = gateway.settings.current();
    let oauth = &settings.oauth;
    let base = gateway
        .servers
        .oauth()
        .base()
        .filter(|_| !oauth.issuers.is_empty());
    let base = base.ok_or_else(|| {
        Refusal(
            ToolError::not_found("this gateway accepts only its own tokens")
                .hint("the owner creates one with `manyhands token create`"),
        )
    })?;
    let issuers: Vec<&str> = oauth
        .issuers
        .values()
        .map(|one| one.issuer.as_str())
        .collect();
    Ok(Json(json!({
        "resource": format!("{base}{path}"),
        "resource_name": "Manyhands",
        "authorization_servers": issuers,
        "scopes_supported": oauth.scopes,
        "bearer_methods_supported": ["header"],
    })))
}

/// Client id metadata document of the gateway.
pub async fn client(State(gateway): State<Arc<Gateway>>) -> Result<Json<Value>, Refusal> {
    let document = gateway.servers.oauth().document();
    document.map(Json).ok_or_else(|| {
        Refusal(
            ToolError::not_found("this document is not public")
                .hint("it is served if public_url is an https address"),
        )
    })
}

/// OAuth callback of a login. The `state` parameter is sufficient: it cannot be guessed and is
/// valid once.
pub async fn callback(
    State(gateway): State<Arc<Gateway>>,
    returned: Result<Query<Returned>, QueryRejection>,
) -> Response {
    let Ok(Query(returned)) = returned else {
        let why = "The response of the authorization server is invalid: a parameter is repeated or malformed. Start the login again.";
        return page(StatusCode::BAD_REQUEST, "Not logged in", why);
    };
    let oauth = gateway.servers.oauth();
    // Taken, so that a repeated callback cannot use it again.
    let login = returned
        .state
        .as_deref()
        .and_then(|state| oauth.take(state));
    let Some(login) = login else {
        let why = "Unknown login: it was already completed, has expired, or was started elsewhere. Start it again.";
        return page(StatusCode::BAD_REQUEST, "Not logged in", why);
    };
    // The owner may have been revoked between the start of the login and its return.
    let Some(owner) = gateway
        .auth
        .caller(login.by)
        .filter(|caller| caller.is_owner())
    else {
        let why = "The token that started this login is no longer valid.";
        return page(StatusCode::FORBIDDEN, "Not logged in", why);
    };
    let server = login.server.clone();
    let done = gateway.servers.end_login(login, returned).await;
    let about = match &done {
        Ok(record) => format!("{server}: {}", record.id),
        Err(error) => format!("{server}: {}", error.text()),
    };
    // Failed logins are audited too.
    let noted = gateway.note(&owner, "server.login", &about).await;
    // The login itself is done; failing the page now would only confuse.
    if let Err(error) = noted {
        tracing::error!(event = "login_audit_failed", %server, %error, "failed to record an OAuth login in the audit log");
    }
    match done {
        Ok(_) => {
            let listed = gateway.servers.get(server.as_str());
            let text = match listed.ok().and_then(|server| server.problem()) {
                None => format!("Manyhands is logged in at {server}. You can close this page."),
                Some(problem) => format!(
                    "Manyhands is logged in at {server}, but cannot list its tools: {problem}"
                ),
            };
            page(StatusCode::OK, "Logged in", &text)
        }
        Err(error) => page(StatusCode::BAD_REQUEST, "Not logged in", &error.text()),
    }
}

/// A plain page that loads and runs nothing.
fn page(status: StatusCode, title: &str, text: &str) -> Response {
    // Texts come from servers, so they are escaped even though the policy forbids scripts.
    let (title, text) = (escaped(title), escaped(text));
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><h1>{title}</h1><p>{text}</p></html>\n"
    );
    let headers: [(HeaderName, &str); 5] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    (status, headers, Html(html)).into_response()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_is_escaped_on_the_page() {
        assert_eq!(
            escaped("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;"
        );
    }
}
