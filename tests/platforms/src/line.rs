//! A LINE that checks what it is told.

mod checks;
mod webhook;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Journal;
use crate::hub::{self, Asked, Fault, Faults, Platform, Told, Watcher};

pub use webhook::Event;

/// A LINE on loopback. Clones are the same.
#[derive(Clone)]
pub struct Line {
    inner: Arc<Inner>,
    /// Where it is: both its interface and its files.
    pub url: String,
}

struct Inner {
    token: String,
    secret: String,
    journal: Journal,
    faults: Faults,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Tokens that can be used once.
    replies: HashSet<String>,
    /// What was accepted by retry key.
    accepted: HashMap<String, Value>,
    /// Chats that cannot be written to.
    blocked: HashSet<String>,
    files: HashMap<String, File>,
    names: HashMap<String, String>,
    webhook: Option<(String, bool)>,
    /// What arrived in chats, in order.
    arrived: Vec<(String, Value)>,
    reply_chats: HashMap<String, String>,
    asked_for_names: usize,
}

struct File {
    bytes: Bytes,
    /// How often it is still said to be in preparation.
    pending: usize,
}

impl Line {
    /// Who we are there.
    pub const BOT: &'static str = "U00000000000000000000000000000b07";

    /// Starts one that takes this token and signs with this secret.
    pub async fn start(token: &str, secret: &str) -> Self {
        let inner = Arc::new(Inner {
            token: token.to_owned(),
            secret: secret.to_owned(),
            journal: Journal::default(),
            faults: Faults::default(),
            state: Mutex::default(),
        });
        let url = hub::listen(inner.clone()).await;
        Self { inner, url }
    }

    /// Every request.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// The next request whose path ends so goes wrong.
    pub fn fail(&self, path: &str, fault: Fault) {
        self.inner.faults.plan(path, fault);
    }

    /// Has somebody look at every request, who may also hold it for ever.
    pub fn watch(&self, watcher: Watcher) {
        self.inner.faults.watch(watcher);
    }

    /// What arrived in chats, in order: the chat and the message.
    pub fn arrived(&self) -> Vec<(String, Value)> {
        self.inner.state().arrived.clone()
    }

    /// A token for one reply into a chat.
    pub fn reply_token(&self, chat: &str) -> String {
        let mut state = self.inner.state();
        let token = format!("{:032x}", state.number());
        state.replies.insert(token.clone());
        state.reply_chats.insert(token.clone(), chat.to_owned());
        token
    }

    /// A token is too old now.
    pub fn expire(&self, token: &str) {
        self.inner.state().replies.remove(token);
    }

    /// Somebody blocks us.
    pub fn block(&self, chat: &str) {
        self.inner.state().blocked.insert(chat.to_owned());
    }

    /// Somebody sent a file; it is in preparation for that many requests.
    pub fn keep_file(&self, id: &str, bytes: impl Into<Bytes>, pending: usize) {
        let bytes = bytes.into();
        let file = File { bytes, pending };
        self.inner.state().files.insert(id.to_owned(), file);
    }

    /// What a person or a group is called.
    pub fn call(&self, id: &str, name: &str) {
        self.inner
            .state()
            .names
            .insert(id.to_owned(), name.to_owned());
    }

    /// How often somebody's name was asked for.
    pub fn asked_for_names(&self) -> usize {
        self.inner.state().asked_for_names
    }

    /// The webhook that is set, and whether it is used.
    pub fn webhook(&self) -> Option<(String, bool)> {
        self.inner.state().webhook.clone()
    }

    /// Sets the webhook as its owner does in the console.
    pub fn set_webhook(&self, url: &str, active: bool) {
        self.inner.state().webhook = Some((url.to_owned(), active));
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, path: &[&str]) -> Told {
        let mut state = self.state();
        let mut named = |id: &str, field: &str| {
            state.asked_for_names += 1;
            match state.names.get(id) {
                Some(name) => Told::json(200, &json!({"userId": id, field: name})),
                None => error(404, "Not found"),
            }
        };
        match path {
            ["bot", "info"] => Told::json(
                200,
                &json!({
                    "userId": Line::BOT,
                    "basicId": "@216ruabc",
                    "displayName": "Manyhands",
                    "chatMode": "bot",
                    "markAsReadMode": "auto",
                }),
            ),
            ["bot", "profile", user] => named(user, "displayName"),
            ["bot", "group" | "room", _, "member", user] => named(user, "displayName"),
            ["bot", "group", group, "summary"] => named(group, "groupName"),
            ["bot", "message", id, "content"] => match state.files.get_mut(*id) {
                Some(file) if file.pending > 0 => {
                    file.pending -= 1;
                    Told::json(202, &json!({}))
                }
                Some(file) => Told {
                    content_type: "application/octet-stream".to_owned(),
                    body: file.bytes.clone(),
                    ..Told::json(200, &Value::Null)
                },
                None => error(404, "Not found"),
            },
            ["bot", "channel", "webhook", "endpoint"] => match &state.webhook {
                Some((url, active)) => Told::json(200, &json!({"endpoint": url, "active": active})),
                None => error(404, "Not found"),
            },
            _ => error(404, "Not found"),
        }
    }

