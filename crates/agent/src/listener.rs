//! Subscriptions to events, each with a bounded queue.
//!
//! An event wakes only the listeners of its session or group. A listener that falls too far behind loses the oldest
//! events and is notified of that; the stored records are complete.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use crate::event::ChatEvent;
use crate::key::SessionKey;

/// Queue length for listeners of one session.
const SESSION_QUEUE: usize = 256;
/// Queue length for listeners of many sessions.
const SHARED_QUEUE: usize = 4_096;

/// Which events to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subscription<'a> {
    /// All events: for the owner.
    All,
    /// Only the ends of runs.
    Ends,
    /// Sessions to key continues with these two segments after the agent, such as `client:ada:`.
    Group(&'a str),
    /// One session.
    Session(&'a SessionKey),
}

/// This many events were lost because the listener fell behind; read the records instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged(pub u64);

/// A subscription; ends when it is dropped.
pub struct ChatListener {
    events: Option<Receiver<Arc<ChatEvent>>>,
    /// Its entry in the table of topics, which it removes when it is the last listener.
    topic: Option<(Arc<Topics>, Topic)>,
}

/// One session or a group of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Topic {
    Session(String),
    Group(String),
}

type Topics = Mutex<HashMap<Topic, Sender<Arc<ChatEvent>>>>;

fn lock(topics: &Topics) -> MutexGuard<'_, HashMap<Topic, Sender<Arc<ChatEvent>>>> {
    topics.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All listeners.
pub(crate) struct Subscribers {
    all: Sender<Arc<ChatEvent>>,
    ends: Sender<Arc<ChatEvent>>,
    topics: Arc<Topics>,
}

impl Default for Subscribers {
    fn default() -> Self {
        Self {
            all: Sender::new(SHARED_QUEUE),
            ends: Sender::new(SHARED_QUEUE),
            topics: Arc::default(),
        }
    }
}

impl Subscribers {
    pub(crate) fn listen(&self, to: Subscription<'_>) -> ChatListener {
        let (topic, most) = match to {
            Subscription::All => return ChatListener::whole(self.all.subscribe()),
            Subscription::Ends => return ChatListener::whole(self.ends.subscribe()),
            Subscription::Group(group) => (Topic::Group(group.to_owned()), SHARED_QUEUE),
            Subscription::Session(key) => (Topic::Session(key.to_string()), SESSION_QUEUE),
        };
        let mut topics = lock(&self.topics);
        let sender = topics.entry(topic.clone());
        let events = sender.or_insert_with(|| Sender::new(most)).subscribe();
        ChatListener {
            events: Some(events),
            topic: Some((self.topics.clone(), topic)),
        }
    }

    /// Whether anybody receives the intermediate events of a session.
    pub(crate) fn is_watched(&self, session: &SessionKey) -> bool {
        let topic = Topic::Session(session.to_string());
        let group = group(session).map(|group| Topic::Group(group.to_owned()));
        let topics = lock(&self.topics);
        self.all.receiver_count() > 0
            || topics.contains_key(&topic)
            || group.is_some_and(|group| topics.contains_key(&group))
    }

    /// Sends an event to its listeners, if there are any.
    pub(crate) fn publish(&self, event: ChatEvent) {
        // Sending fails only if nobody listens, and never blocks: a full queue drops its oldest event for that listener.
        let event = Arc::new(event);
        let session = Topic::Session(event.session.to_string());
        let group = group(&event.session).map(|group| Topic::Group(group.to_owned()));
        {
            let topics = lock(&self.topics);
            for topic in std::iter::once(session).chain(group) {
                if let Some(sender) = topics.get(&topic) {
                    let _ = sender.send(event.clone());
                }
            }
        }
        if event.what.is_end() {
            let _ = self.ends.send(event.clone());
        }
        let _ = self.all.send(event);
    }

    /// Number of topics with listeners.
    #[cfg(test)]
    pub(crate) fn topics(&self) -> usize {
        lock(&self.topics).len()
    }
}

/// The first two segments of a key after the agent, with their colons.
fn group(key: &SessionKey) -> Option<&str> {
    let rest = key.rest();
    let (end, _) = rest.match_indices(':').nth(1)?;
    Some(&rest[..=end])
}

