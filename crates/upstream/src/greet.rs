//! The handshake: negotiates era, version and capabilities.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::carrier::{self, Carrier, LegacySse, Post, StderrTail, Streamable, garbage};
use crate::error::{RpcError, UpstreamError};
use crate::hooks::ServerRequestHandler;
use crate::hub::{Hub, PendingCall};
use crate::link::ServerLink;
use crate::message;
use crate::meta::{client_info, modern_meta};
use crate::news::ServerNotification;
use crate::peer::{Era, Peer};
use crate::server::{Dialect, Server, Transport, UpstreamDeps};

/// The supported version of the modern era.
const MODERN: &str = "2026-07-28";
/// Supported versions of the old era, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The first version that is declared in each HTTP request.
const NAMED_SINCE: &str = "2025-06-18";
/// Timeout of stopping a program before falling back to the old era.
const TIDY_UP: Duration = Duration::from_secs(5);

/// The protocol that worked last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownProtocol {
    Modern,
    Legacy,
    OldEvents,
}

/// Everything needed to connect.
pub(crate) struct Greeter<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) ground: &'a UpstreamDeps,
    pub(crate) own: Option<Arc<dyn ServerRequestHandler>>,
    pub(crate) news: broadcast::Sender<ServerNotification>,
    /// Tracks started programs.
    pub(crate) lives: &'a TaskTracker,
    /// Receives the program's standard error.
    pub(crate) stderr: Option<&'a Mutex<Option<StderrTail>>>,
}

/// Ends a link on drop unless it is taken.
pub(crate) struct LinkGuard(Option<Arc<ServerLink>>);

impl LinkGuard {
    fn link(&self) -> &Arc<ServerLink> {
        self.0.as_ref().expect("taken only by value")
    }

    pub(crate) fn take(mut self) -> Arc<ServerLink> {
        self.0.take().expect("taken once, by value")
    }
}

impl Drop for LinkGuard {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.hub.end(UpstreamError::Stopped);
        }
    }
}

/// An established connection.
pub(crate) type Greeted = (LinkGuard, Peer, KnownProtocol);

impl Greeter<'_> {
    /// Connects with the protocol that worked last time, or tries all.
    pub(crate) async fn greet(
        &self,
        last: Option<KnownProtocol>,
    ) -> Result<Greeted, UpstreamError> {
        let limit = self.server.timeouts.start;
        let greeted = timeout(limit, async {
            if let Some(last) = last {
                // The known protocol first saves the probe, which costs legacy servers a timeout.
                let again = self.by(Some(last)).await;
                // The server may have been upgraded and speak another era now.
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

    async fn by(&self, way: Option<KnownProtocol>) -> Result<Greeted, UpstreamError> {
        let dialect = match way {
            None => self.server.dialect,
            Some(KnownProtocol::Modern) => Dialect::Modern,
            Some(KnownProtocol::Legacy | KnownProtocol::OldEvents) => Dialect::Legacy,
        };
        match &self.server.transport {
            Transport::Stdio { .. } => self.program(dialect).await,
            Transport::Http { .. } if way != Some(KnownProtocol::OldEvents) => {
                self.streamable(dialect).await
            }
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
            // Some programs exit if the first message is not `initialize`.
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

    /// Handshake over a transport on which a server may silently ignore unknown requests.
    async fn line(
        &self,
        link: &ServerLink,
        dialect: Dialect,
    ) -> Result<(Peer, KnownProtocol), UpstreamError> {
        if dialect == Dialect::Legacy {
            return Ok((self.initialize(link).await?, KnownProtocol::Legacy));
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
            Some(Ok(peer)) => Ok((peer, KnownProtocol::Modern)),
            Some(Err(why)) if dialect == Dialect::Auto && is_legacy(&why) => {
                Ok((self.initialize(link).await?, KnownProtocol::Legacy))
            }
            Some(Err(why)) => Err(why),
            None if dialect == Dialect::Modern => Err(UpstreamError::TimedOut(patience)),
            // It is slow, or old and silent about unknown requests. A server that answers `initialize` is
            // treated as legacy, even if it supports both eras.
            None => match self.initialize(link).await {
                Ok(peer) => Ok((peer, KnownProtocol::Legacy)),
                // It refused `initialize`, so it is modern and was only slow: its first reply is
                // still coming.
                Err(UpstreamError::Rpc(_)) => Ok((discover.await?, KnownProtocol::Modern)),
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
                Ok(Ok(peer)) => return Ok((kept, peer, KnownProtocol::Modern)),
                Ok(Err(why)) if dialect != Dialect::Auto || !is_legacy(&why) => return Err(why),
                // It refused or did not answer: it may be legacy.
                _ => {}
            }
        }
        streamable.speak(None, false);
        match self.initialize(kept.link()).await {
            Ok(peer) => {
                streamable.listen(&hub).await;
                Ok((kept, peer, KnownProtocol::Legacy))
            }
            // The oldest servers refuse this transport with a client error.
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
        let opened = LegacySse::open(Post::to(self.server)?, &hub, queue).await;
        let kept = kept(hub, Carrier::OldEvents(opened?));
        let peer = self.initialize(kept.link()).await?;
        Ok((kept, peer, KnownProtocol::OldEvents))
    }

    /// The modern handshake.
    async fn discover(&self, link: &ServerLink) -> Result<Peer, UpstreamError> {
        let mut params = Map::new();
        let meta = modern_meta(MODERN, self.capabilities());
        params.insert("_meta".to_owned(), Value::Object(meta));
        let ask = || link.greet("server/discover", &params, PendingCall::background());
        let answer = match ask().await {
            // The error lists our own version as supported: retry once.
            Err(UpstreamError::Rpc(error)) if supported(&error).any(|v| v == MODERN) => {
                ask().await?
            }
            other => other?,
        };
        let Value::Object(mut answer) = answer else {
            return Err(garbage("its description is not an object"));
        };
        let versions = answer.get("supportedVersions").and_then(Value::as_array);
        if !versions.is_some_and(|all| all.iter().any(|v| v == MODERN)) {
            // Without a common modern version, the server may still support a legacy one.
            let none = RpcError::new(
                RpcError::UNSUPPORTED_VERSION,
                format!("it does not support version {MODERN}"),
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

    /// The legacy handshake.
    async fn initialize(&self, link: &ServerLink) -> Result<Peer, UpstreamError> {
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), LEGACY[0].into());
        params.insert("capabilities".to_owned(), self.capabilities().into());
        params.insert("clientInfo".to_owned(), client_info());
        let answer = link
            .greet("initialize", &params, PendingCall::background())
            .await?;
        let Value::Object(mut answer) = answer else {
            return Err(garbage("its reply to initialize is not an object"));
        };
        let version = answer.get("protocolVersion").and_then(Value::as_str);
        let Some(version) = LEGACY.into_iter().find(|known| version == Some(*known)) else {
            let shown: String = version.unwrap_or("none").chars().take(40).collect();
            return Err(garbage(format!(
                "it chose the unsupported version {shown:?}"
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

fn kept(hub: Arc<Hub>, carrier: Carrier) -> LinkGuard {
    LinkGuard(Some(Arc::new(ServerLink { hub, carrier })))
}

/// The supported versions that an error lists.
fn supported(error: &RpcError) -> impl Iterator<Item = &str> {
    let about = error
        .data
        .as_ref()
        .filter(|_| error.code == RpcError::UNSUPPORTED_VERSION);
    let all = about.and_then(|data| data.get("supported"));
    let all = all.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str)
}

/// Whether an error is typical of a legacy server.
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
