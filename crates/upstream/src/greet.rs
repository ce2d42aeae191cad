//! Getting to know a server: which era it speaks, which version, and what it can do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::carrier::{self, Carrier, OldEvents, Post, Streamable, Tail, garbage};
use crate::connection::{Era, Link, Peer};
use crate::error::{RpcError, UpstreamError};
use crate::hooks::Ask;
use crate::hub::{Call, Hub};
use crate::message;
use crate::news::News;
use crate::server::{Dialect, Ground, Server, Transport};

/// The version of the modern era that is spoken.
const MODERN: &str = "2026-07-28";
/// Versions of the old era, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The first that is named in each request over HTTP.
const NAMED_SINCE: &str = "2025-06-18";
/// How long the way down from one era to the other may take to tidy up.
const TIDY_UP: Duration = Duration::from_secs(5);

/// What worked the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Modern,
    Legacy,
    OldEvents,
}

/// What is needed to connect.
pub(crate) struct Greeter<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) ground: &'a Ground,
    pub(crate) own: Option<Arc<dyn Ask>>,
    pub(crate) news: broadcast::Sender<News>,
    /// The programs that were started.
    pub(crate) lives: &'a TaskTracker,
    /// Where to keep what a program writes to its standard error.
    pub(crate) stderr: Option<&'a Mutex<Option<Tail>>>,
}

/// A link that ends with this, unless it is taken.
pub(crate) struct Kept(Option<Arc<Link>>);

impl Kept {
    fn link(&self) -> &Arc<Link> {
        self.0.as_ref().expect("taken only by value")
    }

    pub(crate) fn take(mut self) -> Arc<Link> {
        self.0.take().expect("taken once, by value")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.hub.end(UpstreamError::Stopped);
        }
    }
}

/// A connection that was greeted.
pub(crate) type Greeted = (Kept, Peer, Way);

