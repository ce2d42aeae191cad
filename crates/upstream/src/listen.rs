//! Change notifications in the modern era: one long-lived request that lists what to report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::error::{RpcError, UpstreamError};
use crate::hub::{CallReply, PendingCall};
use crate::link::ServerLink;
use crate::meta::modern_meta;
use crate::peer::Peer;

/// Maximum subscribed resources.
const MAX_SUBSCRIPTIONS: usize = 1_000;
/// Attempts to reopen a stream that keeps ending early.
const MAX_FAILURES: u32 = 6;
/// Initial delay before reopening; it doubles.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// A stream that lasted this long does not count as a failure.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// Subscribes to changes for a connection.
pub(crate) struct ChangeListener {
    /// The resources to follow.
    wanted: watch::Sender<BTreeSet<String>>,
    state: watch::Receiver<FollowState>,
}

/// The subscription state confirmed by the server.
#[derive(Debug, Clone)]
enum FollowState {
    /// It reports changes of these resources.
    Following(BTreeSet<String>),
    /// It reports nothing.
    Over(UpstreamError),
}

/// A subscription request.
struct ListenStream {
    call: Arc<PendingCall>,
    ended: watch::Receiver<Option<CallReply>>,
    /// Closes it on drop.
    _close: tokio_util::sync::DropGuard,
}

impl ChangeListener {
    pub(crate) fn start(
        link: Arc<ServerLink>,
        peer: &Peer,
        capabilities: Map<String, Value>,
    ) -> Self {
        let (wanted, requested) = watch::channel(BTreeSet::new());
        let (report, state) = watch::channel(FollowState::Following(BTreeSet::new()));
        let changes = |what: &str| {
            let declared = peer
                .capabilities
                .get(what)
                .and_then(|c| c.get("listChanged"));
            declared == Some(&Value::Bool(true))
        };
        let follower = Follower {
            lists: [
                ("toolsListChanged", changes("tools")),
                ("promptsListChanged", changes("prompts")),
                ("resourcesListChanged", changes("resources")),
            ],
            meta: modern_meta(&peer.version, capabilities),
            link: link.clone(),
            requested,
            report,
        };
        let hub = link.hub.clone();
        link.hub.tasks.spawn(async move {
            tokio::select! {
                () = hub.closed() => {}
                () = follower.run() => {}
            }
        });
        Self { wanted, state }
    }

    /// Subscribes to a resource or unsubscribes; returns once the server has confirmed.
    pub(crate) async fn subscribe(&self, uri: &str, follow: bool) -> Result<(), UpstreamError> {
        let mut full = false;
        self.wanted.send_if_modified(|wanted| {
            full = follow && wanted.len() >= MAX_SUBSCRIPTIONS;
            !full
                && if follow {
                    wanted.insert(uri.to_owned())
                } else {
                    wanted.remove(uri)
                }
        });
        if full {
            let message = format!("the limit of {MAX_SUBSCRIPTIONS} subscriptions is reached");
            return Err(RpcError::new(RpcError::INVALID_PARAMS, message).into());
        }
        let mut state = self.state.clone();
        let agreed = |state: &FollowState| match state {
            FollowState::Following(uris) => uris.contains(uri) == follow,
            FollowState::Over(_) => true,
        };
        let state = state.wait_for(agreed).await;
        match state.as_deref() {
            Ok(FollowState::Following(_)) => Ok(()),
            Ok(FollowState::Over(_)) if !follow => Ok(()),
            Ok(FollowState::Over(why)) => Err(why.clone()),
            Err(_) => Err(UpstreamError::Gone("it was closed".to_owned())),
        }
    }
}

struct Follower {
    /// List changes that the server reports.
    lists: [(&'static str, bool); 3],
    meta: Map<String, Value>,
    link: Arc<ServerLink>,
    requested: watch::Receiver<BTreeSet<String>>,
    report: watch::Sender<FollowState>,
}

impl Follower {
    async fn run(mut self) {
        let mut failures = 0;
        // Closed only once its successor is confirmed, so that no notification is missed in between.
        let mut before: Option<ListenStream> = None;
        loop {
            let uris = self.requested.borrow_and_update().clone();
            let Some(filter) = self.filter(&uris) else {
                drop(before.take());
                self.report.send_replace(FollowState::Following(uris));
                if self.requested.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let opened = Instant::now();
            let mut stream = self.open(filter);
            // The end first: a stream that was refused must not count as acknowledged.
            let why = tokio::select! {
                biased;
                why = ended(&mut stream.ended) => Some(why),
                () = stream.call.acknowledged.cancelled() => None,
            };
            drop(before.take());
            let why = match why {
                Some(why) => why,
                None => {
                    self.report.send_replace(FollowState::Following(uris));
                    tokio::select! {
                        why = ended(&mut stream.ended) => why,
                        changed = self.requested.changed() => {
                            if changed.is_err() {
                                return;
                            }
                            before = Some(stream);
                            continue;
                        }
                    }
                }
            };
            if opened.elapsed() > STABLE_AFTER {
                failures = 0;
            }
            failures += 1;
            match why {
                // A refusal is final: repeating the request cannot help.
                Err(why @ (UpstreamError::Rpc(_) | UpstreamError::Http { .. })) => {
                    return drop(self.report.send_replace(FollowState::Over(why)));
                }
                Err(why) if failures > MAX_FAILURES => return self.link.hub.end(why),
                Ok(_) if failures > MAX_FAILURES => {
                    let why = UpstreamError::Lost("it ends every subscription".to_owned());
                    return drop(self.report.send_replace(FollowState::Over(why)));
                }
                _ => sleep(RETRY_DELAY * 2_u32.pow(failures.min(8) - 1)).await,
            }
        }
    }

    /// The notifications to subscribe to; `None` if there are none.
    fn filter(&self, uris: &BTreeSet<String>) -> Option<Map<String, Value>> {
        let mut filter = Map::new();
        for (key, _) in self.lists.iter().filter(|(_, reported)| *reported) {
            filter.insert((*key).to_owned(), true.into());
        }
        if !uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(uris));
        }
        (!filter.is_empty()).then_some(filter)
    }

    fn open(&self, filter: Map<String, Value>) -> ListenStream {
        let mut params = Map::new();
        params.insert("notifications".to_owned(), Value::Object(filter));
        params.insert("_meta".to_owned(), Value::Object(self.meta.clone()));
        let (call, close) = (PendingCall::background(), CancellationToken::new());
        let (end, ended) = watch::channel(None);
        let (link, pending, closed) = (self.link.clone(), call.clone(), close.clone());
        self.link.hub.tasks.spawn(async move {
            let outcome = tokio::select! {
                () = link.hub.closed() => return,
                () = closed.cancelled() => return,
                outcome = link.follow("subscriptions/listen", &params, pending) => outcome,
            };
            end.send_replace(Some(outcome));
        });
        ListenStream {
            call,
            ended,
            _close: close.drop_guard(),
        }
    }
}

async fn ended(stream: &mut watch::Receiver<Option<CallReply>>) -> CallReply {
    match stream.wait_for(Option::is_some).await.as_deref() {
        Ok(Some(answer)) => answer.clone(),
        _ => Err(UpstreamError::Gone("it was closed".to_owned())),
    }
}
