//! Who is told of what happens: each listener has its own part, and a bounded queue for it.
//!
//! What happens in one session wakes only those who listen to it. A listener that falls too far
//! behind is told that it missed something, and reads the rest from the records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};

use crate::event::ChatEvent;
use crate::key::SessionKey;
use crate::minds::Minds;

/// How many events may wait for a listener of one session.
const OF_ONE: usize = 256;
/// How many events may wait for a listener of many.
const OF_MANY: usize = 4_096;

/// What somebody listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Everything: for the owner.
    All,
    /// How runs end, and nothing on the way.
    Ends,
    /// The sessions whose key goes on like this after the agent: two words, each with its colon.
    Group(&'a str),
    /// One session.
    Session(&'a SessionKey),
}

/// Something happened that can no longer be told: look at the records instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed(pub u64);

/// One who listens, until it is dropped.
pub struct Listener {
    events: Option<Receiver<Arc<ChatEvent>>>,
    /// Where the listener is listed, when it listens to a part.
    part: Option<(Arc<Parts>, Part)>,
}

/// A session by its key, or a group of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Session(String),
    Group(String),
}

type Parts = Mutex<HashMap<Part, Sender<Arc<ChatEvent>>>>;

fn lock(parts: &Parts) -> MutexGuard<'_, HashMap<Part, Sender<Arc<ChatEvent>>>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everybody who listens.
pub(crate) struct Audience {
    all: Sender<Arc<ChatEvent>>,
    ends: Sender<Arc<ChatEvent>>,
    parts: Arc<Parts>,
}

impl Default for Audience {
    fn default() -> Self {
        Self {
            all: Sender::new(OF_MANY),
            ends: Sender::new(OF_MANY),
            parts: Arc::default(),
        }
    }
}

impl Audience {
    pub(crate) fn listen(&self, whose: Whose<'_>) -> Listener {
        let (part, most) = match whose {
            Whose::All => return Listener::whole(self.all.subscribe()),
            Whose::Ends => return Listener::whole(self.ends.subscribe()),
            Whose::Group(group) => (Part::Group(group.to_owned()), OF_MANY),
            Whose::Session(key) => (Part::Session(key.to_string()), OF_ONE),
        };
        let mut parts = lock(&self.parts);
        let sender = parts.entry(part.clone());
        let events = sender.or_insert_with(|| Sender::new(most)).subscribe();
        Listener {
            events: Some(events),
            part: Some((self.parts.clone(), part)),
        }
    }

    /// Whether anybody hears what happens in a session on its way.
    pub(crate) fn is_watched(&self, session: &SessionKey) -> bool {
        let part = Part::Session(session.to_string());
        let group = group(session).map(|group| Part::Group(group.to_owned()));
        let parts = lock(&self.parts);
        self.all.receiver_count() > 0
            || parts.contains_key(&part)
            || group.is_some_and(|group| parts.contains_key(&group))
    }

    /// Tells those whom it concerns. Nobody listening is no failure.
    pub(crate) fn tell(&self, event: ChatEvent) {
        let event = Arc::new(event);
        let session = Part::Session(event.session.to_string());
        let group = group(&event.session).map(|group| Part::Group(group.to_owned()));
        {
            let parts = lock(&self.parts);
            for part in std::iter::once(session).chain(group) {
                if let Some(sender) = parts.get(&part) {
                    let _ = sender.send(event.clone());
                }
            }
        }
        if event.what.is_end() {
            let _ = self.ends.send(event.clone());
        }
        let _ = self.all.send(event);
    }

    /// How many parts have listeners.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> usize {
        lock(&self.parts).len()
    }
}

/// The first two words of a key after the agent, with their colons.
fn group(key: &SessionKey) -> Option<&str> {
    let rest = key.rest();
    let (end, _) = rest.match_indices(':').nth(1)?;
    Some(&rest[..=end])
}

impl Listener {
    fn whole(events: Receiver<Arc<ChatEvent>>) -> Self {
        Self {
            events: Some(events),
            part: None,
        }
    }

    /// What happens next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Arc<ChatEvent>, Missed> {
        let Some(events) = &mut self.events else {
            return std::future::pending().await;
        };
        match events.recv().await {
            Ok(event) => Ok(event),
            Err(RecvError::Lagged(missed)) => Err(Missed(missed)),
            Err(RecvError::Closed) => std::future::pending().await, // nothing happens any more
        }
    }

    /// Whether nothing waits to be told.
    pub fn is_empty(&self) -> bool {
        self.events.as_ref().is_none_or(Receiver::is_empty)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((parts, part)) = self.part.take() else {
            return;
        };
        let mut parts = lock(&parts);
        self.events = None;
        if parts
            .get(&part)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            parts.remove(&part);
        }
    }
}

impl Minds {
    /// Tells what happens from here on.
    pub fn listen(&self, whose: Whose<'_>) -> Listener {
        self.inner.audience.listen(whose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What;

    fn key(text: &str) -> SessionKey {
        text.parse().unwrap()
    }

    fn event(session: &str, what: What) -> ChatEvent {
        ChatEvent {
            session: key(session),
            run_id: "r".to_owned(),
            what,
            mark: crate::event::Mark::default(),
        }
    }

    fn delta(session: &str) -> ChatEvent {
        event(session, What::Delta("x".to_owned()))
    }

    #[tokio::test]
    async fn each_hears_only_what_it_listens_to() {
        let audience = Audience::default();
        let mut one = audience.listen(Whose::Session(&key("a")));
        let mut ada = audience.listen(Whose::Group("client:ada:"));
        let mut ends = audience.listen(Whose::Ends);
        let mut all = audience.listen(Whose::All);
        audience.tell(delta("b"));
        audience.tell(delta("agent:other:client:ada:x"));
        audience.tell(delta("agent:main:client:adam:x"));
        audience.tell(delta("a"));
        audience.tell(event("b", What::Stopped));
        assert_eq!(one.next().await.unwrap().session, key("a"));
        let heard = ada.next().await.unwrap();
        assert_eq!(heard.session, key("agent:other:client:ada:x"));
        assert_eq!(ends.next().await.unwrap().what, What::Stopped);
        for listener in [&one, &ada, &ends] {
            assert!(listener.is_empty());
        }
        for _ in 0..5 {
            all.next().await.unwrap();
        }
        assert!(all.is_empty());
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_that_it_missed_something_and_nobody_else_is() {
        let audience = Audience::default();
        let mut slow = audience.listen(Whose::Session(&key("a")));
        let mut other = audience.listen(Whose::Session(&key("b")));
        audience.tell(delta("b"));
        for _ in 0..=OF_ONE {
            audience.tell(delta("a"));
        }
        assert_eq!(slow.next().await, Err(Missed(1)));
        assert!(slow.next().await.is_ok(), "it goes on with what is left");
        assert!(other.next().await.is_ok());
        assert!(other.is_empty(), "the noise of another session is not its");
    }

    #[test]
    fn nothing_is_kept_for_those_who_left() {
        let audience = Audience::default();
        let first = audience.listen(Whose::Session(&key("a")));
        let second = audience.listen(Whose::Session(&key("a")));
        let group = audience.listen(Whose::Group("client:ada:"));
        assert_eq!(audience.parts(), 2);
        drop(first);
        assert_eq!(audience.parts(), 2, "one is still there");
        drop((second, group));
        assert_eq!(audience.parts(), 0);
        audience.tell(delta("a"));
    }
}
