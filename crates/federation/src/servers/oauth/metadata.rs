//! Metadata of protected resources and authorization servers, and the checks they have to pass.

use bytes::Bytes;
use manyhands_guard::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::challenge::Challenge;
use super::error::OauthError;
use super::http::OauthHttp;

/// How many authorization servers of one resource are tried.
const MAX_ISSUERS: usize = 3;

/// Metadata of a protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The resource identifier that tokens are requested for.
    pub id: String,
    /// Its authorization servers.
    pub issuers: Vec<String>,
    /// The scopes it supports.
    pub scopes: Vec<String>,
}

/// Metadata of an authorization server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Issuer {
    pub issuer: String,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub registration_endpoint: Option<String>,
    pub revocation_endpoint: Option<String>,
    pub jwks_uri: Option<String>,
    pub scopes_supported: Vec<String>,
    pub grant_types_supported: Option<Vec<String>>,
    pub code_challenge_methods_supported: Vec<String>,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub authorization_response_iss_parameter_supported: bool,
    pub client_id_metadata_document_supported: bool,
}

impl Issuer {
    /// Returns whether it supports a grant type; the default is authorization codes only.
    pub fn grants(&self, kind: &str) -> bool {
        match &self.grant_types_supported {
            Some(kinds) => kinds.iter().any(|known| known == kind),
            None => kind == "authorization_code",
        }
    }

    /// Returns a required endpoint, if tokens may be sent there.
    pub(super) fn endpoint(
        &self,
        way: &OauthHttp,
        what: &str,
        said: Option<&String>,
    ) -> Result<Url, OauthError> {
        let said =
            said.ok_or_else(|| OauthError::unusable(format!("{} names no {what}", self.issuer)))?;
        way.place(&format!("the {what} of {}", self.issuer), said)
    }
}

/// The well-known URLs of a resource's metadata, in the order they are tried.
pub fn resource_places(server: &Url) -> Vec<Url> {
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let mut places = vec![at(server, &format!("{WELL_KNOWN}{path}"))];
    if !path.is_empty() {
        places.push(at(server, WELL_KNOWN));
    }
    places
}

/// The well-known URLs of an authorization server's metadata.
pub fn issuer_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(
            issuer,
            &format!("/.well-known/oauth-authorization-server{path}"),
        ),
        at(issuer, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(
            issuer,
            &format!("{path}/.well-known/openid-configuration"),
        ));
    }
    places
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns whether a token for `resource` may be sent to `server`: same origin, at or below its
/// path.
pub fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let beneath = path
        .strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && resource.query().is_none() && beneath
}

