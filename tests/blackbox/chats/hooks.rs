//! Webhooks of every platform that has them: told often, at once and across a crash it is one turn
//! and one answer; what is not signed is refused and leaves nothing behind.

use std::sync::atomic::{AtomicI64, Ordering};

use manyhands_platforms::line::Line;
use manyhands_platforms::slack::{BOT_TOKEN, SIGNING_SECRET, Slack};
use manyhands_platforms::telegram::Telegram;
use manyhands_platforms::whatsapp::WhatsApp;
use serde_json::{Value, json};

use super::fixture::{ASK, Scene, WRITE, threads};
use super::line::{line, use_line};
use super::whatsapp::{VERIFY, use_whatsapp, whatsapp};
use crate::http::{Request, Response};

const TELEGRAM_SECRET: &str = "canary_telegram_secret";
const ADA_LINE: &str = "Uada00000000000000000000000000aaa";
const EVE_LINE: &str = "Ueee00000000000000000000000000eee";

/// A request as a platform makes it.
#[derive(Clone)]
struct Call {
    path: &'static str,
    headers: Vec<(String, String)>,
    body: String,
}

impl Call {
    fn new(path: &'static str, headers: &[(&str, String)], body: String) -> Self {
        let owned = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        Self {
            path,
            headers: headers.iter().map(owned).collect(),
            body,
        }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    fn request(&self) -> Request {
        let mut request = Request::new("POST", &format!("/hooks/{}", self.path))
            .body(self.body.clone().into_bytes());
        if !self.headers.iter().any(|(name, _)| name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request
    }
}

/// A gateway that four platforms call.
struct Stage {
    scene: Scene,
    all: Platforms,
}

struct Platforms {
    line: Line,
    slack: Slack,
    telegram: Telegram,
    whatsapp: WhatsApp,
    updates: AtomicI64,
}

#[track_caller]
fn stage(turns: &str) -> Stage {
    stage_with("", turns)
}

#[track_caller]
fn stage_with(more: &str, turns: &str) -> Stage {
    let threads = threads();
    let (line, of_line) = line(&threads, "default");
    let (whatsapp, of_whatsapp) = whatsapp(&threads);
    let slack = threads.block_on(Slack::start());
    let telegram = threads.block_on(Telegram::start());
    telegram.chat(5, "private");
    let open: String = ["line", "slack", "telegram", "whatsapp"]
        .map(|name| format!("[channels.{name}]\ndm = \"open\"\n"))
        .concat();
    let settings = format!(
        "public_url = \"https://hands.test\"\n{more}{open}{of_line}{of_whatsapp}[channels.slack.accounts.default]\nmode = \"webhook\"\ntoken = \"vault:slack.token\"\nsecret = \"vault:slack.secret\"\napi_url = \"{}\"\n[channels.telegram.accounts.default]\nmode = \"webhook\"\ntoken = \"vault:tg.token\"\nsecret = \"vault:tg.secret\"\napi_url = \"{}\"\n",
        slack.api(),
        telegram.url
    );
    let scene = Scene::new(threads, &settings, turns);
    use_line(&scene, "default");
    use_whatsapp(&scene);
    let secrets = [("slack.token", BOT_TOKEN), ("slack.secret", SIGNING_SECRET)];
    scene.use_account("slack", "default", &secrets);
    let secrets = [
        ("tg.token", Telegram::TOKEN),
        ("tg.secret", TELEGRAM_SECRET),
    ];
    scene.use_account("telegram", "default", &secrets);
    let all = Platforms {
        line,
        slack,
        telegram,
        whatsapp,
        updates: AtomicI64::new(1_000),
    };
    Stage { scene, all }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_secs()).expect("a time")
}

impl Platforms {
    fn line(&self, text: &str) -> Call {
        let message = json!({ "type": "text", "text": text });
        let body = self
            .line
            .body(&[self.line.message(ADA_LINE, ADA_LINE, message)]);
        self.signed_line(body)
    }

    fn signed_line(&self, body: String) -> Call {
        let sign = self.line.sign(body.as_bytes());
        Call::new("line", &[("x-line-signature", sign)], body)
    }

    fn whatsapp(&self, text: &str) -> Call {
        let what = json!({ "text": { "body": text } });
        let message = self.whatsapp.message("491700000001", "text", &what);
        let body = self.whatsapp.body(&[message], &[]);
        let sign = self.whatsapp.sign(body.as_bytes());
        Call::new("whatsapp", &[("x-hub-signature-256", sign)], body)
    }

    fn slack(&self, text: &str) -> Call {
        let event = self.slack.message("D0ADA", "U0ADA", text, json!({}));
        self.signed_slack(event.to_string(), now())
    }

