//! A gateway, the fakes that it talks to, and what a test looks at.

use manyhands_platforms::Journal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::{Gateway, Home, eventually};
use crate::http::{PATIENCE, Request};
use crate::sql::Sql;

/// What every script knows.
const TALK: &str = r#"
  - when: { user: hello }
    text: "**Good** morning, _dear_ [friend](https://a.test/x)."
"#;

/// Rules by which the owner is asked before a file is written.
pub const ASK: &str = r#"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
reason = "writing needs a nod"
"#;

/// Turns in which a file is written.
pub const WRITE: &str = r#"
  - when: { user: write it }
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
"#;

/// Threads on which fakes live. They outlast the gateway.
pub fn threads() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime")
}

/// A gateway that talks to fakes.
pub struct Scene {
    /// Before the threads, so that it goes while its platforms are still there.
    pub gateway: Gateway,
    pub threads: Runtime,
}

impl Scene {
    /// A gateway whose model plays these turns, and then some small talk.
    #[track_caller]
    pub fn new(threads: Runtime, settings: &str, turns: &str) -> Self {
        let home = Home::new();
        script(&home, turns);
        let file = home.outside("script.yaml");
        let config = format!(
            "{settings}\n[egress]\nallow_private = [\"127.0.0.0/8\"]\n[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {file:?}\n"
        );
        let gateway = Gateway::on(home.with_config(&config));
        Self { gateway, threads }
    }

    /// Keeps the secrets that an account waits for, by the names that the settings give them.
    #[track_caller]
    pub fn use_account(&self, channel: &str, account: &str, secrets: &[(&str, &str)]) {
        for (name, value) in secrets {
            let path = format!("/api/secrets/{name}");
            let put = Request::new("PUT", &path).json(&json!({ "value": value }));
            let kept = self.gateway.send(&put.bearer(&self.gateway.owner));
            assert_eq!(kept.status, 200, "{}", kept.text());
        }
        self.connected(channel, account);
    }

    /// Waits until an account hears.
    #[track_caller]
    pub fn connected(&self, channel: &str, account: &str) {
        eventually("a connected account", || {
            self.account(channel, account)["state"] == "connected"
        });
    }

    /// An account as its owner sees it.
    #[track_caller]
    pub fn account(&self, channel: &str, account: &str) -> Value {
        let listed = self.gateway.get("/api/channels").json();
        let all = listed["result"]["channels"].as_array().expect("accounts");
        let is = |one: &&Value| one["channel"] == channel && one["accountId"] == account;
        all.iter().find(is).cloned().unwrap_or_default()
    }

    /// Ends the gateway with kill -9, and starts it again with other turns.
    #[track_caller]
    pub fn kill9(self, turns: &str) -> Self {
        let Self { gateway, threads } = self;
        let home = gateway.kill9();
        script(&home, turns);
        let gateway = Gateway::on(home);
        Self { gateway, threads }
    }

    /// Where a platform calls the gateway.
    pub fn hook(&self, path: &str) -> String {
        format!("http://{}/hooks/{path}", self.gateway.addr)
    }

    /// Waits for something on the fakes' side.
    #[track_caller]
    pub fn run<T>(&self, what: impl Future<Output = T>) -> T {
        let done = self
            .threads
            .block_on(async { tokio::time::timeout(PATIENCE, what).await });
        done.expect("it comes in time")
    }

    /// Waits until it holds; asked again whenever a request arrives at the fake.
    #[track_caller]
    pub fn wait(&self, journal: &Journal, what: &str, holds: impl Fn() -> bool) {
        let waited = self
            .threads
            .block_on(async { tokio::time::timeout(PATIENCE, journal.until(|_| holds())).await });
        assert!(waited.is_ok(), "never came: {what}\n{:?}", journal.all());
    }

    /// What was said in a session, with the roles.
    #[track_caller]
    pub fn said(&self, session: &str) -> Vec<(String, String)> {
        let path = format!("/api/sessions/{session}/messages?limit=500");
        let said = self.gateway.get(&path).json();
        let all = said["result"]["messages"].as_array().cloned();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let all = all.unwrap_or_default();
        all.iter()
            .map(|one| (text(one, "role"), text(one, "text")))
            .collect()
    }

    /// What people said in a session.
    #[track_caller]
    pub fn heard(&self, session: &str) -> Vec<String> {
        let said = self.said(session).into_iter();
        let users = said.filter(|(role, _)| role == "user");
        users.map(|(_, text)| text).collect()
    }

    /// The keys of all sessions.
    #[track_caller]
    pub fn sessions(&self) -> Vec<String> {
        let listed = self.gateway.get("/api/sessions?limit=500").json();
        let all = listed["result"]["sessions"].as_array().expect("sessions");
        let key = |one: &Value| one["sessionKey"].as_str().expect("a key").to_owned();
        all.iter().map(key).collect()
    }

    /// How many events are on disk.
    pub fn kept(&self) -> i64 {
        self.count("SELECT count(*) FROM inbox")
    }

    /// A number that the database gives.
    pub fn count(&self, select: &str) -> i64 {
        let mut sql = Sql::open(&self.gateway.home.path());
        let counted = sql.numbers(select)[0];
        sql.close();
        counted
    }

    /// Waits until all that was heard is worked on, and all that is to be said was tried.
    #[track_caller]
    pub fn at_rest(&self) {
        let open = "SELECT (SELECT count(*) FROM inbox WHERE state = 'new') + (SELECT count(*) FROM promise) + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
        let mut sql = Sql::open(&self.gateway.home.path());
        eventually("rest", || sql.numbers(open) == [0]);
        sql.close();
    }

    /// Waits until all that was heard is worked on, though turns may go on.
    #[track_caller]
    pub fn all_worked_on(&self) {
        let mut sql = Sql::open(&self.gateway.home.path());
        let new = "SELECT count(*) FROM inbox WHERE state = 'new'";
        eventually("an empty inbox", || sql.numbers(new) == [0]);
        sql.close();
    }

    /// What did not arrive, or was to.
    #[track_caller]
    pub fn outbox(&self, state: &str) -> Vec<Value> {
        let said = self
            .gateway
            .get(&format!("/api/outbox?state={state}"))
            .json();
        let all = said["result"]["messages"].as_array();
        all.unwrap_or_else(|| panic!("{said}")).clone()
    }

    /// Those who ask to be known, and those who were decided about.
    #[track_caller]
    pub fn pairs(&self) -> Vec<Value> {
        let said = self.gateway.get("/api/pairs").json();
        said["result"]["pairs"].as_array().expect("pairs").clone()
    }

    /// Decides about somebody.
    #[track_caller]
    pub fn approve(&self, channel: &str, who: &str, owner: bool) {
        let path = format!("/api/pairs/{channel}/{who}/approve");
        let done = self.gateway.post(&path, &json!({ "owner": owner }));
        assert_eq!(done.status, 200, "{}", done.text());
    }

    /// The approval that is waited for, if one is.
    #[track_caller]
    pub fn approvals(&self) -> Vec<Value> {
        let said = self.gateway.get("/api/approvals").json();
        let all = said["result"]["approvals"].as_array();
        all.unwrap_or_else(|| panic!("{said}")).clone()
    }
}

/// Writes the turns that the model plays.
fn script(home: &Home, turns: &str) {
    let text = format!("turns:\n{turns}\n{TALK}");
    std::fs::write(home.outside("script.yaml"), text).expect("the script");
}
