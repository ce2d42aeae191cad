//! Following changes in the modern era: one long request that says what to be told of.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::connection::{Link, Peer};
use crate::error::{RpcError, UpstreamError};
use crate::greet::modern_meta;
use crate::hub::{Answer, Call};

/// How many resources may be followed.
const MAX_FOLLOWED: usize = 1_000;
/// How often a stream that ends is opened again without having lasted.
const MAX_FAILURES: u32 = 6;
/// How long to wait before that; it doubles.
const WAIT: Duration = Duration::from_millis(500);
/// What has lasted this long is no failure.
const LASTED: Duration = Duration::from_secs(60);

/// Follows changes for a connection.
pub(crate) struct Listener {
    /// Which resources are to be followed.
    wanted: watch::Sender<BTreeSet<String>>,
    state: watch::Receiver<State>,
}

/// What the server has agreed to.
#[derive(Debug, Clone)]
enum State {
    /// It tells of these resources.
    Following(BTreeSet<String>),
    /// It tells of nothing.
    Over(UpstreamError),
}

/// One long request.
struct Stream {
    call: Arc<Call>,
    ended: watch::Receiver<Option<Answer>>,
    /// Closes it when dropped.
    _close: tokio_util::sync::DropGuard,
}

impl Listener {
    pub(crate) fn start(link: Arc<Link>, peer: &Peer, capabilities: Map<String, Value>) -> Self {
        let (wanted, wishes) = watch::channel(BTreeSet::new());
        let (tell, state) = watch::channel(State::Following(BTreeSet::new()));
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
            wishes,
            tell,
        };
        let over = link.hub.clone();
        link.hub.tasks.spawn(async move {
            tokio::select! {
                () = over.over() => {}
                () = follower.run() => {}
            }
        });
        Self { wanted, state }
    }

    /// Has a resource followed, or no more; comes back when the server has agreed.
    pub(crate) async fn subscribe(&self, uri: &str, follow: bool) -> Result<(), UpstreamError> {
        let mut full = false;
        self.wanted.send_if_modified(|wanted| {
            full = follow && wanted.len() >= MAX_FOLLOWED;
            !full
                && if follow {
                    wanted.insert(uri.to_owned())
                } else {
                    wanted.remove(uri)
                }
        });
        if full {
            let message = format!("{MAX_FOLLOWED} resources are followed already");
            return Err(RpcError::new(RpcError::INVALID_PARAMS, message).into());
        }
        let mut state = self.state.clone();
        let agreed = |state: &State| match state {
            State::Following(uris) => uris.contains(uri) == follow,
            State::Over(_) => true,
        };
        let state = state.wait_for(agreed).await;
        match state.as_deref() {
            Ok(State::Following(_)) => Ok(()),
            Ok(State::Over(_)) if !follow => Ok(()),
            Ok(State::Over(why)) => Err(why.clone()),
            Err(_) => Err(UpstreamError::Gone("it was closed".to_owned())),
        }
    }
}

struct Follower {
    /// Which changes of lists the server tells of.
    lists: [(&'static str, bool); 3],
    meta: Map<String, Value>,
    link: Arc<Link>,
    wishes: watch::Receiver<BTreeSet<String>>,
    tell: watch::Sender<State>,
}

impl Follower {
    async fn run(mut self) {
        let mut failures = 0;
        // Closed only when the next one is agreed to, so that nothing is missed between them.
        let mut before: Option<Stream> = None;
        loop {
            let uris = self.wishes.borrow_and_update().clone();
            let Some(filter) = self.filter(&uris) else {
                drop(before.take());
                self.tell.send_replace(State::Following(uris));
                if self.wishes.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let opened = Instant::now();
            let mut stream = self.open(filter);
            let why = tokio::select! {
                biased;
                why = ended(&mut stream.ended) => Some(why),
                () = stream.call.acknowledged.cancelled() => None,
            };
            drop(before.take());
            let why = match why {
                Some(why) => why,
                None => {
                    self.tell.send_replace(State::Following(uris));
                    tokio::select! {
                        why = ended(&mut stream.ended) => why,
                        changed = self.wishes.changed() => {
                            if changed.is_err() {
                                return;
                            }
                            before = Some(stream);
                            continue;
                        }
                    }
                }
            };
            if opened.elapsed() > LASTED {
                failures = 0;
            }
            failures += 1;
            match why {
                Err(why @ (UpstreamError::Rpc(_) | UpstreamError::Http { .. })) => {
                    return drop(self.tell.send_replace(State::Over(why)));
                }
                Err(why) if failures > MAX_FAILURES => return self.link.hub.end(why),
                Ok(_) if failures > MAX_FAILURES => {
                    let why = UpstreamError::Lost("it ends every subscription".to_owned());
                    return drop(self.tell.send_replace(State::Over(why)));
                }
                _ => sleep(WAIT * 2_u32.pow(failures.min(8) - 1)).await,
            }
        }
    }

    /// What to be told of; `None` when there is nothing.
    fn filter(&self, uris: &BTreeSet<String>) -> Option<Map<String, Value>> {
        let mut filter = Map::new();
        for (key, _) in self.lists.iter().filter(|(_, told)| *told) {
            filter.insert((*key).to_owned(), true.into());
        }
        if !uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(uris));
        }
        (!filter.is_empty()).then_some(filter)
    }

    fn open(&self, filter: Map<String, Value>) -> Stream {
        let mut params = Map::new();
        params.insert("notifications".to_owned(), Value::Object(filter));
        params.insert("_meta".to_owned(), Value::Object(self.meta.clone()));
        let (call, close) = (Call::background(), CancellationToken::new());
        let (end, ended) = watch::channel(None);
        let (link, mine, closed) = (self.link.clone(), call.clone(), close.clone());
        self.link.hub.tasks.spawn(async move {
            let over = tokio::select! {
                () = link.hub.over() => return,
                () = closed.cancelled() => return,
                over = link.follow("subscriptions/listen", &params, mine) => over,
            };
            end.send_replace(Some(over));
        });
        Stream {
            call,
            ended,
            _close: close.drop_guard(),
        }
    }
}

async fn ended(stream: &mut watch::Receiver<Option<Answer>>) -> Answer {
    match stream.wait_for(Option::is_some).await.as_deref() {
        Ok(Some(answer)) => answer.clone(),
        _ => Err(UpstreamError::Gone("it was closed".to_owned())),
    }
}