    fn signed_slack(&self, body: String, at: i64) -> Call {
        let headers = self.slack.signed(body.as_bytes(), at);
        Call::new("slack", &headers, body)
    }

    fn telegram(&self, text: &str) -> Call {
        let id = self.updates.fetch_add(1, Ordering::Relaxed);
        let ada = json!({ "id": 5, "is_bot": false, "first_name": "Ada" });
        let update = json!({
            "update_id": id,
            "message": {
                "message_id": id, "date": 1_700_000_000, "text": text, "from": ada,
                "chat": { "id": 5, "type": "private", "first_name": "Ada" },
            },
        });
        let secret = TELEGRAM_SECRET.to_owned();
        let header = ("x-telegram-bot-api-secret-token", secret);
        Call::new("telegram", &[header], update.to_string())
    }

    /// Somebody says this on each platform.
    fn say(&self, text: &str) -> [Call; 4] {
        [
            self.line(text),
            self.slack(text),
            self.telegram(text),
            self.whatsapp(text),
        ]
    }

    /// How often something was answered with these words: on LINE, Slack, Telegram and WhatsApp.
    fn answers(&self, words: &str) -> [usize; 4] {
        let count = |texts: Vec<String>| texts.iter().filter(|one| one.contains(words)).count();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = self.line.arrived().into_iter();
        let slack = self.slack.posted().into_iter();
        let telegram = self.telegram.written().into_iter();
        let whatsapp = self.whatsapp.arrived().into_iter();
        [
            count(line.map(|(_, one)| text(&one["text"])).collect()),
            count(slack.map(|one| one.text).collect()),
            count(telegram.map(|one| text(&one["text"])).collect()),
            count(whatsapp.map(|one| text(&one["text"]["body"])).collect()),
        ]
    }
}

impl Stage {
    #[track_caller]
    fn send(&self, call: &Call) -> Response {
        self.scene.gateway.send(&call.request())
    }

    /// Sends all of them at the same time, and expects that each is heard.
    #[track_caller]
    fn send_at_once(&self, calls: &[Call]) {
        let address = self.scene.gateway.addr;
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let each = calls.iter().map(|call| {
                let request = call.request();
                scope.spawn(move || request.send(address).status)
            });
            let each: Vec<_> = each.collect();
            each.into_iter()
                .map(|one| one.join().expect("an answer"))
                .collect()
        });
        assert!(statuses.iter().all(|one| *one == 200), "{statuses:?}");
    }

    /// Ends the gateway with kill -9, and starts it again with other turns.
    #[track_caller]
    fn kill9(self, turns: &str) -> Self {
        let Self { scene, all } = self;
        let scene = scene.kill9(turns);
        for name in ["line", "slack", "telegram", "whatsapp"] {
            scene.connected(name, "default");
        }
        Self { scene, all }
    }

    /// How often people said this, in all sessions.
    fn heard(&self, text: &str) -> usize {
        let sessions = self.scene.sessions();
        let all = sessions.iter().flat_map(|key| self.scene.heard(key));
        all.filter(|said| said.contains(text)).count()
    }
}

#[test]
fn the_same_webhook_is_one_turn_and_one_answer_however_often_it_comes() {
    let stage = stage("");
    for call in stage.all.say("hello in turn") {
        for number in 0..5 {
            // Slack says which try it is; what counts is the event.
            let call = call.clone().with("x-slack-retry-num", &number.to_string());
            assert_eq!(stage.send(&call).status, 200, "{}", call.path);
        }
    }
    stage.scene.at_rest();
    assert_eq!(stage.all.answers("morning"), [1; 4]);
    assert_eq!(stage.heard("hello in turn"), 4);
    let at_once: Vec<Call> = stage
        .all
        .say("hello at once")
        .into_iter()
        .flat_map(|call| vec![call; 5])
        .collect();
    stage.send_at_once(&at_once);
    stage.scene.at_rest();
    // Told again after it was answered, it is still the same.
    stage.send_at_once(&at_once);
    stage.scene.at_rest();
    assert_eq!(stage.all.answers("morning"), [2; 4]);
    assert_eq!(stage.heard("hello at once"), 4);
    assert_eq!(stage.scene.kept(), 8);
}

