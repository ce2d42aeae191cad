//! What people and channels are called, remembered for a while.

use std::time::Duration;

use manyhands_core::PeerKind;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Slack;
use crate::recent::Recent;

/// How many people are remembered.
const PEOPLE: usize = 4_096;
/// How many channels are remembered.
const CHANNELS: usize = 1_024;
/// How long a name is good.
const GOOD: Duration = Duration::from_secs(3_600);
/// How long one does not ask again after Slack did not tell.
const UNTOLD: Duration = Duration::from_secs(60);
/// How many names may wait to be asked for.
const WAITING: usize = 256;
/// How long a message may wait for names: Slack wants to hear within three seconds that it arrived.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How many names one message may ask for.
const PER_MESSAGE: usize = 8;

/// Somebody in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// What they are called.
    pub(super) name: Option<String>,
    /// Their handle.
    pub(super) handle: Option<String>,
    /// Whether it is a program.
    pub(super) bot: bool,
}

/// A channel, group or direct chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Its name.
    pub(super) name: Option<String>,
    /// What kind, where it is known.
    pub(super) kind: Option<PeerKind>,
}

/// What one would like to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Somebody, by id.
    Person(String),
    /// A channel, by id.
    Room(String),
}

/// What is remembered, and until when.
#[derive(Debug, Clone)]
struct Kept<T> {
    what: T,
    until: Instant,
}

/// Names, remembered for a while.
pub(super) struct Names {
    people: Recent<Kept<Person>>,
    rooms: Recent<Kept<Room>>,
    wanted: mpsc::Sender<Wanted>,
    waiting: Mutex<mpsc::Receiver<Wanted>>,
}

impl Default for Names {
    fn default() -> Self {
        let (wanted, waiting) = mpsc::channel(WAITING);
        Self {
            people: Recent::new(PEOPLE),
            rooms: Recent::new(CHANNELS),
            wanted,
            waiting: Mutex::new(waiting),
        }
    }
}

impl Names {
    /// Somebody, as far as it is known; what is a little old is better than nothing.
    pub(super) fn person(&self, id: &str) -> Person {
        self.people
            .get(id)
            .map(|kept| kept.what)
            .unwrap_or_default()
    }

    /// A channel, as far as it is known.
    pub(super) fn room(&self, id: &str) -> Room {
        self.rooms.get(id).map(|kept| kept.what).unwrap_or_default()
    }

    /// Whether it must be asked for.
    fn lacks(&self, wanted: &Wanted) -> bool {
        let until = match wanted {
            Wanted::Person(id) => self.people.get(id).map(|kept| kept.until),
            Wanted::Room(id) => self.rooms.get(id).map(|kept| kept.until),
        };
        until.is_none_or(|until| until <= Instant::now())
    }

    /// Asks for names when there is time; where too many wait already, the next message asks again.
    pub(super) fn ask(&self, wanted: Vec<Wanted>) {
        for one in wanted.into_iter().take(PER_MESSAGE) {
            if self.lacks(&one) {
                let _ = self.wanted.try_send(one);
            }
        }
    }
}

impl Slack {
    /// Learns names before a message is read, without keeping it waiting for long.
    pub(super) async fn learn(&self, wanted: Vec<Wanted>) {
        let all = async {
            for one in wanted.iter().take(PER_MESSAGE) {
                if self.names.lacks(one) {
                    self.look_up(one).await;
                }
            }
        };
        // Whoever is not told in time goes by their id.
        let _ = timeout(PATIENCE, all).await;
    }

    /// Looks up the names that hooks asked for, until it is stopped.
    pub(super) async fn look_up_wanted(&self, stop: &CancellationToken) {
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

    async fn look_up(&self, wanted: &Wanted) {
        match wanted {
            Wanted::Person(id) => {
                let told = self.get("users.info", &[("user", id)]).await;
                let told = told.ok().map(|said| person(&said["user"]));
                let kept = keep(told, self.names.person(id));
                self.names.people.put(id, kept);
            }
            Wanted::Room(id) => {
                let told = self.get("conversations.info", &[("channel", id)]).await;
                let told = told.ok().map(|said| room(&said["channel"]));
                let kept = keep(told, self.names.room(id));
                self.names.rooms.put(id, kept);
            }
        }
    }
}

/// What is remembered after one asked: what was told, else what was known before.
fn keep<T>(told: Option<T>, before: T) -> Kept<T> {
    let (what, good) = match told {
        Some(told) => (told, GOOD),
        None => (before, UNTOLD),
    };
    Kept {
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

fn room(channel: &Value) -> Room {
    let is = |name: &str| channel[name].as_bool().unwrap_or(false);
    let kind = if is("is_im") {
        PeerKind::Dm
    } else if is("is_mpim") {
        PeerKind::Group
    } else {
        PeerKind::Channel
    };
    let name = channel["name"].as_str().filter(|_| kind != PeerKind::Dm);
    Room {
        name: name.map(|name| name.chars().take(200).collect()),
        kind: Some(kind),
    }
}
