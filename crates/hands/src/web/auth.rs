//! Credentials that an agent can use but never see.
//!
//! A profile binds a secret to the one destination it is meant for. The comparison uses the URL as it
//! will be sent, and a path that servers interpret differently is refused instead of compared.

use std::fmt;

use manyhands_core::Secret;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;
use url::Url;

/// Placeholder of the secret in the header.
const SLOT: &str = "{}";
/// Maximum layers of percent-encoding in a path.
const MAX_LAYERS: usize = 4;

/// A profile as configured.
#[derive(Debug, Clone)]
pub struct AuthProfileSettings {
    /// Its name.
    pub id: String,
    /// `https` or `http`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// The port; default of the scheme if `None`.
    pub port: Option<u16>,
    /// The path prefix it may be used with; `/` for the whole host.
    pub path_prefix: String,
    /// The methods it may be used with.
    pub methods: Vec<Method>,
    /// The header with the secret.
    pub header: String,
    /// The header's value, with `{}` for the secret.
    pub format: String,
    /// The secret.
    pub secret: Secret,
}

/// A secret and its one destination.
#[derive(Debug, Clone)]
pub struct AuthProfile {
    id: String,
    /// Scheme, host and port.
    allowed_url: Url,
    prefix: Vec<String>,
    methods: Vec<Method>,
    header: HeaderName,
    format: String,
    secret: Secret,
}

/// Why a secret was not used. It was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The profile is invalid.
    #[error("auth profile {id}: {field} {problem}")]
    Profile {
        /// The profile.
        id: String,
        /// The invalid setting.
        field: &'static str,
        /// The problem.
        problem: String,
    },
    /// The profile is not for this request.
    #[error("auth profile {id} does not cover this request: {}", .mismatches.join("; "))]
    Mismatch {
        /// The profile.
        id: String,
        /// All differences.
        mismatches: Vec<String>,
    },
    /// The path is ambiguous.
    #[error(
        "auth profile {id} is not used with this path, because servers read `..` behind an encoded slash or dot differently; write the path plainly"
    )]
    Ambiguous {
        /// The profile.
        id: String,
    },
}