impl Greeter<'_> {
    /// Connects and greets, by the way that worked the last time or by any.
    pub(crate) async fn greet(&self, last: Option<Way>) -> Result<Greeted, UpstreamError> {
        let limit = self.server.timeouts.start;
        let greeted = timeout(limit, async {
            if let Some(last) = last {
                let again = self.by(Some(last)).await;
                // A server that was replaced by a newer one speaks another era now.
                if !matches!(
                    again,
                    Err(UpstreamError::Rpc(_)
                        | UpstreamError::Http { .. }
                        | UpstreamError::Garbage(_))
                ) {
                    return again;
                }
            }
            self.by(None).await
        });
        greeted.await.unwrap_or(Err(UpstreamError::TimedOut(limit)))
    }

    async fn by(&self, way: Option<Way>) -> Result<Greeted, UpstreamError> {
        let dialect = match way {
            None => self.server.dialect,
            Some(Way::Modern) => Dialect::Modern,
            Some(Way::Legacy | Way::OldEvents) => Dialect::Legacy,
        };
        match &self.server.transport {
            Transport::Stdio { .. } => self.program(dialect).await,
            Transport::Http { .. } if way != Some(Way::OldEvents) => self.streamable(dialect).await,
            Transport::Http { .. } | Transport::Sse { .. } => self.old_events().await,
        }
    }

    fn hub(&self) -> (Arc<Hub>, mpsc::Receiver<bytes::Bytes>) {
        Hub::new(self.news.clone(), self.own.clone())
    }

    fn capabilities(&self) -> Map<String, Value> {
        match &self.own {
            Some(own) => own.capabilities(),
            None => self.server.capabilities.clone(),
        }
    }

    async fn program(&self, dialect: Dialect) -> Result<Greeted, UpstreamError> {
        let start = || {
            let (hub, queue) = self.hub();
            let stderr = carrier::start(
                self.server,
                &self.ground.supervisor,
                &hub,
                queue,
                self.lives,
            )?;
            if let Some(slot) = self.stderr {
                let mut slot = slot.lock().unwrap_or_else(|held| held.into_inner());
                *slot = Some(stderr);
            }
            Ok::<_, UpstreamError>(kept(hub, Carrier::Pipe))
        };
        let first = start()?;
        match self.line(first.link(), dialect).await {
            Ok((peer, way)) => Ok((first, peer, way)),
            // Some programs end when the first thing they hear is not `initialize`.
            Err(UpstreamError::Lost(_) | UpstreamError::Gone(_)) if dialect == Dialect::Auto => {
                first.link().hub.end(UpstreamError::Stopped);
                let _ = timeout(TIDY_UP, first.link().hub.tasks.wait()).await;
                let second = start()?;
                let (peer, way) = self.line(second.link(), Dialect::Legacy).await?;
                Ok((second, peer, way))
            }
            Err(why) => Err(why),
        }
    }

    /// Greets where silence has to be told from slowness.
    async fn line(&self, link: &Link, dialect: Dialect) -> Result<(Peer, Way), UpstreamError> {
        if dialect == Dialect::Legacy {
            return Ok((self.initialize(link).await?, Way::Legacy));
        }
        let discover = self.discover(link);
        tokio::pin!(discover);
        let patience = match dialect {
            Dialect::Modern => self.server.timeouts.start,
            _ => self.server.timeouts.probe,
        };
        let said = tokio::select! {
            said = &mut discover => Some(said),
            () = sleep(patience) => None,
        };
        match said {
            Some(Ok(peer)) => Ok((peer, Way::Modern)),
            Some(Err(why)) if dialect == Dialect::Auto && is_legacy(&why) => {
                Ok((self.initialize(link).await?, Way::Legacy))
            }
            Some(Err(why)) => Err(why),
            None if dialect == Dialect::Modern => Err(UpstreamError::TimedOut(patience)),
            // It is slow, or old and silent about what it does not know. Whoever answers
            // `initialize` well is of the old era, even where it knows both.
            None => match self.initialize(link).await {
                Ok(peer) => Ok((peer, Way::Legacy)),
                Err(UpstreamError::Rpc(_)) => Ok((discover.await?, Way::Modern)),
                Err(why) => Err(why),
            },
        }
    }

    async fn streamable(&self, dialect: Dialect) -> Result<Greeted, UpstreamError> {
        let (hub, queue) = self.hub();
        let streamable = Streamable::new(Post::to(self.server)?, &hub, queue);
        let kept = kept(hub.clone(), Carrier::Streamable(streamable.clone()));
        if dialect != Dialect::Legacy {
            streamable.speak(Some(MODERN), true);
            let discover = self.discover(kept.link());
            let said = match dialect {
                Dialect::Auto => timeout(self.server.timeouts.probe, discover).await,
                _ => Ok(discover.await),
            };
            match said {
                Ok(Ok(peer)) => return Ok((kept, peer, Way::Modern)),
                Ok(Err(why)) if dialect != Dialect::Auto || !is_legacy(&why) => return Err(why),
                // It says no, or nothing: it may be of the old era.
                _ => {}
            }
        }
        streamable.speak(None, false);
        match self.initialize(kept.link()).await {
            Ok(peer) => {
                streamable.listen(&hub).await;
                Ok((kept, peer, Way::Legacy))
            }
            // So the oldest of all say that they do not know this transport.
            Err(
                why @ UpstreamError::Http {
                    status: 400..500, ..
                },
            ) => self.old_events().await.map_err(|_| why),
            Err(why) => Err(why),
        }
    }

    async fn old_events(&self) -> Result<Greeted, UpstreamError> {
        let (hub, queue) = self.hub();
        let opened = OldEvents::open(Post::to(self.server)?, &hub, queue).await;
        let kept = kept(hub, Carrier::OldEvents(opened?));
        let peer = self.initialize(kept.link()).await?;
        Ok((kept, peer, Way::OldEvents))
    }

    /// Asks as the modern era does.
    async fn discover(&self, link: &Link) -> Result<Peer, UpstreamError> {
        let mut params = Map::new();
        let meta = modern_meta(MODERN, self.capabilities());
        params.insert("_meta".to_owned(), Value::Object(meta));
        let ask = || link.greet("server/discover", &params, Call::background());
        let answer = match ask().await {
            // It names our own version as one it knows: it may know it now.
            Err(UpstreamError::Rpc(error)) if supported(&error).any(|v| v == MODERN) => {
                ask().await?
            }
            other => other?,
        };
        let Value::Object(mut answer) = answer else {
            return Err(garbage(
                "it describes itself by something that is no object",
            ));
        };
        let versions = answer.get("supportedVersions").and_then(Value::as_array);
        if !versions.is_some_and(|all| all.iter().any(|v| v == MODERN)) {
            // Whoever knows no version of ours here may know one of the old era.
            let none = RpcError::new(
                RpcError::UNSUPPORTED_VERSION,
                format!("it does not speak {MODERN}"),
            );
            return Err(UpstreamError::Rpc(none));
        }
        let mut info = answer.remove("serverInfo").unwrap_or_default();
        if info.is_null()
            && let Some(Value::Object(meta)) = answer.get_mut("_meta")
        {
            let named = meta.get("io.modelcontextprotocol/serverInfo");
            info = named.cloned().unwrap_or_default();
        }
        Ok(Peer::new(Era::Modern, MODERN, info, answer))
    }

    /// Asks as the old era does.
    async fn initialize(&self, link: &Link) -> Result<Peer, UpstreamError> {
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), LEGACY[0].into());
        params.insert("capabilities".to_owned(), self.capabilities().into());
        params.insert("clientInfo".to_owned(), client_info());
        let answer = link
            .greet("initialize", &params, Call::background())
            .await?;
        let Value::Object(mut answer) = answer else {
            return Err(garbage("it greets with something that is no object"));
        };
        let version = answer.get("protocolVersion").and_then(Value::as_str);
        let Some(version) = LEGACY.into_iter().find(|known| version == Some(*known)) else {
            let shown: String = version.unwrap_or("none").chars().take(40).collect();
            return Err(garbage(format!(
                "it speaks version {shown:?}, which is not known here"
            )));
        };
        let info = answer.remove("serverInfo").unwrap_or_default();
        let peer = Peer::new(Era::Legacy, version, info, answer);
        let greeted = message::notification("notifications/initialized", None);
        match &link.carrier {
            Carrier::Streamable(streamable) => {
                streamable.speak((version >= NAMED_SINCE).then_some(version), false);
                streamable.notify(greeted).await?;
            }
            Carrier::OldEvents(old) => old.post(greeted).await?,
            Carrier::Pipe => link.hub.send(greeted).await?,
        }
        Ok(peer)
    }
}

