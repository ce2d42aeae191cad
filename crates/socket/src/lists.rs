//! Notifies the owner's sockets that a list they may be showing has changed: approvals, nodes,
//! jobs, chats. Events carry no data; clients reload, so merging several changes into one event
//! loses nothing.

use std::time::Duration;

use manyhands_core::{Caller, Timestamp};
use manyhands_gateway::Gateway;
use manyhands_wire::{
    ApprovalsChangedEvent, ChannelsChangedEvent, CronChangedEvent, NodesChangedEvent, Payload,
};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

/// Minimum time between two of these events on one socket.
const APART: Duration = Duration::from_millis(200);
/// Longest sleep before the clock is checked again, so that a clock change is noticed.
const LONGEST: Duration = Duration::from_secs(60);

/// Sends change events for as long as it is polled. A slow client receives only the latest.
pub(super) async fn forward(gateway: &Gateway, caller: &Caller, outbox: &mpsc::Sender<Message>) {
    if !caller.is_owner() {
        return std::future::pending().await; // returning would end the socket
    }
    let requests = gateway.path.approvals();
    let mut approvals = requests.changes().subscribe();
    let mut nodes = gateway.nodes.node_changes().subscribe();
    let mut jobs = gateway.cron().changes().subscribe();
    let mut chats = gateway.chats().records().changes().subscribe();
    let mut next_expiry = requests.pending().await.ok().and_then(|(_, first)| first);
    loop {
        let event = tokio::select! {
            Ok(()) = nodes.changed() => NodesChangedEvent {}.encode(),
            Ok(()) = jobs.changed() => CronChangedEvent {}.encode(),
            Ok(()) = chats.changed() => ChannelsChangedEvent {}.encode(),
            () = approvals_changed(gateway, &mut approvals, next_expiry) => match requests.pending().await {
                Ok((pending, first)) => {
                    next_expiry = first;
                    ApprovalsChangedEvent { pending }.encode()
                }
                Err(error) => {
                    tracing::warn!(event = "approval_count_failed", %error, "failed to count pending approvals");
                    next_expiry = None;
                    continue;
                }
            },
        };
        if outbox.send(Message::Text(event.into())).await.is_err() {
            return std::future::pending().await; // the socket's own loop notices the close
        }
        sleep(APART).await;
    }
}

/// Waits until an approval is requested, decided or used, or the first pending one expires.
async fn approvals_changed(
    gateway: &Gateway,
    changes: &mut watch::Receiver<u64>,
    next_expiry: Option<Timestamp>,
) {
    loop {
        let left = next_expiry.map(|at| at.since(gateway.clock.now()));
        // One extra millisecond, so that the approval has expired when the timer fires.
        let left = left.map_or(LONGEST, |left| {
            left.saturating_add(Duration::from_millis(1)).min(LONGEST)
        });
        tokio::select! {
            Ok(()) = changes.changed() => return,
            () = sleep(left) => {}
        }
        if next_expiry.is_some_and(|at| at <= gateway.clock.now()) {
            return;
        }
    }
}