impl AuthProfile {
    /// Validates the settings.
    pub fn new(settings: AuthProfileSettings) -> Result<Self, AuthError> {
        let id = settings.id;
        let wrong = |field, problem: &str| AuthError::Profile {
            id: id.clone(),
            field,
            problem: problem.to_owned(),
        };
        if !matches!(settings.scheme.as_str(), "https" | "http") {
            return Err(wrong("scheme", "must be https or http"));
        }
        let host = settings.host.trim();
        if host.is_empty() || host.contains(['/', '@', '?', '#', '\\']) {
            return Err(wrong(
                "host",
                "must be a host name alone, such as api.example.com",
            ));
        }
        let allowed_url = format!("{}://{host}/", settings.scheme);
        let mut allowed_url = Url::parse(&allowed_url)
            .map_err(|error| wrong("host", &format!("is not one: {error}")))?;
        if allowed_url.port().is_some() {
            return Err(wrong("host", "holds a port; give it as port"));
        }
        // A port equal to the scheme's default equals none, and `Url` normalises it.
        if allowed_url.set_port(settings.port).is_err() {
            return Err(wrong("port", "cannot be used with this host"));
        }
        let path = settings.path_prefix;
        if !path.starts_with('/') || path.contains(['?', '#']) {
            return Err(wrong("path_prefix", "must be a path that starts with /"));
        }
        let mut whole = allowed_url.clone();
        // Set through `Url`, so that the prefix is normalised exactly like request paths.
        whole.set_path(&path);
        let prefix = segments(&whole)
            .filter(|prefix| prefix.iter().all(|segment| !segment.contains('/')))
            .ok_or_else(|| wrong("path_prefix", "must be written without encoded slashes"))?;
        if settings.methods.is_empty() {
            return Err(wrong("methods", "must name at least one method"));
        }
        if settings.format.matches(SLOT).count() != 1 {
            return Err(wrong("format", "must hold {} once, such as Bearer {}"));
        }
        let header = HeaderName::from_bytes(settings.header.as_bytes())
            .map_err(|_| wrong("header", "is not the name of a header"))?;
        let profile = Self {
            allowed_url,
            prefix: trimmed(prefix),
            methods: settings.methods,
            header,
            format: settings.format,
            secret: settings.secret,
            id: id.clone(),
        };
        // Fails at configuration time rather than at the first request.
        profile.value()?;
        Ok(profile)
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Adds the secret to `headers` if `url` and `method` match. It is marked sensitive, so that egress sends
    /// it to no other origin.
    pub fn inject(
        &self,
        url: &Url,
        method: &Method,
        headers: &mut HeaderMap,
    ) -> Result<(), AuthError> {
        self.check(url, method)?;
        headers.insert(self.header.clone(), self.value()?);
        Ok(())
    }

    /// Whether it covers every path of its host, so that no redirect within the host can lead the secret
    /// outside its scope.
    pub(super) fn covers_whole_origin(&self) -> bool {
        self.prefix.is_empty()
    }

    fn check(&self, url: &Url, method: &Method) -> Result<(), AuthError> {
        let mut mismatches = Vec::new();
        let mut compare = |what: &str, is: &dyn fmt::Display, must: &dyn fmt::Display| {
            let (is, must) = (is.to_string(), must.to_string());
            if is != must {
                mismatches.push(format!("the {what} is {is}, not {must}"));
            }
        };
        compare("scheme", &url.scheme(), &self.allowed_url.scheme());
        let host = |url: &Url| url.host_str().unwrap_or_default().to_owned();
        compare("host", &host(url), &host(&self.allowed_url));
        let port = |url: &Url| url.port_or_known_default().unwrap_or_default();
        compare("port", &port(url), &port(&self.allowed_url));
        let path = segments(url).ok_or_else(|| AuthError::Ambiguous {
            id: self.id.clone(),
        })?;
        if !path.starts_with(&self.prefix) {
            let prefix = self.prefix.join("/");
            mismatches.push(format!("the path is not beneath /{prefix}"));
        }
        if !self.methods.contains(method) {
            let listed: Vec<&str> = self.methods.iter().map(Method::as_str).collect();
            mismatches.push(format!(
                "the method is {method}, not {}",
                listed.join(" or ")
            ));
        }
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(AuthError::Mismatch {
            id: self.id.clone(),
            mismatches,
        })
    }

    fn value(&self) -> Result<HeaderValue, AuthError> {
        let text = self.format.replacen(SLOT, self.secret.expose(), 1);
        let mut value = HeaderValue::from_str(&text).map_err(|_| AuthError::Profile {
            id: self.id.clone(),
            field: "secret",
            problem: "cannot be sent in a header; it has a line break or control character"
                .to_owned(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// The decoded path segments of `url`; `None` if a server that decodes once more than we do would climb.
/// `Url` has resolved plain and encoded dots already.
fn segments(url: &Url) -> Option<Vec<String>> {
    let segments = url.path_segments()?.map(|segment| {
        let mut text = segment.to_owned();
        // Servers decode a different number of times, so every layer is checked for dot names; a path
        // that is still encoded after MAX_LAYERS is an attack.
        for _ in 0..MAX_LAYERS {
            let decoded = percent_decode_str(&text).decode_utf8().ok()?.into_owned();
            if climbs(&decoded) {
                return None;
            }
            if decoded == text {
                return percent_decode_str(segment)
                    .decode_utf8()
                    .ok()
                    .map(Into::into);
            }
            text = decoded;
        }
        None
    });
    segments.collect()
}

/// Whether a part of a decoded segment is a dot name, also with parameters, which some servers strip
/// before resolving.
fn climbs(decoded: &str) -> bool {
    let dots = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    decoded.split(['/', '\\']).any(dots) || decoded.contains('\0')
}

/// Without the empty segment of a trailing slash.
fn trimmed(mut segments: Vec<String>) -> Vec<String> {
    while segments.last().is_some_and(String::is_empty) {
        segments.pop();
    }
    segments
}

#[cfg(test)]
mod tests;
