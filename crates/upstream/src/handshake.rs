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
use crate::notification::ServerNotification;
use crate::peer::{Era, Peer};
use crate::server::{Dialect, Server, Transport, UpstreamDeps};

/// The supported version of the modern era.
const MODERN: &str = "2026-07-28";
/// Supported versions of the old era, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The first version that is declared in each HTTP request.
const VERSION_HEADER_SINCE: &str = "2025-06-18";
/// Timeout of stopping a program before falling back to the old era.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The protocol that worked last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownProtocol {
    Modern,
    Legacy,
    LegacySse,
}

/// Everything needed to connect.
pub(crate) struct Handshake<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) deps: &'a UpstreamDeps,
    pub(crate) own: Option<Arc<dyn ServerRequestHandler>>,
    pub(crate) notifications: broadcast::Sender<ServerNotification>,
    /// Tracks started programs.
    pub(crate) programs: &'a TaskTracker,
    /// Receives the program's standard error.
    pub(crate) stderr: Option<&'a Mutex<Option<StderrTail>>>,
}

/// Ends a link on drop unless it is taken.
pub(crate) struct LinkGuard(Option<Arc<ServerLink>>);

impl LinkGuard {
    fn link(&self) -> &Arc<ServerLink> {
        self.0.as_ref().expect("taken only by value")
    }