fn kept(hub: Arc<Hub>, carrier: Carrier) -> Kept {
    Kept(Some(Arc::new(Link { hub, carrier })))
}

/// Which versions an error says are known, if it is about that.
fn supported(error: &RpcError) -> impl Iterator<Item = &str> {
    let about = error
        .data
        .as_ref()
        .filter(|_| error.code == RpcError::UNSUPPORTED_VERSION);
    let all = about.and_then(|data| data.get("supported"));
    let all = all.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str)
}

/// Whether a failure is how somebody of the old era would fail.
fn is_legacy(why: &UpstreamError) -> bool {
    match why {
        UpstreamError::Rpc(error) => {
            let mut known = supported(error).peekable();
            known.peek().is_none() || known.any(|version| LEGACY.contains(&version))
        }
        UpstreamError::Http { status, .. } => (400..500).contains(status),
        UpstreamError::Garbage(_) => true,
        _ => false,
    }
}

/// Who we say we are.
pub(crate) fn client_info() -> Value {
    json!({ "name": "manyhands", "version": env!("CARGO_PKG_VERSION") })
}

/// What each request of the modern era says of its sender.
pub(crate) fn modern_meta(version: &str, capabilities: Map<String, Value>) -> Map<String, Value> {
    let mut meta = Map::new();
    for (key, value) in [
        (PROTOCOL_VERSION, version.into()),
        (CLIENT_INFO, client_info()),
        (CLIENT_CAPABILITIES, capabilities.into()),
    ] {
        meta.insert(key.to_owned(), value);
    }
    meta
}

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
