//! News of programs in the background, told until the gateway has taken them.

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

/// How many pieces of news may wait.
const MOST: usize = 2_048;
/// How long the gateway may take to answer before it is told again.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// How long to wait when the gateway could not take it.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// News that wait to be told, in the order of what happened.
pub(crate) struct Outbox {
    news: Mutex<VecDeque<NodeExecEventParams>>,
    added: Notify,
    log: NodeLog,
}

impl Outbox {
    pub(crate) fn new(log: NodeLog) -> Self {
        Self {
            news: Mutex::default(),
            added: Notify::new(),
            log,
        }
    }

    fn add(&self, news: NodeExecEventParams) {
        let mut waiting = self.news();
        waiting.push_back(news);
        let lost = (waiting.len() > MOST).then(|| waiting.pop_front());
        drop(waiting);
        if let Some(lost) = lost.flatten() {
            let about = json!({ "sessionId": lost.session_id, "event": lost.event });
            self.log
                .warn("news of a program were dropped: too many wait", about);
        }
        self.added.notify_one();
    }

    async fn first(&self) -> NodeExecEventParams {
        loop {
            let added = self.added.notified();
            if let Some(first) = self.news().front() {
                return first.clone();
            }
            added.await;
        }
    }

    fn forget(&self, event_id: &str) {
        let mut news = self.news();
        if news.front().is_some_and(|first| first.event_id == event_id) {
            news.pop_front();
        }
    }

    fn news(&self) -> MutexGuard<'_, VecDeque<NodeExecEventParams>> {
        self.news.lock().expect("no panic while held")
    }

    /// Tells all there is over one connection, one after the other, and all that comes. Does not
    /// end by itself.
    pub(crate) async fn tell(
        &self,
        outgoing: &Outgoing,
        mut answers: mpsc::Receiver<Response>,
    ) -> Infallible {
        loop {
            let news = self.first().await;
            let id = &news.event_id;
            if outgoing.text(news.encode(id)).await.is_err() {
                // The connection has ended, and whoever reads it says why.
                return std::future::pending().await;
            }
            let answer = timeout(ANSWERED_WITHIN, answer_to(id, &mut answers));
            match answer.await {
                Ok(Some(answer)) => match answer.error {
                    None => self.forget(id),
                    Some(error) if is_final(&error) => {
                        let about = json!({ "eventId": id, "why": error.message });
                        self.log.warn("news of a program were refused", about);
                        self.forget(id);
                    }
                    Some(_) => sleep(AGAIN_AFTER).await,
                },
                Ok(None) => return std::future::pending().await,
                Err(_) => {}
            }
        }
    }
}

async fn answer_to(id: &str, answers: &mut mpsc::Receiver<Response>) -> Option<Response> {
    loop {
        let answer = answers.recv().await?;
        if answer.id == id {
            return Some(answer);
        }
    }
}

/// Whether telling it again would not help.
fn is_final(error: &ErrorShape) -> bool {
    let later = [Code::Internal, Code::Unavailable, Code::Timeout];
    error.retryable != Some(true) && later.iter().all(|code| code.number() != error.code)
}

/// Puts news of programs into the outbox as they come.
pub(crate) async fn collect(mut events: Receiver<JobEvent>, outbox: &Outbox, ids: &Ids) {
    loop {
        match events.recv().await {
            Ok(event) => outbox.add(told(event, ids)),
            Err(RecvError::Lagged(missed)) => {
                let about = json!({ "missed": missed });
                outbox
                    .log
                    .warn("news of programs were dropped: they came too fast", about);
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn told(event: JobEvent, ids: &Ids) -> NodeExecEventParams {
    NodeExecEventParams {
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

    fn news(number: usize) -> NodeExecEventParams {
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
        for number in 0..MOST {
            outbox.add(news(number));
        }
        assert_eq!(log.last(9).0.len(), 0);
        outbox.add(news(MOST));
        assert_eq!(outbox.first().await.event_id, "1");
        assert!(log.last(9).0.concat().contains("too many wait"));
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
