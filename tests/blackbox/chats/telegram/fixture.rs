//! A gateway with a bot, and people who write to it.

use std::sync::atomic::{AtomicI64, Ordering};

use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};

use crate::aimock::server::{Aimock, Relay};
use crate::chats::fixture::{Scene, threads};
use crate::harness::{Gateway, Home, eventually};

/// Somebody with an account at Telegram.
#[derive(Debug, Clone, Copy)]
pub struct Person {
    pub id: i64,
    name: &'static str,
    handle: &'static str,
}

/// The owner, where the settings are [`OWNED`].
pub const ADA: Person = Person {
    id: 11,
    name: "Ada",
    handle: "ada_l",
};
/// A guest there.
pub const BO: Person = Person {
    id: 22,
    name: "Bo",
    handle: "bo",
};
/// A stranger.
pub const EVE: Person = Person {
    id: 33,
    name: "Eve",
    handle: "eve",
};
/// A group.
pub const GROUP: i64 = -5;

/// Ada is the owner and Bo is a guest.
pub const OWNED: &str =
    "sessions.identity_links.owner = [\"telegram:11\"]\nchannels.telegram.allow_from = [\"22\"]\n";

/// The session of the owner.
pub const MAIN: &str = "agent:main:main";

/// A gateway that uses a bot.
pub struct Stage {
    pub scene: Scene,
    pub telegram: Telegram,
    next: AtomicI64,
}

impl Stage {
    /// A gateway that asks the bot's Telegram for updates.
    #[track_caller]
    pub fn new(settings: &str, turns: &str) -> Self {
        let stage = Self::quiet(settings, "", turns);
        stage.log_in();
        stage
    }

    /// The same, with more said of the account, and without a token yet.
    #[track_caller]
    pub fn quiet(settings: &str, account: &str, turns: &str) -> Self {
        let threads = threads();
        let telegram = threads.block_on(Telegram::start());
        let settings = format!(
            "{settings}\n{}{account}\n",
            Self::account(&telegram, "default")
        );
        Self {
            scene: Scene::new(threads, &settings, turns),
            telegram,
            next: AtomicI64::new(1_000),
        }
    }

    /// A gateway whose model is a server that nobody here wrote, and what passes on the way to it.
    #[track_caller]
    pub fn watched(settings: &str, fixtures: &Value) -> (Self, Relay, Aimock) {
        let server = Aimock::start(fixtures);
        let relay = Relay::before(server.addr);
        let threads = threads();
        let telegram = threads.block_on(Telegram::start());
        let config = format!(
            "sessions.titles = false\n{settings}\n{}[egress]\nallow_private = [\"127.0.0.0/8\"]\n[models]\ndefault = \"there/gpt-5.5\"\n[models.providers.there]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n",
            Self::account(&telegram, "default"),
            relay.url
        );
        let gateway = Gateway::on(Home::new().with_config(&config));
        let stage = Self::again(Scene { gateway, threads }, telegram);
        stage.log_in();
        (stage, relay, server)
    }

    /// A gateway that was started again.
    pub fn again(scene: Scene, telegram: Telegram) -> Self {
        Self {
            scene,
            telegram,
            next: AtomicI64::new(1_000_000),
        }
    }

    /// The settings of an account at a Telegram.
    pub fn account(telegram: &Telegram, name: &str) -> String {
        let url = &telegram.url;
        format!("[channels.telegram.accounts.{name}]\ntoken = \"vault:tg\"\napi_url = \"{url}\"\n")
    }

    /// Gives the account its token, and waits until it hears.
    #[track_caller]
    pub fn log_in(&self) {
        let secrets = [("tg", Telegram::TOKEN)];
        self.scene.use_account("telegram", "default", &secrets);
    }

    /// The number of the next message of a person; what the bot writes is numbered between them.
    fn number(&self) -> i64 {
        self.next.fetch_add(1_000, Ordering::Relaxed)
    }

    /// A message that is not yet sent.
    pub fn message(&self, from: Person, chat: i64, what: Value) -> Value {
        let number = self.number();
        let chat = match chat > 0 {
            true => json!({ "id": chat, "type": "private", "first_name": from.name }),
            false => json!({ "id": chat, "type": "supergroup", "title": "Some place" }),
        };
        let mut message = json!({
            "message_id": number,
            "date": 1_800_000_000,
            "chat": chat,
            "from": {
                "id": from.id, "is_bot": false, "first_name": from.name, "username": from.handle,
            },
        });
        for (key, value) in what.as_object().expect("fields") {
            message[key] = value.clone();
        }
        message
    }