#[test]
fn a_crash_amid_a_turn_neither_loses_nor_doubles_it() {
    let stalls = "  - when: { user: think hard }\n    delay_ms: 600000\n    text: Never.\n";
    let stage = stage(stalls);
    let calls = stage.all.say("think hard");
    stage.send_at_once(&calls);
    crate::harness::eventually("all are being answered", || stage.heard("think hard") == 4);
    let thinks = "  - when: { user: think hard }\n    text: Thought.\n";
    let stage = stage.kill9(thinks);
    // The platforms may not know that they were heard.
    stage.send_at_once(&calls);
    stage.scene.at_rest();
    assert_eq!(stage.all.answers("Thought."), [1; 4]);
    assert_eq!(stage.heard("think hard"), 4);
    assert_eq!(stage.scene.kept(), 4);
}

#[test]
fn an_acknowledged_webhook_is_answered_after_a_crash() {
    let mut stage = stage("");
    for round in 0..3 {
        let calls = stage.all.say(&format!("hello round {round}"));
        stage.send_at_once(&calls);
        stage = stage.kill9("");
        stage.send_at_once(&calls);
        stage.scene.at_rest();
        assert_eq!(stage.heard(&format!("hello round {round}")), 4);
    }
    assert_eq!(stage.scene.kept(), 12);
    // An answer that was on its way may have come twice, and says so; none is missing.
    let answers = stage.all.answers("morning");
    assert!(answers.iter().all(|count| *count >= 3), "{answers:?}");
    assert!(stage.scene.outbox("failed").is_empty());
}

/// The same JSON in other bytes.
fn reserialised(body: &str) -> String {
    let value: Value = serde_json::from_str(body).expect("JSON");
    serde_json::to_string_pretty(&value).expect("JSON")
}

#[test]
fn an_unsigned_webhook_is_refused_and_leaves_nothing() {
    let stage = stage("");
    let all = &stage.all;
    let changed = |mut call: Call| {
        call.body = call.body.replace("hello", "hullo");
        call
    };
    let other = |mut call: Call| {
        call.body = reserialised(&call.body);
        call
    };
    let (line, hub, slack) = (
        "x-line-signature",
        "x-hub-signature-256",
        "x-slack-signature",
    );
    let (stamp, secret) = (
        "x-slack-request-timestamp",
        "x-telegram-bot-api-secret-token",
    );
    let aged = |seconds: i64| {
        let call = all.slack("hello");
        all.signed_slack(call.body, now() + seconds)
    };
    let foreign_line = {
        let call = all.line("hello");
        let other = stage
            .scene
            .threads
            .block_on(Line::start("t", "another secret"));
        let sign = other.sign(call.body.as_bytes());
        call.with(line, &sign)
    };
    let unsigned_at = {
        // Signed for one time and sent with another.
        let call = all.slack("hello");
        call.with(stamp, &(now() - 1).to_string())
    };
    let refused = [
        ("another secret", foreign_line),
        ("a changed body", changed(all.line("hello"))),
        ("a re-serialised body", other(all.line("hello"))),
        ("no signature", all.line("hello").without(line)),
        ("an empty signature", all.line("hello").with(line, "")),
        ("no base64", all.line("hello").with(line, "%%%")),
        ("a changed body", changed(all.whatsapp("hello"))),
        ("a re-serialised body", other(all.whatsapp("hello"))),
        ("no signature", all.whatsapp("hello").without(hub)),
        ("too short", all.whatsapp("hello").with(hub, "sha256=00")),
        ("SHA-1", all.whatsapp("hello").with(hub, "sha1=00")),
        ("a changed body", changed(all.slack("hello"))),
        ("a re-serialised body", other(all.slack("hello"))),
        ("no signature", all.slack("hello").without(slack)),
        ("no time", all.slack("hello").without(stamp)),
        ("another time", unsigned_at),
        ("too old", aged(-301)),
        ("from the future", aged(400)),
        ("another version", all.slack("hello").with(slack, "v1=00")),
        ("no secret", all.telegram("hello").without(secret)),
        (
            "another secret",
            all.telegram("hello").with(secret, "wrong"),
        ),
        ("an empty secret", all.telegram("hello").with(secret, "")),
    ];
    for (why, call) in &refused {
        let said = stage.send(call);
        assert_eq!(said.status, 401, "{}, {why}: {}", call.path, said.text());
    }
    assert_eq!(stage.scene.kept(), 0, "nothing is kept");
    assert!(stage.scene.sessions().is_empty());
    let log = stage.scene.gateway.daemon.log.text();
    assert!(!log.contains("canary"), "no secret in the log");

    // The same with what belongs to it is heard, an old time within five minutes too.
    for call in all.say("hello").into_iter().chain([aged(-290)]) {
        let said = stage.send(&call);
        assert_eq!(said.status, 200, "{}: {}", call.path, said.text());
    }
    stage.scene.at_rest();
    assert_eq!(stage.scene.kept(), 5);
    assert!(all.answers("morning").iter().all(|count| *count >= 1));
}