/// Fetches the metadata of a resource. A server without metadata is taken as its own authorization
/// server, as before RFC 9728.
pub(super) async fn resource(
    way: &OauthHttp,
    server: &Url,
    challenge: &Challenge,
) -> Result<Resource, OauthError> {
    let mut last = None;
    let places = match &challenge.resource_metadata {
        Some(said) => vec![way.place("its resource_metadata URL", said)?],
        None => resource_places(server),
    };
    for place in places {
        match way.document(&place).await {
            Ok(Some(document)) => return read_resource(&document, server),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
    }
    match (last, &challenge.resource_metadata) {
        (Some(error), _) => Err(error),
        (None, Some(_)) => Err(OauthError::unusable(
            "its resource_metadata URL returned no metadata",
        )),
        (None, None) => Ok(Resource {
            id: canonical(server),
            issuers: vec![server.origin().ascii_serialization()],
            scopes: Vec::new(),
        }),
    }
}

/// The resource identifier of a server without metadata.
pub fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = url.to_string();
    match url.path() {
        "/" => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

fn read_resource(document: &Value, server: &Url) -> Result<Resource, OauthError> {
    let id = document["resource"].as_str().unwrap_or_default();
    if !covers(id, server) {
        let shown = super::error::tame(id);
        return Err(OauthError::unusable(format!(
            "its metadata is for {shown:?}, but its URL is {}",
            canonical(server)
        )));
    }
    let issuers = texts(&document["authorization_servers"]);
    if issuers.is_empty() {
        return Err(OauthError::unusable(
            "its metadata names no authorization server",
        ));
    }
    Ok(Resource {
        id: id.to_owned(),
        issuers,
        scopes: texts(&document["scopes_supported"]),
    })
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    let texts = texts.filter_map(|one| one.as_str().map(str::to_owned));
    texts.take(super::challenge::MAX_SCOPES).collect()
}

/// Returns the first usable authorization server of a resource.
pub(super) async fn first_issuer(
    way: &OauthHttp,
    resource: &Resource,
) -> Result<Issuer, OauthError> {
    let mut first = None;
    for named in resource.issuers.iter().take(MAX_ISSUERS) {
        match issuer(way, named).await {
            Ok(found) => return Ok(found),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| OauthError::unusable("it names no authorization server")))
}

/// Fetches the metadata of an authorization server, which must name itself as the issuer.
pub async fn issuer(way: &OauthHttp, named: &str) -> Result<Issuer, OauthError> {
    let url = way.place("its authorization server", named)?;
    let mut last = None;
    for place in issuer_places(&url) {
        match way.document(&place).await {
            Ok(Some(document)) => return read_issuer(way, document, &url),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| {
        OauthError::unusable(format!("the authorization server {url} has no metadata"))
    }))
}

fn read_issuer(way: &OauthHttp, document: Value, url: &Url) -> Result<Issuer, OauthError> {
    let read: Issuer = serde_json::from_value(document)
        .map_err(|_| OauthError::unusable(format!("the metadata of {url} is malformed")))?;
    // Otherwise one server could impersonate another and receive its authorization codes.
    if Url::parse(&read.issuer).ok().as_ref() != Some(url) {
        let shown = super::error::tame(&read.issuer);
        return Err(OauthError::unusable(format!(
            "the metadata of {url} names another issuer ({shown:?})"
        )));
    }
    let places = [
        ("authorization_endpoint", &read.authorization_endpoint),
        ("token_endpoint", &read.token_endpoint),
        ("registration_endpoint", &read.registration_endpoint),
        ("revocation_endpoint", &read.revocation_endpoint),
        ("jwks_uri", &read.jwks_uri),
    ];
    for (what, said) in places {
        if said.is_some() {
            read.endpoint(way, what, said.as_ref())?;
        }
    }
    Ok(read)
}

/// Sends an unauthenticated request and returns the challenge of the response.
pub(super) async fn first_challenge(
    way: &OauthHttp,
    server: &Url,
) -> Result<Challenge, OauthError> {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let body = Some(Bytes::from_static(ping));
    let answer = way.send(Method::POST, server, headers, body).await?;
    let said = answer.headers.get("www-authenticate");
    let said = said.and_then(|value| value.to_str().ok());
    Ok(match answer.status {
        401 | 403 => Challenge::read(said),
        _ => Challenge::default(),
    })
}

/// Rejects an authorization server without PKCE, where a stolen code could be redeemed by anyone.
pub(super) fn binds_codes(issuer: &Issuer) -> Result<(), OauthError> {
    let methods = &issuer.code_challenge_methods_supported;
    if methods.iter().any(|method| method == "S256") {
        return Ok(());
    }
    Err(OauthError::unusable(format!(
        "the authorization server {} does not announce PKCE with S256, which is required to protect authorization codes",
        issuer.issuer
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(of: fn(&Url) -> Vec<Url>, url: &str) -> Vec<String> {
        let found = of(&Url::parse(url).unwrap());
        found.iter().map(Url::to_string).collect()
    }

    #[test]
    fn metadata_are_looked_for_with_and_without_the_path() {
        assert_eq!(
            places(resource_places, "https://m.example/a/mcp?x=1"),
            [
                "https://m.example/.well-known/oauth-protected-resource/a/mcp",
                "https://m.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            places(issuer_places, "https://l.example/tenant"),
            [
                "https://l.example/.well-known/oauth-authorization-server/tenant",
                "https://l.example/.well-known/openid-configuration/tenant",
                "https://l.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(places(issuer_places, "https://l.example").len(), 2);
    }

    #[test]
    fn a_token_is_for_one_place_and_what_lies_beneath() {
        let server = Url::parse("https://m.example/a/mcp").unwrap();
        for (resource, good) in [
            ("https://m.example/a/mcp", true),
            ("https://m.example/a/", true),
            ("https://m.example", true),
            ("https://m.example/a/mc", false),
            ("https://m.example/a/mcp/x", false),
            ("https://evil.example/a/mcp", false),
            ("http://m.example/a/mcp", false),
            ("https://m.example:8443/a/mcp", false),
            ("", false),
        ] {
            assert_eq!(covers(resource, &server), good, "{resource}");
        }
    }

    #[test]
    fn a_server_is_named_without_query_and_lonely_slash() {
        for (url, name) in [
            ("https://m.example/", "https://m.example"),
            ("https://M.example/mcp?a=b#c", "https://m.example/mcp"),
            ("https://m.example:443/mcp/", "https://m.example/mcp/"),
        ] {
            assert_eq!(canonical(&Url::parse(url).unwrap()), name);
        }
    }
}