    /// Somebody sends something; the number of the message.
    pub fn send(&self, from: Person, chat: i64, what: Value) -> i64 {
        let message = self.message(from, chat, what);
        let number = message["message_id"].as_i64().expect("a number");
        self.telegram.deliver(json!({ "message": message }));
        number
    }

    /// Somebody writes to the bot alone.
    pub fn write(&self, from: Person, text: &str) -> i64 {
        self.send(from, from.id, json!({ "text": text }))
    }

    /// Somebody calls the bot in a group.
    pub fn call(&self, from: Person, chat: i64, text: &str) -> i64 {
        self.send(from, chat, called(text))
    }

    /// Somebody presses a button of a message of the bot.
    pub fn press(&self, from: Person, message: &Value, data: &str) {
        let id = format!("press-{}", self.number());
        self.telegram.deliver(json!({ "callback_query": {
            "id": id,
            "from": {
                "id": from.id, "is_bot": false, "first_name": from.name, "username": from.handle,
            },
            "message": message,
            "chat_instance": "1",
            "data": data,
        } }));
    }

    /// Waits until all that was written has come, is worked on and answered.
    #[track_caller]
    pub fn at_rest(&self) {
        eventually("all is taken", || self.telegram.pending() == 0);
        self.scene.at_rest();
    }

    /// What the bot wrote in a chat and stands there.
    pub fn written(&self, chat: i64) -> Vec<Value> {
        let all = self.telegram.written().into_iter();
        all.filter(|message| message["chat"]["id"] == chat)
            .collect()
    }

    /// The words of it.
    pub fn texts(&self, chat: i64) -> Vec<String> {
        let text = |message: &Value| message["text"].as_str().map(str::to_owned);
        self.written(chat).iter().filter_map(text).collect()
    }

    /// Waits until the bot wrote something in a chat that holds `words`.
    #[track_caller]
    pub fn reads(&self, chat: i64, words: &str) -> Value {
        let found = || {
            let all = self.written(chat).into_iter();
            let holds = |message: &Value| {
                let text = message["text"].as_str();
                text.is_some_and(|text| text.contains(words))
            };
            all.rev().find(holds)
        };
        let what = format!("{words:?} in {chat}");
        self.scene
            .wait(self.telegram.journal(), &what, || found().is_some());
        found().expect("it is there")
    }

    /// What a question to the owner shows, and the data of its buttons.
    #[track_caller]
    pub fn asked(&self, chat: i64, tool: &str) -> (Value, String, String) {
        let message = self.reads(chat, &format!("Approval needed for {tool}"));
        let buttons = &message["reply_markup"]["inline_keyboard"][0];
        let data = |at: usize| {
            let data = buttons[at]["callback_data"].as_str();
            data.unwrap_or_else(|| panic!("{message}")).to_owned()
        };
        (message.clone(), data(0), data(1))
    }

    /// What tools gave in a session, as one text.
    #[track_caller]
    pub fn given(&self, session: &str) -> String {
        let said = self.scene.said(session).into_iter();
        let tools = said.filter(|(role, _)| role == "tool");
        tools.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }

    /// The requests of a method, as they arrived.
    pub fn requests(&self, method: &str) -> Vec<manyhands_platforms::Recorded> {
        self.telegram.journal().at(&format!("/{method}"))
    }
}

/// Words that call the bot.
pub fn called(text: &str) -> Value {
    let handle = format!("@{}", Telegram::HANDLE);
    json!({
        "text": format!("{handle} {text}"),
        "entities": [{ "type": "mention", "offset": 0, "length": handle.len() }],
    })
}

/// Turns in which the model calls a tool when it reads `word`, and then says `end`.
pub fn uses(word: &str, tool: &str, arguments: &Value, end: &str) -> String {
    format!(
        "  - when: {{ user: {word} }}\n    calls: [{{ name: {tool}, arguments: {arguments} }}]\n  - when: {{ user: {word}, result_of: {tool} }}\n    text: {end}\n"
    )
}