    fn reply(&self, asked: &Asked, body: &Value) -> Told {
        if asked.headers.contains_key("x-line-retry-key") {
            return error(400, "The retry key is not supported by this API");
        }
        if let Err(problem) = checks::messages(body, &["replyToken", "messages"]) {
            return problem;
        }
        let Some(token) = body["replyToken"].as_str() else {
            return checks::problem("replyToken", "May not be empty");
        };
        let mut state = self.state();
        if !state.replies.remove(token) {
            return error(400, "Invalid reply token");
        }
        let chat = state.reply_chats.remove(token).unwrap_or_default();
        Told::json(200, &state.arrive(&chat, body))
    }

    fn push(&self, asked: &Asked, body: &Value) -> Told {
        if let Err(problem) = checks::messages(body, &["to", "messages"]) {
            return problem;
        }
        let to = body["to"].as_str().unwrap_or_default();
        if !checks::is_chat(to) {
            return error(
                400,
                "The property, 'to', in the request body is invalid (line: -, column: -)",
            );
        }
        let key = asked.header("x-line-retry-key");
        if !key.is_empty() && uuid::Uuid::parse_str(key).is_err() {
            return error(400, "The retry key is invalid");
        }
        let mut state = self.state();
        if let Some(before) = state.accepted.get(key) {
            let mut said = json!({"message": "The retry key is already accepted"});
            said["sentMessages"] = before["sentMessages"].clone();
            let mut told = Told::json(409, &said);
            told.headers = vec![("x-line-accepted-request-id", "first".to_owned())];
            return told;
        }
        if state.blocked.contains(to) {
            return error(400, "Failed to send messages");
        }
        let sent = state.arrive(to, body);
        if !key.is_empty() {
            state.accepted.insert(key.to_owned(), sent.clone());
        }
        Told::json(200, &sent)
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn arrive(&mut self, chat: &str, body: &Value) -> Value {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let mut sent = Vec::new();
        for message in messages {
            let id = (460_000_000_000_000_000 + self.number()).to_string();
            sent.push(json!({"id": id, "quoteToken": format!("q{id}")}));
            self.arrived.push((chat.to_owned(), message));
        }
        json!({"sentMessages": sent})
    }
}

impl Platform for Inner {
    const NAME: &'static str = "line";

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn named(&self, path: &str) -> String {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match parts[..] {
            ["v2", "bot", "profile", _] => "/v2/bot/profile/{userId}".to_owned(),
            ["v2", "bot", "group", _, "summary"] => "/v2/bot/group/{groupId}/summary".to_owned(),
            ["v2", "bot", kind @ ("group" | "room"), _, "member", _] => {
                format!("/v2/bot/{kind}/{{{kind}Id}}/member/{{userId}}")
            }
            ["v2", "bot", "message", _, "content"] => {
                "/v2/bot/message/{messageId}/content".to_owned()
            }
            _ => path.to_owned(),
        }
    }

    fn answer(&self, asked: &Asked) -> Told {
        if asked.bearer() != self.token {
            let words = "Authentication failed. Confirm that the access token in the authorization \
                         header is valid.";
            return error(401, words);
        }
        let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
        let ["v2", path @ ..] = &parts[..] else {
            return error(404, "Not found");
        };
        if asked.method == "GET" {
            return self.get(path);
        }
        if !asked.header("content-type").starts_with("application/json") {
            return error(415, "Unsupported Media Type");
        }
        let Some(body) = asked.json().filter(Value::is_object) else {
            return error(400, "The request body could not be parsed as JSON");
        };
        match (asked.method.as_str(), path) {
            ("POST", ["bot", "message", "reply"]) => self.reply(asked, &body),
            ("POST", ["bot", "message", "push"]) => self.push(asked, &body),
            ("POST", ["bot", "chat", "loading", "start"]) => checks::loading(&body),
            ("PUT", ["bot", "channel", "webhook", "endpoint"]) => {
                let url = body["endpoint"].as_str().unwrap_or_default();
                if !url.starts_with("https://") || url.len() > 500 {
                    return error(400, "Invalid webhook endpoint URL");
                }
                let mut state = self.state();
                let active = state.webhook.as_ref().is_none_or(|(_, active)| *active);
                state.webhook = Some((url.to_owned(), active));
                Told::json(200, &json!({}))
            }
            _ => error(405, "Method Not Allowed"),
        }
    }
}

/// A refusal as LINE writes it.
fn error(status: u16, message: &str) -> Told {
    Told::json(status, &json!({"message": message}))
}
