//! Credentials that an agent can use and never see.
//!
//! A profile ties a secret to the one place it is meant for. The comparison is made on
//! the URL as it will be sent, and a path that different servers read differently is
//! refused instead of compared.

use std::fmt;

use manyhands_core::Secret;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;
use url::Url;

/// Where in the header the secret goes.
const SLOT: &str = "{}";
/// How often a path may be encoded over and over before it is a trick.
const MAX_LAYERS: usize = 4;

/// A profile as the owner wrote it.
#[derive(Debug, Clone)]
pub struct AuthProfileSettings {
    /// Its name.
    pub id: String,
    /// `https` or `http`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// The port; without one, the scheme's own.
    pub port: Option<u16>,
    /// The path beneath which it may be used; `/` for all of the host.
    pub path_prefix: String,
    /// The methods it may be used with.
    pub methods: Vec<Method>,
    /// The header that carries the secret.
    pub header: String,
    /// The header's value, with `{}` for the secret.
    pub format: String,
    /// The secret.
    pub secret: Secret,
}

/// A secret and the one place it may be sent to.
#[derive(Debug, Clone)]
pub struct AuthProfile {
    id: String,
    /// Scheme, host and port.
    place: Url,
    prefix: Vec<String>,
    methods: Vec<Method>,
    header: HeaderName,
    format: String,
    secret: Secret,
}

/// Why a secret was not used. It went nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The profile itself is wrong.
    #[error("auth profile {id}: {field} {problem}")]
    Profile {
        /// The profile.
        id: String,
        /// The setting that is wrong.
        field: &'static str,
        /// What would be right.
        problem: String,
    },
    /// The request is not one that the profile is for.
    #[error("auth profile {id} does not cover this request: {}", .mismatches.join("; "))]
    Mismatch {
        /// The profile.
        id: String,
        /// All that differs.
        mismatches: Vec<String>,
    },
    /// The path can be read in more than one way.
    #[error(
        "auth profile {id} is not used with this path, because servers read `..` behind an encoded slash or dot differently; write the path plainly"
    )]
    Ambiguous {
        /// The profile.
        id: String,
    },
}

impl AuthProfile {
    /// Checks what the owner wrote.
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
        let place = format!("{}://{host}/", settings.scheme);
        let mut place =
            Url::parse(&place).map_err(|error| wrong("host", &format!("is not one: {error}")))?;
        if place.port().is_some() {
            return Err(wrong("host", "holds a port; give it as port"));
        }
        // A port equal to the scheme's own is the same as none, and `Url` keeps it so.
        if place.set_port(settings.port).is_err() {
            return Err(wrong("port", "cannot be used with this host"));
        }
        let path = settings.path_prefix;
        if !path.starts_with('/') || path.contains(['?', '#']) {
            return Err(wrong("path_prefix", "must be a path that starts with /"));
        }
        let mut whole = place.clone();
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
            place,
            prefix: trimmed(prefix),
            methods: settings.methods,
            header,
            format: settings.format,
            secret: settings.secret,
            id: id.clone(),
        };
        profile.value()?;
        Ok(profile)
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Adds the secret to `headers`, if `url` and `method` are what it is meant for. It is
    /// marked sensitive, so that egress keeps it from every other origin.
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

    /// Whether it covers every path of its host, so that no redirect within the host
    /// leads the secret to a place it is not meant for.
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
        compare("scheme", &url.scheme(), &self.place.scheme());
        let host = |url: &Url| url.host_str().unwrap_or_default().to_owned();
        compare("host", &host(url), &host(&self.place));
        let port = |url: &Url| url.port_or_known_default().unwrap_or_default();
        compare("port", &port(url), &port(&self.place));
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

/// The decoded segments of the path of `url`; `None` where a server that decodes once
/// more than we do would climb. `Url` has resolved plain and encoded dots already.
fn segments(url: &Url) -> Option<Vec<String>> {
    let segments = url.path_segments()?.map(|segment| {
        let mut text = segment.to_owned();
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

/// Whether any part of a decoded segment is a dot name, also with parameters, which some
/// servers cut off before they resolve it.
fn climbs(decoded: &str) -> bool {
    let dots = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    decoded.split(['/', '\\']).any(dots) || decoded.contains('\0')
}

/// Without the empty segment that a slash at the end leaves.
fn trimmed(mut segments: Vec<String>) -> Vec<String> {
    while segments.last().is_some_and(String::is_empty) {
        segments.pop();
    }
    segments
}

#[cfg(test)]
mod tests;
