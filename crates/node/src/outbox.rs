//! Events of background processes, resent until the gateway acknowledges them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use manyhands_core::Ids;
use manyhands_hands::jobs::{JobEvent, JobEventKind};
use manyhands_wire::{Code, ErrorShape, ExecEvent, NodeExecEventParams, Params, Response};
use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::log::NodeLog;
use crate::writer::Outgoing;

/// Maximum number of queued events.
const MAX_EVENTS: usize = 2_048;
/// How long to wait for an acknowledgement before resending.
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay before a retry if the gateway could not accept an event.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Queued events, in order.
pub(crate) struct Outbox {
    events: Mutex<VecDeque<NodeExecEventParams>>,
    added: Notify,
    log: NodeLog,
}

impl Outbox {
    pub(crate) fn new(log: NodeLog) -> Self {
        Self {
            events: Mutex::default(),
            added: Notify::new(),
            log,
        }
    }

    fn add(&self, event: NodeExecEventParams) {
        let mut queued = self.events();
        queued.push_back(event);
        // The oldest goes: a newer event of the same process usually says how it ended.
        let lost = (queued.len() > MAX_EVENTS).then(|| queued.pop_front());
        drop(queued);
        if let Some(lost) = lost.flatten() {
            let about = json!({ "sessionId": lost.session_id, "kind": lost.event });
            self.log.warn(
                "process_event_dropped",
                "background-process event dropped: queue full",
                about,
            );
        }
        self.added.notify_one();
    }

    async fn first(&self) -> NodeExecEventParams {
        loop {
            // Registered before the queue is checked: an event added in between must wake this up.
            let added = self.added.notified();
            if let Some(first) = self.events().front() {
                return first.clone();
            }
            added.await;
        }
    }

    fn forget(&self, event_id: &str) {
        let mut events = self.events();
        // The queue may have overflowed meanwhile, so the first event need not be the acknowledged one.
        if events
            .front()
            .is_some_and(|first| first.event_id == event_id)
        {
            events.pop_front();
        }
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<NodeExecEventParams>> {
        self.events.lock().expect("no panic while held")
    }

    /// Sends all queued events over one connection, one at a time, and all later ones. Never returns.
    pub(crate) async fn send_all(
        &self,
        outgoing: &Outgoing,
        mut responses: mpsc::Receiver<Response>,
    ) -> Infallible {
        loop {
            // One at a time, and removed only when acknowledged: the gateway receives the events of a process
            // in order.
            let event = self.first().await;
            let id = &event.event_id;
            if outgoing.text(event.encode(id)).await.is_err() {
                // The connection has ended; its reader reports why.
                return std::future::pending().await;
            }
            let response = timeout(ACK_TIMEOUT, response_to(id, &mut responses));
            match response.await {
                Ok(Some(response)) => match response.error {
                    None => self.forget(id),
                    Some(error) if is_final(&error) => {
                        let about = json!({ "eventId": id, "why": error.message });
                        self.log.warn(
                            "process_event_refused",
                            "background-process event refused by the gateway",
                            about,
                        );
                        self.forget(id);
                    }
                    Some(_) => sleep(RETRY_DELAY).await,
                },
                Ok(None) => return std::future::pending().await,
                // No acknowledgement: sent again. The gateway recognises it by its id.
                Err(_) => {}
            }
        }
    }
}

async fn response_to(id: &str, responses: &mut mpsc::Receiver<Response>) -> Option<Response> {
    loop {
        let response = responses.recv().await?;
        // Late responses to an earlier attempt, and those about transfers, are skipped.
        if response.id == id {
            return Some(response);
        }
    }
}

/// Returns whether resending would not help.
fn is_final(error: &ErrorShape) -> bool {
    let later = [Code::Internal, Code::Unavailable, Code::Timeout];
    // The gateway's own verdict counts more than the code.
    error.retryable != Some(true) && later.iter().all(|code| code.number() != error.code)
}

/// Queues events of background processes as they arrive.
pub(crate) async fn collect(mut events: Receiver<JobEvent>, outbox: &Outbox, ids: &Ids) {
    loop {
        match events.recv().await {
            Ok(event) => outbox.add(to_wire(event, ids)),
            Err(RecvError::Lagged(missed)) => {
                let about = json!({ "missed": missed });
                outbox.log.warn(
                    "process_events_missed",
                    "background-process events dropped: arriving too fast",
                    about,
                );
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn to_wire(event: JobEvent, ids: &Ids) -> NodeExecEventParams {
    NodeExecEventParams {
        // Assigned once, so that the gateway recognises a resent event.
        event_id: ids.next::<Uuid>().to_string(),
        session_id: event.session_id.to_string(),
        event: match event.event {
            JobEventKind::Started => ExecEvent::Started,
            JobEventKind::Finished => ExecEvent::Finished,
            JobEventKind::Failed => ExecEvent::Failed,
            JobEventKind::TimedOut => ExecEvent::TimedOut,
        },
        call_id: event.origin,
        exit_code: event.exit_code,
        signal: event.signal,
        output_tail: event.output_tail,
        started_at: Some(event.started_at.0),
        ended_at: event.ended_at.map(|at| at.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, Timestamp};
    use std::sync::Arc;

    fn event(number: usize) -> NodeExecEventParams {
        NodeExecEventParams {
            event_id: number.to_string(),
            session_id: "s".to_owned(),
            event: ExecEvent::Started,
            call_id: None,
            exit_code: None,
            signal: None,
            output_tail: None,
            started_at: None,
            ended_at: None,
        }
    }

    #[tokio::test]
    async fn of_too_many_the_oldest_are_dropped_and_that_is_logged() {
        let log = NodeLog::new(Arc::new(ManualClock::at(Timestamp(0))));
        let outbox = Outbox::new(log.clone());
        for number in 0..MAX_EVENTS {
            outbox.add(event(number));
        }
        assert_eq!(log.last(9).0.len(), 0);
        outbox.add(event(MAX_EVENTS));
        assert_eq!(outbox.first().await.event_id, "1");
        assert!(log.last(9).0.concat().contains("queue full"));
        outbox.forget("0");
        assert_eq!(
            outbox.first().await.event_id,
            "1",
            "what was dropped is not taken"
        );
        outbox.forget("1");
        assert_eq!(outbox.first().await.event_id, "2");
    }
}
