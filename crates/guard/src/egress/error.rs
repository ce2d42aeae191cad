//! Why a request did not leave, or its answer did not arrive.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Why a request did not leave, or its answer did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// It cannot be read as a URL.
    #[error("is not a URL: {0}; write it in full, such as https://example.com/page")]
    Url(String),
    /// Another protocol.
    #[error("uses {0}, and only http and https are allowed")]
    Scheme(String),
    /// A name or password in the URL.
    #[error("holds a user name or password; send credentials in a header instead")]
    Userinfo,
    /// A header that decides where the request really goes.
    #[error("the header {0} cannot be set; leave it out")]
    Header(String),
    /// The host is not on the public internet.
    #[error(
        "{host} leads to {address}, which is not on the public internet\nto allow it, the owner can add its network to `egress.allow_private`"
    )]
    Private {
        /// The host as it was asked for.
        host: String,
        /// The first address that is not public.
        address: IpAddr,
    },
    /// The name has no address.
    #[error("the name {host} cannot be looked up: {error}")]
    Lookup {
        /// The name.
        host: String,
        /// What the resolver said.
        #[source]
        error: io::Error,
    },
    /// The far end keeps sending it elsewhere.
    #[error("was redirected more than {max} times")]
    Redirects {
        /// How often is allowed.
        max: usize,
    },
    /// The request would leave the one place this client may talk to.
    #[error("leads away from {0}, the only place this client talks to")]
    Elsewhere(String),
    /// The answer is too large.
    #[error("the answer is larger than {limit} bytes; ask for less")]
    TooLarge {
        /// The most that is taken.
        limit: u64,
    },
    /// The answer took too long.
    #[error("gave no whole answer within {} seconds", .0.as_secs_f32())]
    TimedOut(Duration),
    /// No connection, with the reason.
    #[error("cannot connect to {host}: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The innermost reason.
        reason: String,
    },
    /// The conversation broke down.
    #[error("the request failed: {0}")]
    Http(String),
}

/// A refusal by the resolver, on its way up through the HTTP client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("{0} is not on the public internet")]
    Private(IpAddr),
    #[error("lookup failed: {0}")]
    Lookup(#[source] io::Error),
}

impl EgressError {
    /// Translates what the HTTP client says about `host`. Its own words would hold the
    /// URL, and with it whatever secrets the query holds.
    pub(super) fn from_client(error: &reqwest::Error, host: &str) -> Self {
        let host = host.to_owned();
        let mut reason = None;
        let mut cause = error.source();
        while let Some(inner) = cause {
            match inner.downcast_ref::<Refused>() {
                Some(Refused::Private(address)) => {
                    let address = *address;
                    return Self::Private { host, address };
                }
                Some(Refused::Lookup(error)) => {
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