#[test]
fn a_webhook_is_set_up_by_its_challenge_and_by_nothing_else() {
    let stage = stage("");
    let get = |path: &str| stage.scene.gateway.send(&Request::get(path));
    let greet = |token: &str, mode: &str| {
        get(&format!(
            "/hooks/whatsapp?hub.mode={mode}&hub.challenge=1158201444&hub.verify_token={token}"
        ))
    };
    let good = greet(VERIFY, "subscribe");
    assert_eq!((good.status, good.text()), (200, "1158201444".to_owned()));
    assert_eq!(greet("wrong", "subscribe").status, 403);
    assert_eq!(greet("", "subscribe").status, 403);
    assert_eq!(greet(VERIFY, "unsubscribe").status, 403);
    for path in ["/hooks/line", "/hooks/slack", "/hooks/telegram"] {
        assert_eq!(get(path).status, 405, "{path}");
    }
    let asks = json!({ "type": "url_verification", "challenge": "3eZbrw1aB", "token": "x" });
    let call = stage.all.signed_slack(asks.to_string(), now());
    let said = stage.send(&call);
    assert_eq!((said.status, said.text()), (200, "3eZbrw1aB".to_owned()));
    let forged = stage.send(&call.without("x-slack-signature"));
    assert_eq!(forged.status, 401);
    // LINE checks a webhook with no events at all.
    let empty = json!({ "destination": Line::BOT, "events": [] }).to_string();
    assert_eq!(stage.send(&stage.all.signed_line(empty)).status, 200);
    assert_eq!(stage.scene.kept(), 0);
    // And was told where to call.
    let set = stage.all.line.webhook().map(|(url, _)| url);
    assert_eq!(
        set.as_deref(),
        Some("https://hands.test/hooks/line/default")
    );
}

#[test]
fn unknown_accounts_and_requests_that_are_too_large_are_refused() {
    let stage = stage("");
    let call = stage.all.line("hello");
    for path in ["line/other", "fax", "slack/default/more", "discord"] {
        let call = Call {
            path,
            ..call.clone()
        };
        let said = stage.send(&call);
        assert_eq!(said.status, 404, "{path}: {}", said.text());
    }
    let padded = |bytes: usize| {
        let event = json!({ "type": "text", "text": "hello" });
        let event = stage.all.line.message(EVE_LINE, EVE_LINE, event);
        let body =
            json!({ "destination": Line::BOT, "events": [event.0], "pad": "x".repeat(bytes) });
        stage.all.signed_line(body.to_string())
    };
    let said = stage.send(&padded(5 * 1024 * 1024));
    assert_eq!(said.status, 413, "{}", said.text());
    let broken = stage.all.signed_line("{\"events\":".to_owned());
    assert_eq!(stage.send(&broken).status, 400);
    assert_eq!(stage.scene.kept(), 0);
    assert_eq!(stage.send(&padded(1024 * 1024)).status, 200);
    assert_eq!(stage.send(&call).status, 200);
    stage.scene.at_rest();
    assert_eq!(stage.scene.kept(), 2);
}

#[test]
fn slack_brings_presses_as_signed_forms_and_each_counts_once() {
    let owner = "[sessions.identity_links]\nowner = [\"slack:U0ADA\"]\n";
    let stage = stage_with(&format!("{ASK}{owner}"), WRITE);
    let slack = &stage.all.slack;
    assert_eq!(stage.send(&stage.all.slack("write it")).status, 200);
    let asked = || {
        slack
            .posted()
            .into_iter()
            .find(|one| !one.blocks.is_empty())
    };
    stage
        .scene
        .wait(slack.journal(), "buttons", || asked().is_some());
    let asked = asked().expect("buttons");
    let yes = &asked.blocks.last().expect("buttons")["elements"][0]["value"];
    let press = slack.press("D0ADA", "U0ADA", &asked.ts, yes.as_str().expect("data"));
    let form: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", &press.to_string())
        .finish();
    let call = stage.all.signed_slack(form, now());
    let call = call.with("content-type", "application/x-www-form-urlencoded");
    let forged = call.clone().with("x-slack-signature", "v0=00");
    assert_eq!(stage.send(&forged).status, 401);
    stage.scene.all_worked_on();
    assert_eq!(stage.scene.approvals().len(), 1, "nothing is decided");
    stage.send_at_once(&[call.clone(), call.clone(), call]);
    stage.scene.wait(slack.journal(), "the end", || {
        slack.posted().iter().any(|one| one.text == "Written.")
    });
    stage.scene.at_rest();
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    assert_eq!(stage.all.answers("Written."), [0, 1, 0, 0]);
}
