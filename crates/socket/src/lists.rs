//! Tells the owner's sockets that something changed which they may be showing: questions, nodes, jobs,
//! chats. What it is now they ask for themselves, so nothing is lost when several changes are told as one.

use std::time::Duration;

use manyhands_core::{Caller, Timestamp};
use manyhands_gateway::Gateway;
use manyhands_wire::{
    ApprovalsChangedEvent, ChannelsChangedEvent, CronChangedEvent, NodesChangedEvent, Payload,
};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

/// The least time between two of these events on one socket.
const APART: Duration = Duration::from_millis(200);
/// The longest that is waited for a question to run out before the clock is looked at again.
const LONGEST: Duration = Duration::from_secs(60);

/// Tells of changes for as long as it is polled. A reader that is slow hears of the last only.
pub(super) async fn forward(gateway: &Gateway, caller: &Caller, outbox: &mpsc::Sender<Message>) {
    if !caller.is_owner() {
        return std::future::pending().await; // the socket has other things to do
    }
    let desk = gateway.path.approvals();
    let mut approvals = desk.changes().listen();
    let mut nodes = gateway.nodes.roll().listen();
    let mut jobs = gateway.cron().changes().listen();
    let mut chats = gateway.chats().records().changes().listen();
    let mut runs_out = desk.pending().await.ok().and_then(|(_, first)| first);
    loop {
        let told = tokio::select! {
            Ok(()) = nodes.changed() => NodesChangedEvent {}.encode(),
            Ok(()) = jobs.changed() => CronChangedEvent {}.encode(),
            Ok(()) = chats.changed() => ChannelsChangedEvent {}.encode(),
            () = questions(gateway, &mut approvals, runs_out) => match desk.pending().await {
                Ok((pending, first)) => {
                    runs_out = first;
                    ApprovalsChangedEvent { pending }.encode()
                }
                Err(error) => {
                    tracing::warn!(event = "approval_count_failed", %error, "failed to count pending approvals");
                    runs_out = None;
                    continue;
                }
            },
        };
        if outbox.send(Message::Text(told.into())).await.is_err() {
            return std::future::pending().await; // the socket sees to its own end
        }
        sleep(APART).await;
    }
}

/// Waits until a question is put, answered or used, or the first of them runs out.
async fn questions(
    gateway: &Gateway,
    changes: &mut watch::Receiver<u64>,
    runs_out: Option<Timestamp>,
) {
    loop {
        let left = runs_out.map(|at| at.since(gateway.clock.now()));
        let left = left.map_or(LONGEST, |left| {
            left.saturating_add(Duration::from_millis(1)).min(LONGEST)
        });
        tokio::select! {
            Ok(()) = changes.changed() => return,
            () = sleep(left) => {}
        }
        if runs_out.is_some_and(|at| at <= gateway.clock.now()) {
            return;
        }
    }
}