impl ChatListener {
    fn whole(events: Receiver<Arc<ChatEvent>>) -> Self {
        Self {
            events: Some(events),
            topic: None,
        }
    }

    /// The next event. Cancel-safe.
    pub async fn next(&mut self) -> Result<Arc<ChatEvent>, Lagged> {
        let Some(events) = &mut self.events else {
            return std::future::pending().await;
        };
        match events.recv().await {
            Ok(event) => Ok(event),
            Err(RecvError::Lagged(missed)) => Err(Lagged(missed)),
            Err(RecvError::Closed) => std::future::pending().await, // no more events
        }
    }

    /// Whether no event is queued.
    pub fn is_empty(&self) -> bool {
        self.events.as_ref().is_none_or(Receiver::is_empty)
    }
}

impl Drop for ChatListener {
    fn drop(&mut self) {
        let Some((topics, topic)) = self.topic.take() else {
            return;
        };
        // Dropped under the lock: a listener that subscribes at the same moment either counts here or creates a new topic.
        let mut topics = lock(&topics);
        self.events = None;
        if topics
            .get(&topic)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            topics.remove(&topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TurnEvent;

    fn key(text: &str) -> SessionKey {
        text.parse().unwrap()
    }

    fn event(session: &str, what: TurnEvent) -> ChatEvent {
        ChatEvent {
            session: key(session),
            run_id: "r".to_owned(),
            what,
            mark: crate::event::EventPosition::default(),
        }
    }

    fn delta(session: &str) -> ChatEvent {
        event(session, TurnEvent::Delta("x".to_owned()))
    }

    #[tokio::test]
    async fn a_listener_receives_only_its_subscription() {
        let subscribers = Subscribers::default();
        let mut one = subscribers.listen(Subscription::Session(&key("a")));
        let mut ada = subscribers.listen(Subscription::Group("client:ada:"));
        let mut ends = subscribers.listen(Subscription::Ends);
        let mut all = subscribers.listen(Subscription::All);
        subscribers.publish(delta("b"));
        subscribers.publish(delta("agent:other:client:ada:x"));
        subscribers.publish(delta("agent:main:client:adam:x"));
        subscribers.publish(delta("a"));
        subscribers.publish(event("b", TurnEvent::Stopped));
        assert_eq!(one.next().await.unwrap().session, key("a"));
        let event = ada.next().await.unwrap();
        assert_eq!(event.session, key("agent:other:client:ada:x"));
        assert_eq!(ends.next().await.unwrap().what, TurnEvent::Stopped);
        for listener in [&one, &ada, &ends] {
            assert!(listener.is_empty());
        }
        for _ in 0..5 {
            all.next().await.unwrap();
        }
        assert!(all.is_empty());
    }

    #[tokio::test]
    async fn only_a_slow_listener_is_notified_of_missed_events() {
        let subscribers = Subscribers::default();
        let mut slow = subscribers.listen(Subscription::Session(&key("a")));
        let mut other = subscribers.listen(Subscription::Session(&key("b")));
        subscribers.publish(delta("b"));
        for _ in 0..=SESSION_QUEUE {
            subscribers.publish(delta("a"));
        }
        assert_eq!(slow.next().await, Err(Lagged(1)));
        assert!(slow.next().await.is_ok(), "it goes on with what is left");
        assert!(other.next().await.is_ok());
        assert!(other.is_empty(), "the noise of another session is not its");
    }

    #[test]
    fn nothing_is_queued_for_dropped_listeners() {
        let subscribers = Subscribers::default();
        let first = subscribers.listen(Subscription::Session(&key("a")));
        let second = subscribers.listen(Subscription::Session(&key("a")));
        let group = subscribers.listen(Subscription::Group("client:ada:"));
        assert_eq!(subscribers.topics(), 2);
        drop(first);
        assert_eq!(subscribers.topics(), 2, "one is still there");
        drop((second, group));
        assert_eq!(subscribers.topics(), 0);
        subscribers.publish(delta("a"));
    }
}
