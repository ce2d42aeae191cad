//! Dialing, serving, and dialing again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::backoff::Backoff;
use crate::dial::{Greeted, Unreached, dial, socket_url};
use crate::log::NodeLog;
use crate::memory::Memory;
use crate::outbox::{self, Outbox};
use crate::serve::{Ended, serve};
use crate::transfer::Notes;
use crate::{NodeOptions, Toolbox, tls};

/// How long dialing and being greeted may take together; a name server that does not answer
/// counts.
const GREETED_WITHIN: Duration = Duration::from_secs(30);

/// How often it is looked for parts of files that nobody came back for.
const SWEPT_EVERY: Duration = Duration::from_secs(60 * 60);

/// Why a node gave up.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The address is none.
    #[error(
        "{0:?} is not the address of a gateway; give http://, https://, ws:// or wss:// and a host"
    )]
    Address(String),
    /// The certificate to trust cannot be used.
    #[error("the gateway's certificate cannot be used: {0}")]
    Certificate(#[from] rustls::Error),
    /// The gateway does not want this node; dialing again would not help.
    #[error("the gateway refuses this node: {0}")]
    Refused(String),
}

/// What lasts from one connection to the next.
pub(crate) struct Node {
    pub(crate) toolbox: Toolbox,
    pub(crate) log: NodeLog,
    pub(crate) outbox: Outbox,
    pub(crate) notes: Notes,
}

/// Serves until `stop` fires or the gateway refuses this node for good.
pub async fn run(
    options: NodeOptions,
    toolbox: Toolbox,
    log: NodeLog,
    stop: CancellationToken,
) -> Result<(), NodeError> {
    let wrong = || NodeError::Address(options.gateway.clone());
    let url = socket_url(&options.gateway).ok_or_else(wrong)?;
    tls::connector(options.pinned_certificate.as_deref())?;
    let node = Arc::new(Node {
        outbox: Outbox::new(log.clone()),
        notes: Notes::new(options.state_dir.as_deref()),
        toolbox,
        log,
    });
    let mut chores = JoinSet::new();
    let (events, ids) = (node.toolbox.jobs().events(), node.toolbox.ids().clone());
    let listener = node.clone();
    chores.spawn(async move { outbox::collect(events, &listener.outbox, &ids).await });
    chores.spawn(sweep(node.clone()));
    let mut backoff = Backoff::new(options.backoff, node.toolbox.ids().clone());
    let mut memory = Memory::default();
    loop {
        let ended = connection(&url, &options, &node, &mut memory, &mut backoff, &stop);
        let (why, wait) = match ended.await {
            Ended::Stopped => return Ok(()),
            Ended::Refused(why) => {
                node.log
                    .warn("refused by the gateway", json!({ "why": why }));
                return Err(NodeError::Refused(why));
            }
            Ended::Replaced(why) => (why, backoff.wait_after_replacement()),
            Ended::Lost(why) => (why, backoff.wait()),
        };
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let about = json!({ "why": why, "againInMs": millis });
        node.log.warn("no connection to the gateway", about);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

/// One connection from dialing to its end.
async fn connection(
    url: &Url,
    options: &NodeOptions,
    node: &Arc<Node>,
    memory: &mut Memory,
    backoff: &mut Backoff,
    stop: &CancellationToken,
) -> Ended {
    let connector = match tls::connector(options.pinned_certificate.as_deref()) {
        Ok(connector) => connector,
        Err(error) => return Ended::Lost(error.to_string()),
    };
    let dialed = dial(url, connector, options, &node.toolbox);
    let dialed = tokio::select! {
        dialed = timeout(GREETED_WITHIN, dialed) => dialed,
        () = stop.cancelled() => return Ended::Stopped,
    };
    let greeted = match dialed {
        Ok(Ok(greeted)) => greeted,
        Ok(Err(Unreached::Refused(why))) => return Ended::Refused(why),
        Ok(Err(Unreached::Lost(why))) => return Ended::Lost(why),
        Err(_) => {
            let limit = GREETED_WITHIN.as_secs();
            return Ended::Lost(format!("no greeting within {limit} seconds"));
        }
    };
    welcome(&greeted, options, &node.log);
    let since = Instant::now();
    let ended = serve(greeted, node, memory, stop).await;
    backoff.connected(since.elapsed());
    ended
}

/// Removes parts of files that nobody came back for, now and every hour.
async fn sweep(node: Arc<Node>) {
    let mut hours = tokio::time::interval(SWEPT_EVERY);
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        let sweeper = node.clone();
        let swept = tokio::task::spawn_blocking(move || {
            let now = sweeper.toolbox.clock().now();
            sweeper.notes.sweep(sweeper.toolbox.files(), now)
        });
        if let Some(parts) = swept.await.ok().filter(|parts| *parts > 0) {
            let about = json!({ "parts": parts });
            node.log.info(
                "parts of files were removed that nobody came back for",
                about,
            );
        }
    }
}

fn welcome(greeted: &Greeted, options: &NodeOptions, log: &NodeLog) {
    let about = json!({
        "gateway": options.gateway, "node": options.id, "connection": greeted.connection,
    });
    log.info("connected", about);
    let renamed = greeted.name.as_deref();
    if let Some(name) = renamed.filter(|name| *name != options.id.as_str()) {
        let about = json!({ "node": options.id, "name": name });
        log.warn("this node has another name at the gateway", about);
    }
}
