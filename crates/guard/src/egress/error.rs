//! Errors of outbound requests.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Why an outbound request failed.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The text is not a URL.
    #[error("is not a URL: {0}; write it in full, such as https://example.com/page")]
    Url(String),
    /// The scheme is neither http nor https.
    #[error("uses {0}, and only http and https are allowed")]
    Scheme(String),
    /// The URL contains a user name or password.
    #[error("holds a user name or password; send credentials in a header instead")]
    Userinfo,
    /// The caller set a header that determines the request's real destination.
    #[error("the header {0} cannot be set; leave it out")]
    Header(String),
    /// The host is not on the public internet.
    #[error(
        "{host} leads to {address}, which is not on the public internet\nto allow it, the owner can add its network to `egress.allow_private`"
    )]
    Private {
        /// The host as written in the request.
        host: String,
        /// The first address that is not public.
        address: IpAddr,
    },
    /// The host name does not resolve.
    #[error("the name {host} cannot be looked up: {error}")]
    Lookup {
        /// The name.
        host: String,
        /// The resolver's error.
        #[source]
        error: io::Error,
    },
    /// Too many redirects.
    #[error("was redirected more than {max} times")]
    Redirects {
        /// Maximum number of redirects.
        max: usize,
    },
    /// The request would leave the one origin this client may talk to.
    #[error("leads away from {0}, the only place this client talks to")]
    Elsewhere(String),
    /// The response is too large.
    #[error("the answer is larger than {limit} bytes; ask for less")]
    TooLarge {
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The response took too long.
    #[error("gave no whole answer within {} seconds", .0.as_secs_f32())]
    TimedOut(Duration),
    /// Connecting failed.
    #[error("cannot connect to {host}: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The innermost reason.
        reason: String,
    },
    /// The exchange failed midway.
    #[error("the request failed: {0}")]
    Http(String),
}

/// A refusal by the resolver, passed up through the HTTP client.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResolveRefusal {
    #[error("{0} is not on the public internet")]
    Private(IpAddr),
    #[error("lookup failed: {0}")]
    Lookup(#[source] io::Error),
}

impl EgressError {
    /// Translates an error of the HTTP client about `host`. The client's own message contains the
    /// URL, and with it any secrets in the query.
    pub(super) fn from_client(error: &reqwest::Error, host: &str) -> Self {
        let host = host.to_owned();
        let mut reason = None;
        let mut cause = error.source();
        while let Some(inner) = cause {
            match inner.downcast_ref::<ResolveRefusal>() {
                Some(ResolveRefusal::Private(address)) => {
                    let address = *address;
                    return Self::Private { host, address };
                }
                Some(ResolveRefusal::Lookup(error)) => {
                    let error = io::Error::new(error.kind(), error.to_string());
                    return Self::Lookup { host, error };
                }
                None => reason = Some(inner.to_string()),
            }
            cause = inner.source();
        }
        let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
        if error.is_connect() {
            Self::Connect { host, reason }
        } else {
            Self::Http(reason)
        }
    }
}