    pub(crate) fn into_inner(mut self) -> Arc<ServerLink> {
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
pub(crate) type Negotiated = (LinkGuard, Peer, KnownProtocol);

impl Handshake<'_> {
    /// Connects with the protocol that worked last time, or tries all.
    pub(crate) async fn handshake(
        &self,
        last: Option<KnownProtocol>,
    ) -> Result<Negotiated, UpstreamError> {
        let limit = self.server.timeouts.start;
        let negotiated = timeout(limit, async {
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
        negotiated
            .await
            .unwrap_or(Err(UpstreamError::TimedOut(limit)))
    }

    async fn by(&self, protocol: Option<KnownProtocol>) -> Result<Negotiated, UpstreamError> {
        let dialect = match protocol {
            None => self.server.dialect,
            Some(KnownProtocol::Modern) => Dialect::Modern,
            Some(KnownProtocol::Legacy | KnownProtocol::LegacySse) => Dialect::Legacy,
        };
        match &self.server.transport {
            Transport::Stdio { .. } => self.program(dialect).await,
            Transport::Http { .. } if protocol != Some(KnownProtocol::LegacySse) => {
                self.streamable(dialect).await
            }
            Transport::Http { .. } | Transport::Sse { .. } => self.legacy_sse().await,
        }
    }

    fn hub(&self) -> (Arc<Hub>, mpsc::Receiver<bytes::Bytes>) {
        Hub::new(self.notifications.clone(), self.own.clone())
    }

    fn capabilities(&self) -> Map<String, Value> {
        match &self.own {
            Some(own) => own.capabilities(),
            None => self.server.capabilities.clone(),
        }
    }

    async fn program(&self, dialect: Dialect) -> Result<Negotiated, UpstreamError> {
        let start = || {
            let (hub, queue) = self.hub();
            let stderr = carrier::start(
                self.server,
                &self.deps.supervisor,
                &hub,
                queue,
                self.programs,
            )?;
            if let Some(slot) = self.stderr {
                let mut slot = slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                *slot = Some(stderr);
            }
            Ok::<_, UpstreamError>(link_guard(hub, Carrier::Pipe))
        };
        let first = start()?;
        match self.on_stream(first.link(), dialect).await {
            Ok((peer, protocol)) => Ok((first, peer, protocol)),
            // Some programs exit if the first message is not `initialize`.
            Err(UpstreamError::Lost(_) | UpstreamError::Gone(_)) if dialect == Dialect::Auto => {
                first.link().hub.end(UpstreamError::Stopped);
                // Waited for, or two instances of the program could use the same files.
                let _ = timeout(STOP_TIMEOUT, first.link().hub.tasks.wait()).await;
                let second = start()?;
                let (peer, protocol) = self.on_stream(second.link(), Dialect::Legacy).await?;
                Ok((second, peer, protocol))
            }
            Err(why) => Err(why),
        }
    }

    /// Handshake over a transport on which a server may silently ignore unknown requests.
    async fn on_stream(
        &self,
        link: &ServerLink,
        dialect: Dialect,
    ) -> Result<(Peer, KnownProtocol), UpstreamError> {
        if dialect == Dialect::Legacy {
            return Ok((self.initialize(link).await?, KnownProtocol::Legacy));
        }
        let discover = self.discover(link);
        tokio::pin!(discover);
        let limit = match dialect {
            Dialect::Modern => self.server.timeouts.start,
            _ => self.server.timeouts.probe,
        };
        let reply = tokio::select! {
            reply = &mut discover => Some(reply),
            () = sleep(limit) => None,
        };
        match reply {
            Some(Ok(peer)) => Ok((peer, KnownProtocol::Modern)),
            Some(Err(why)) if dialect == Dialect::Auto && is_legacy(&why) => {
                Ok((self.initialize(link).await?, KnownProtocol::Legacy))
            }
            Some(Err(why)) => Err(why),
            None if dialect == Dialect::Modern => Err(UpstreamError::TimedOut(limit)),
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

    async fn streamable(&self, dialect: Dialect) -> Result<Negotiated, UpstreamError> {
        let (hub, queue) = self.hub();
        let streamable = Streamable::new(Post::to(self.server)?, &hub, queue);
        let link_guard = link_guard(hub.clone(), Carrier::Streamable(streamable.clone()));
        if dialect != Dialect::Legacy {
            streamable.set_protocol(Some(MODERN), true);
            let discover = self.discover(link_guard.link());
            let reply = match dialect {
                Dialect::Auto => timeout(self.server.timeouts.probe, discover).await,
                _ => Ok(discover.await),
            };
            match reply {
                Ok(Ok(peer)) => return Ok((link_guard, peer, KnownProtocol::Modern)),
                Ok(Err(why)) if dialect != Dialect::Auto || !is_legacy(&why) => return Err(why),
                // It refused or did not answer: it may be legacy.
                _ => {}
            }
        }
        streamable.set_protocol(None, false);
        match self.initialize(link_guard.link()).await {
            Ok(peer) => {
                streamable.listen(&hub).await;
                Ok((link_guard, peer, KnownProtocol::Legacy))
            }
            // The oldest servers refuse this transport with a client error.
            Err(
                why @ UpstreamError::Http {
                    status: 400..500, ..
                },
            ) => self.legacy_sse().await.map_err(|_| why),
            Err(why) => Err(why),
        }
    }

    async fn legacy_sse(&self) -> Result<Negotiated, UpstreamError> {
        let (hub, queue) = self.hub();
        let opened = LegacySse::open(Post::to(self.server)?, &hub, queue).await;
        let link_guard = link_guard(hub, Carrier::LegacySse(opened?));
        let peer = self.initialize(link_guard.link()).await?;
        Ok((link_guard, peer, KnownProtocol::LegacySse))
    }

    /// The modern handshake.
    async fn discover(&self, link: &ServerLink) -> Result<Peer, UpstreamError> {
        let mut params = Map::new();
        let meta = modern_meta(MODERN, self.capabilities());
        params.insert("_meta".to_owned(), Value::Object(meta));
        let request = || link.handshake("server/discover", &params, PendingCall::background());
        let answer = match request().await {
            // The error lists our own version as supported: retry once.
            Err(UpstreamError::Rpc(error)) if supported(&error).any(|v| v == MODERN) => {
                request().await?
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
            .handshake("initialize", &params, PendingCall::background())
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
        let negotiated = message::notification("notifications/initialized", None);
        match &link.carrier {
            Carrier::Streamable(streamable) => {
                streamable
                    .set_protocol((version >= VERSION_HEADER_SINCE).then_some(version), false);
                streamable.notify(negotiated).await?;
            }
            Carrier::LegacySse(old) => old.post(negotiated).await?,
            Carrier::Pipe => link.hub.send(negotiated).await?,
        }
        Ok(peer)
    }
}

fn link_guard(hub: Arc<Hub>, carrier: Carrier) -> LinkGuard {
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
