//! Configuration of a server: transport, timeouts and bounds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Clock, Entropy, Secret};
use manyhands_guard::{HeaderName, Sandbox, Supervisor};
use serde_json::{Map, Value};

use crate::error::UpstreamError;

/// The transport of a server.
#[derive(Clone)]
pub enum Transport {
    /// A program with messages on standard input and output.
    Stdio {
        /// The program, as an absolute path.
        program: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
        /// Its complete environment.
        env: BTreeMap<OsString, OsString>,
        /// Its working directory.
        cwd: Option<PathBuf>,
        /// Its sandbox; `None` runs it unconfined.
        sandbox: Option<Sandbox>,
    },
    /// Streamable HTTP, with fallback to HTTP with SSE for old servers.
    Http {
        /// Its URL.
        url: String,
        /// Headers sent with each request.
        headers: Vec<(HeaderName, Secret)>,
    },
    /// HTTP with SSE as of 2024-11-05.
    Sse {
        /// URL of its event stream.
        url: String,
        /// Headers sent with each request.
        headers: Vec<(HeaderName, Secret)>,
    },
}

/// Shows the address, but neither environment nor arguments: they may contain secrets.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { program, .. } => write!(f, "Stdio({})", program.display()),
            Self::Http { .. } => f.write_str("Http"),
            Self::Sse { .. } => f.write_str("Sse"),
        }
    }
}

/// Which protocol era to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Negotiate: modern if the server supports it.
    #[default]
    Auto,
    /// Since 2026-07-28 only.
    Modern,
    /// Up to 2025-11-25 only.
    Legacy,
}

/// Timeouts of a server.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Start and handshake.
    pub start: Duration,
    /// Waiting for a reply, restarted by each progress notification.
    pub call: Duration,
    /// Waiting for a reply, regardless of progress.
    pub longest: Duration,
    /// Waiting for the first reply before the server is assumed to be legacy.
    pub probe: Duration,
    /// Silence after which a server is pinged.
    pub health: Duration,
    /// Time unused after which the shared connection is closed; `None` keeps it open.
    pub idle: Option<Duration>,
    /// Delay before the first retry after a failure; it doubles with each.
    pub backoff: Duration,
    /// Maximum delay between retries.
    pub backoff_max: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            call: Duration::from_secs(60),
            longest: Duration::from_secs(3_600),
            probe: Duration::from_secs(5),
            health: Duration::from_secs(60),
            idle: None,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(300),
        }
    }
}

/// Size limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one message.
    pub message: usize,
    /// Entries of one list, across all pages.
    pub entries: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Bytes of one list, across all pages.
    pub list: usize,
    /// Bytes of a program's standard error to keep.
    pub stderr: usize,
    /// Rounds of questions within one request.
    pub rounds: usize,
    /// Private connections open at a time.
    pub private: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            message: 16 * 1024 * 1024,
            entries: 10_000,
            pages: 1_000,
            list: 32 * 1024 * 1024,
            stderr: 64 * 1024,
            rounds: 10,
            private: 16,
        }
    }
}

/// The configuration of a server.
#[derive(Clone)]
pub struct Server {
    /// Its name, used in logs only.
    pub name: String,
    /// Its transport.
    pub transport: Transport,
    /// The protocol era.
    pub dialect: Dialect,
    /// Client capabilities that the shared connection declares.
    pub capabilities: Map<String, Value>,
    /// Whether to tell a legacy server on the shared connection that it may send requests, so that it
    /// offers the tools that need them. Such requests are declined there.
    pub accepts_requests: bool,
    /// Our credentials, over HTTP.
    pub credentials: Arc<dyn Credentials>,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// How much to take.
    pub bounds: Bounds,
}

impl Server {
    /// A server with default bounds and without credentials.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            dialect: Dialect::default(),
            capabilities: Map::new(),
            accepts_requests: false,
            credentials: Arc::new(NoCredentials),
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish()
    }
}

/// Our credentials at a server. Queried before each request, so implementations should cache.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The headers to send now.
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError>;

    /// Called when the server refused the `sent` headers with 401 or 403; returns whether to retry with
    /// [`headers`](Self::headers), or why that is pointless.
    async fn refused(
        &self,
        status: u16,
        www_authenticate: Option<String>,
        sent: &[(HeaderName, Secret)],
    ) -> Result<bool, UpstreamError>;
}

/// Anonymous access.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCredentials;

#[async_trait]
impl Credentials for NoCredentials {
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError> {
        Ok(Vec::new())
    }

    async fn refused(
        &self,
        _: u16,
        _: Option<String>,
        _: &[(HeaderName, Secret)],
    ) -> Result<bool, UpstreamError> {
        Ok(false)
    }
}

/// Services that every server needs.
#[derive(Clone)]
pub struct UpstreamDeps {
    /// Starts programs.
    pub supervisor: Supervisor,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness for retry jitter.
    pub entropy: Arc<dyn Entropy>,
}
