//! Which server, how it is reached and within which bounds.

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

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program that speaks over its standard input and output.
    Stdio {
        /// The program, as an absolute path.
        program: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
        /// Its whole environment.
        env: BTreeMap<OsString, OsString>,
        /// Where it starts.
        cwd: Option<PathBuf>,
        /// Where it is confined; `None` leaves it free.
        sandbox: Option<Sandbox>,
    },
    /// Streamable HTTP; where the server turns out to be older, HTTP with events.
    Http {
        /// Where it listens.
        url: String,
        /// What is sent with each request.
        headers: Vec<(HeaderName, Secret)>,
    },
    /// HTTP with events, as it was in 2024-11-05.
    Sse {
        /// Where its stream of events is.
        url: String,
        /// What is sent with each request.
        headers: Vec<(HeaderName, Secret)>,
    },
}

/// Shows where, and neither environment nor arguments: they may hold secrets.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { program, .. } => write!(f, "Stdio({})", program.display()),
            Self::Http { .. } => f.write_str("Http"),
            Self::Sse { .. } => f.write_str("Sse"),
        }
    }
}

/// Which era to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Find out: the modern one where the server knows it.
    #[default]
    Auto,
    /// Since 2026-07-28 only.
    Modern,
    /// Up to 2025-11-25 only.
    Legacy,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a server to start and to greet.
    pub start: Duration,
    /// For an answer, counted anew whenever progress is told.
    pub call: Duration,
    /// For an answer, whatever progress is told.
    pub longest: Duration,
    /// For an answer to the first question, before it is taken for a server of the old era.
    pub probe: Duration,
    /// After which silence a server is asked whether it is still there.
    pub health: Duration,
    /// After which disuse the shared connection is closed; `None` keeps it.
    pub idle: Option<Duration>,
    /// Before the first new try after a failure; it doubles with each.
    pub backoff: Duration,
    /// Between tries at most.
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

/// How much is taken.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one message.
    pub message: usize,
    /// Entries of one list, all pages together.
    pub entries: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Bytes of one list, all pages together.
    pub list: usize,
    /// Bytes of a program's standard error that are kept.
    pub stderr: usize,
    /// Times a server may ask for more within one request.
    pub rounds: usize,
    /// Connections of one's own that may be open at a time.
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

/// A server as its owner describes it.
#[derive(Clone)]
pub struct Server {
    /// What it is called here; used in logs only.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Which era to speak.
    pub dialect: Dialect,
    /// What the shared connection declares to be able to do: capabilities of a client.
    pub capabilities: Map<String, Value>,
    /// Whether a server of the old era hears on the shared connection that it may ask, so that it
    /// offers what needs that. What it asks there is dismissed.
    pub asks: bool,
    /// Who we are towards it, over HTTP.
    pub credentials: Arc<dyn Credentials>,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// How much to take.
    pub bounds: Bounds,
}

impl Server {
    /// A server with the usual bounds and without credentials.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            dialect: Dialect::default(),
            capabilities: Map::new(),
            asks: false,
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

/// Who we are towards a server. Asked before each request, so it keeps what it knows.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Headers to send now.
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError>;

    /// The server refused those that were `sent` with 401 or 403; says whether to try again with what
    /// [`headers`](Self::headers) gives then, or why there is no use.
    async fn refused(
        &self,
        status: u16,
        www_authenticate: Option<String>,
        sent: &[(HeaderName, Secret)],
    ) -> Result<bool, UpstreamError>;
}

/// Nobody in particular.
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

/// What every server stands on.
#[derive(Clone)]
pub struct Ground {
    /// Starts programs.
    pub supervisor: Supervisor,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Spreads out tries that would otherwise fall together.
    pub entropy: Arc<dyn Entropy>,
}
