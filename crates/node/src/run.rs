//! Connects, serves, and reconnects.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::backoff::Backoff;
use crate::handshake::{Accepted, ConnectError, dial, socket_url};
use crate::log::NodeLog;
use crate::node::Node;
use crate::outbox::{self, Outbox};
use crate::partial_files::PartialFiles;
use crate::seen_calls::SeenCalls;
use crate::serve::{Disconnect, serve};
use crate::terminals::Terminals;
use crate::{NodeOptions, Toolbox, tls};

/// Timeout of name resolution, connecting and the handshake together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval at which abandoned partial files are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Why a node gave up.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The URL is invalid.
    #[error("{0:?} is not a gateway URL; use http://, https://, ws:// or wss:// and a host")]
    Address(String),
    /// The pinned certificate is invalid.
    #[error("cannot use the gateway's certificate: {0}")]
    Certificate(#[from] rustls::Error),
    /// The gateway permanently refuses this node.
    #[error("the gateway refused this node: {0}")]
    Refused(String),
}

/// Serves until `stop` fires or the gateway permanently refuses this node.
pub async fn run(
    options: NodeOptions,
    toolbox: Toolbox,
    log: NodeLog,
    stop: CancellationToken,
) -> Result<(), NodeError> {
    let wrong = || NodeError::Address(options.gateway.clone());
    let url = socket_url(&options.gateway).ok_or_else(wrong)?;
    // Checked before the first attempt: an invalid certificate would otherwise be retried forever.
    tls::connector(options.pinned_certificate.as_deref())?;
    let node = Arc::new(Node {
        outbox: Outbox::new(log.clone()),
        partial_files: PartialFiles::new(options.state_dir.as_deref()),
        terminals: Terminals::default(),
        toolbox,
        log,
    });
    // Dropped with this function, which ends the tasks however it returns.
    let mut chores = JoinSet::new();
    // Subscribed before the first connection: events of processes started by it must not be missed.
    let (events, ids) = (node.toolbox.jobs().events(), node.toolbox.ids().clone());
    let listener = node.clone();
    chores.spawn(async move { outbox::collect(events, &listener.outbox, &ids).await });
    chores.spawn(sweep(node.clone()));
    let mut backoff = Backoff::new(options.backoff, node.toolbox.ids().clone());
    // Outside the loop: a call that is resent after a reconnect must be recognised.
    let mut seen_calls = SeenCalls::default();
    loop {
        let ended = connection(&url, &options, &node, &mut seen_calls, &mut backoff, &stop);
        let (why, wait) = match ended.await {
            Disconnect::Stopped => return Ok(()),
            Disconnect::Refused(why) => {
                node.log.warn(
                    "gateway_refused",
                    "refused by the gateway",
                    json!({ "why": why }),
                );
                return Err(NodeError::Refused(why));
            }
            Disconnect::Replaced(why) => (why, backoff.wait_after_replacement()),
            Disconnect::Lost(why) => (why, backoff.wait()),
        };
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let about = json!({ "why": why, "againInMs": millis });
        node.log.warn(
            "gateway_disconnected",
            "no connection to the gateway; will retry",
            about,
        );
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

/// One connection from connect to close.
async fn connection(
    url: &Url,
    options: &NodeOptions,
    node: &Arc<Node>,
    seen_calls: &mut SeenCalls,
    backoff: &mut Backoff,
    stop: &CancellationToken,
) -> Disconnect {
    let connector = match tls::connector(options.pinned_certificate.as_deref()) {
        Ok(connector) => connector,
        Err(error) => return Disconnect::Lost(error.to_string()),
    };
    let dialed = dial(url, connector, options, &node.toolbox);
    let dialed = tokio::select! {
        dialed = timeout(CONNECT_TIMEOUT, dialed) => dialed,
        () = stop.cancelled() => return Disconnect::Stopped,
    };
    let accepted = match dialed {
        Ok(Ok(accepted)) => accepted,
        Ok(Err(ConnectError::Refused(why))) => return Disconnect::Refused(why),
        Ok(Err(ConnectError::Lost(why))) => return Disconnect::Lost(why),
        Err(_) => {
            let limit = CONNECT_TIMEOUT.as_secs();
            return Disconnect::Lost(format!("no hello within {limit} seconds"));
        }
    };
    log_connected(&accepted, options, &node.log);
    let since = Instant::now();
    let ended = serve(accepted, node, seen_calls, stop).await;
    // Measured without the handshake: only a served connection resets the delay.
    backoff.connected(since.elapsed());
    ended
}

/// Removes abandoned partial files, now and every hour.
async fn sweep(node: Arc<Node>) {
    let mut hours = tokio::time::interval(SWEEP_INTERVAL);
    // After a suspended machine wakes up, one sweep is enough for all missed hours.
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        let sweeper = node.clone();
        // Every record costs several file operations, on any disk the user mounted.
        let swept = tokio::task::spawn_blocking(move || {
            let now = sweeper.toolbox.clock().now();
            sweeper.partial_files.sweep(sweeper.toolbox.files(), now)
        });
        if let Some(parts) = swept.await.ok().filter(|parts| *parts > 0) {
            let about = json!({ "parts": parts });
            node.log.info(
                "partial_files_removed",
                "removed abandoned partial files",
                about,
            );
        }
    }
}

fn log_connected(accepted: &Accepted, options: &NodeOptions, log: &NodeLog) {
    let about = json!({
        "gateway": options.gateway, "node": options.id, "connection": accepted.connection,
    });
    log.info("gateway_connected", "connected", about);
    let renamed = accepted.name.as_deref();
    if let Some(name) = renamed.filter(|name| *name != options.id.as_str()) {
        let about = json!({ "node": options.id, "name": name });
        log.warn(
            "node_renamed",
            "this node has another name on the gateway",
            about,
        );
    }
}
