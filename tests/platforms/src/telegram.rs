//! A Telegram that checks what it is told.

mod answers;
mod form;
mod html;
mod published;
mod updates;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::Journal;
use crate::hub::{self, Asked, Fault, Faults, Platform, Told, Watcher};

pub use html::visible;

/// A Telegram on loopback. Clones are the same.
#[derive(Clone)]
pub struct Telegram {
    inner: Arc<Inner>,
    /// Where it is.
    pub url: String,
}

struct Inner {
    journal: Journal,
    faults: Faults,
    state: Mutex<State>,
    /// Counts what may end the wait of a long poll.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    next_update: i64,
    next_message: i64,
    updates: VecDeque<Value>,
    allowed: Option<Vec<String>>,
    /// The poll that waits, by its number.
    poll: u64,
    webhook: Option<Value>,
    webhook_error: Option<(i64, String)>,
    /// The kind of each chat that is known.
    chats: HashMap<i64, String>,
    topics: HashSet<(i64, i64)>,
    blocked: HashSet<i64>,
    moved: HashMap<i64, i64>,
    files: HashMap<String, (String, Bytes)>,
    /// What stands in chats.
    messages: BTreeMap<(i64, i64), Value>,
    reactions: BTreeMap<(i64, i64), Vec<String>>,
    queries: HashSet<String>,
    limits: bool,
    last: HashMap<i64, Instant>,
}

impl Telegram {
    /// The token that is good.
    pub const TOKEN: &'static str = "77:AAH-fake_token-of-a_bot0123456789";
    /// Who the bot is.
    pub const BOT: i64 = 77;
    /// Its handle.
    pub const HANDLE: &'static str = "hands_bot";

    /// Starts one.
    pub async fn start() -> Self {
        let inner = Arc::new(Inner {
            journal: Journal::default(),
            faults: Faults::default(),
            state: Mutex::new(State {
                next_update: 1_000,
                next_message: 1,
                ..State::default()
            }),
            news: watch::Sender::new(0),
        });
        let url = hub::listen(inner.clone()).await;
        Self { inner, url }
    }

    /// Every request.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// The next request of this method (or for a file whose path ends so) goes wrong.
    pub fn fail(&self, method: &str, fault: Fault) {
        self.inner.faults.plan(method, fault);
    }

    /// Has somebody look at every request, who may also hold it for ever.
    pub fn watch(&self, watcher: Watcher) {
        self.inner.faults.watch(watcher);
    }

    /// An answer that refuses, as Telegram writes it.
    pub fn refusal(code: u16, description: &str, parameters: Value) -> Fault {
        Fault::answer(
            code,
            answers::refusal(code, description, parameters).to_string(),
        )
    }

    /// Makes a chat known: `private`, `group`, `supergroup` or `channel`.
    pub fn chat(&self, id: i64, kind: &str) {
        self.inner.state().chats.insert(id, kind.to_owned());
    }

    /// Nobody there takes what the bot writes.
    pub fn block(&self, chat: i64) {
        self.inner.state().blocked.insert(chat);
    }

    /// They take it again.
    pub fn unblock(&self, chat: i64) {
        self.inner.state().blocked.remove(&chat);
    }

    /// A group becomes a supergroup under another id.
    pub fn move_chat(&self, from: i64, to: i64) {
        let mut state = self.inner.state();
        state.moved.insert(from, to);
        state.chats.insert(to, "supergroup".to_owned());
    }

    /// Puts a file where it can be asked for.
    pub fn keep_file(&self, id: &str, path: &str, bytes: impl Into<Bytes>) {
        let file = (path.to_owned(), bytes.into());
        self.inner.state().files.insert(id.to_owned(), file);
    }

    /// From now on more than one message a second to a chat is too much.
    pub fn limit_rates(&self) {
        self.inner.state().limits = true;
    }

    /// What the bot wrote that stands in chats, by chat and number.
    pub fn written(&self) -> Vec<Value> {
        let state = self.inner.state();
        let ours = state.messages.values();
        let ours = ours.filter(|message| message["from"]["id"] == Self::BOT);
        ours.cloned().collect()
    }

    /// The reactions of the bot to a message.
    pub fn reactions(&self, chat: i64, message: i64) -> Vec<String> {
        let state = self.inner.state();
        state
            .reactions
            .get(&(chat, message))
            .cloned()
            .unwrap_or_default()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform for Inner {
    const NAME: &'static str = "telegram";

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn named(&self, path: &str) -> String {
        // What stands between `/bot` and the next slash is the token.
        match path.strip_prefix("/file/bot") {
            Some(rest) => format!("/file/{}", after(rest)),
            None => format!("/{}", after(path.strip_prefix("/bot").unwrap_or(path))),
        }
    }

    fn fields(&self, asked: &Asked) -> Value {
        let Ok(mut form) = form::read(asked) else {
            return json!(String::from_utf8_lossy(&asked.body));
        };
        let method = asked.path.rsplit('/').next().unwrap_or("");
        if let Some(known) = published::fields(method) {
            let _ = form::check(method, &mut form, known);
        }
        form::shown(&form)
    }

    fn hold<'a>(
        &'a self,
        asked: &'a Asked,
    ) -> Pin<Box<dyn Future<Output = Option<Told>> + Send + 'a>> {
        Box::pin(self.wait(asked))
    }

    fn answer(&self, asked: &Asked) -> Told {
        // Some write the colon of the token so.
        let path = asked.path.replace("%3A", ":");
        if let Some(rest) = path.strip_prefix("/file/bot") {
            return self.file(asked, rest);
        }
        let Some((token, method)) = path
            .strip_prefix("/bot")
            .and_then(|rest| rest.split_once('/'))
        else {
            return answers::refused(404, "Not Found");
        };
        if token != Telegram::TOKEN {
            return answers::refused(401, "Unauthorized");
        }
        let Some(known) = published::fields(method) else {
            return answers::refused(404, "Not Found: method not found");
        };
        let read = form::read(asked).map_err(str::to_owned);
        let checked = read.and_then(|mut form| {
            form::check(method, &mut form, known)?;
            Ok(form)
        });
        match checked {
            Ok(form) => self.call(method, &form),
            Err(why) => answers::refused(400, &why),
        }
    }
}

fn after(rest: &str) -> &str {
    rest.split_once('/').map_or(rest, |(_, name)| name)
}
