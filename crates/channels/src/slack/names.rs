//! A cache of people's and channels' names.

use std::time::Duration;

use manyhands_core::PeerKind;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Slack;
use crate::recent::RecentMap;

/// Maximum people cached.
const PEOPLE: usize = 4_096;
/// Maximum channels cached.
const CHANNELS: usize = 1_024;
/// Validity of a name.
const VALID_FOR: Duration = Duration::from_secs(3_600);
/// Delay before asking again after a failed lookup.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Maximum pending lookups.
const WAITING: usize = 256;
/// How long a message waits for names: Slack expects an acknowledgement within three seconds.
const LOOKUP_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Maximum lookups per message.
const PER_MESSAGE: usize = 8;

/// A member of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// Their display name.
    pub(super) name: Option<String>,
    /// Their handle.
    pub(super) handle: Option<String>,
    /// Whether it is a bot.
    pub(super) bot: bool,
}

/// A channel, group or direct chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// Its name.
    pub(super) name: Option<String>,
    /// Its kind, if known.
    pub(super) kind: Option<PeerKind>,
}

/// A lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameLookup {
    /// A person, by id.
    Person(String),
    /// A channel, by id.
    Room(String),
}

/// A cached value and its expiry.
#[derive(Debug, Clone)]
struct CachedName<T> {
    what: T,
    until: Instant,
}

/// The name cache.
pub(super) struct NameCache {
    people: RecentMap<CachedName<Person>>,
    rooms: RecentMap<CachedName<Conversation>>,
    wanted: mpsc::Sender<NameLookup>,
    waiting: Mutex<mpsc::Receiver<NameLookup>>,
}

impl Default for NameCache {
    fn default() -> Self {
        let (wanted, waiting) = mpsc::channel(WAITING);
        Self {
            people: RecentMap::new(PEOPLE),
            rooms: RecentMap::new(CHANNELS),
            wanted,
            waiting: Mutex::new(waiting),
        }
    }
}

impl NameCache {
    /// A person, as far as known; a stale name is better than none.
    pub(super) fn person(&self, id: &str) -> Person {
        self.people
            .get(id)
            .map(|kept| kept.what)
            .unwrap_or_default()
    }

    /// A channel, as far as known.
    pub(super) fn room(&self, id: &str) -> Conversation {
        self.rooms.get(id).map(|kept| kept.what).unwrap_or_default()
    }

    /// Whether a lookup is needed.
    fn lacks(&self, wanted: &NameLookup) -> bool {
        let until = match wanted {
            NameLookup::Person(id) => self.people.get(id).map(|kept| kept.until),
            NameLookup::Room(id) => self.rooms.get(id).map(|kept| kept.until),
        };
        until.is_none_or(|until| until <= Instant::now())
    }

    /// Queues lookups; if the queue is full, the next message tries again.
    pub(super) fn ask(&self, wanted: Vec<NameLookup>) {
        for one in wanted.into_iter().take(PER_MESSAGE) {
            if self.lacks(&one) {
                // A webhook must be answered at once; names arrive in the background.
                let _ = self.wanted.try_send(one);
            }
        }
    }
}

impl Slack {
    /// Looks names up before a message is converted, within a time limit.
    pub(super) async fn learn(&self, wanted: Vec<NameLookup>) {
        let all = async {
            for one in wanted.iter().take(PER_MESSAGE) {
                if self.names.lacks(one) {
                    self.look_up(one).await;
                }
            }
        };
        // Names that do not arrive in time are shown as ids.
        let _ = timeout(LOOKUP_TIMEOUT, all).await;
    }

    /// Performs queued lookups until it is stopped.
    pub(super) async fn look_up_wanted(&self, stop: &CancellationToken) {
        // One worker at a time: after a reconnect the previous one may still be finishing.
        let mut waiting = self.names.waiting.lock().await;
        let all = async {
            while let Some(one) = waiting.recv().await {
                if self.names.lacks(&one) {
                    self.look_up(&one).await;
                }
            }
        };
        let _ = stop.run_until_cancelled(all).await;
    }

    async fn look_up(&self, wanted: &NameLookup) {
        match wanted {
            NameLookup::Person(id) => {
                let fetched = self.get("users.info", &[("user", id)]).await;
                let fetched = fetched.ok().map(|said| person(&said["user"]));
                let kept = keep(fetched, self.names.person(id));
                self.names.people.put(id, kept);
            }
            NameLookup::Room(id) => {
                let fetched = self.get("conversations.info", &[("channel", id)]).await;
                let fetched = fetched.ok().map(|said| room(&said["channel"]));
                let kept = keep(fetched, self.names.room(id));
                self.names.rooms.put(id, kept);
            }
        }
    }
}

/// The cache entry after a lookup: the new value, otherwise the old one.
fn keep<T>(fetched: Option<T>, before: T) -> CachedName<T> {
    let (what, good) = match fetched {
        Some(fetched) => (fetched, VALID_FOR),
        // Kept for a short time too, so that a failing lookup is not repeated with each message.
        None => (before, RETRY_AFTER),
    };
    CachedName {
        what,
        until: Instant::now() + good,
    }
}

fn person(user: &Value) -> Person {
    let word = |value: &Value| {
        let word = value
            .as_str()
            .map(str::trim)
            .filter(|word| !word.is_empty());
        word.map(|word| word.chars().take(200).collect::<String>())
    };
    let profile = &user["profile"];
    Person {
        name: word(&profile["display_name"])
            .or_else(|| word(&profile["real_name"]))
            .or_else(|| word(&user["real_name"]))
            .or_else(|| word(&user["name"])),
        handle: word(&user["name"]),
        bot: user["is_bot"].as_bool().unwrap_or(false),
    }
}

fn room(channel: &Value) -> Conversation {
    let is = |name: &str| channel[name].as_bool().unwrap_or(false);
    let kind = if is("is_im") {
        PeerKind::Dm
    } else if is("is_mpim") {
        PeerKind::Group
    } else {
        PeerKind::Channel
    };
    let name = channel["name"].as_str().filter(|_| kind != PeerKind::Dm);
    Conversation {
        name: name.map(|name| name.chars().take(200).collect()),
        kind: Some(kind),
    }
}
