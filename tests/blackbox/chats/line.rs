//! LINE: replies while a token is good, pushes that arrive once, groups, pictures, buttons, and two
//! accounts at once.

use manyhands_platforms::Fault;
use manyhands_platforms::line::{Event, Line};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::fixture::{ASK, Scene, WRITE, threads};

/// The owner.
pub const ADA: &str = "Uada00000000000000000000000000aaa";
const EVE: &str = "Ueee00000000000000000000000000eee";
const GROUP: &str = "Cabc00000000000000000000000000abc";
const REPLY: &str = "/v2/bot/message/reply";
const PUSH: &str = "/v2/bot/message/push";

/// A LINE and the settings of an account there.
pub fn line(threads: &Runtime, account: &str) -> (Line, String) {
    let token = format!("{account}-canary-token");
    let secret = format!("{account}-canary-secret");
    let line = threads.block_on(Line::start(&token, &secret));
    let url = &line.url;
    let settings = format!(
        "[channels.line.accounts.{account}]\ntoken = \"vault:{account}.token\"\nsecret = \"vault:{account}.secret\"\napi_url = \"{url}\"\ndata_url = \"{url}\"\n"
    );
    (line, settings)
}

/// Gives an account that [`line`] made its credentials.
pub fn use_line(scene: &Scene, account: &str) {
    let secrets = ["token", "secret"].map(|what| {
        (
            format!("{account}.{what}"),
            format!("{account}-canary-{what}"),
        )
    });
    let secrets = secrets
        .each_ref()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    scene.use_account("line", account, &secrets);
}

struct Stage {
    scene: Scene,
    line: Line,
}

/// A gateway with one account, of which Ada is the owner.
#[track_caller]
fn stage(more: &str, turns: &str) -> Stage {
    let threads = threads();
    let (line, settings) = line(&threads, "default");
    let owner = format!("[sessions.identity_links]\nowner = [\"line:{ADA}\"]\n");
    let scene = Scene::new(threads, &format!("{more}\n{owner}{settings}"), turns);
    use_line(&scene, "default");
    Stage { scene, line }
}

impl Stage {
    /// Tells the webhook something, and expects that it is heard.
    #[track_caller]
    fn tell(&self, event: &Event) {
        let url = self.scene.hook("line");
        let told = self.line.deliver(&url, std::slice::from_ref(event));
        let told = self.scene.run(told).expect("an answer");
        assert_eq!(told.0, 200, "{}", told.1);
    }

    #[track_caller]
    fn say(&self, chat: &str, user: &str, text: &str) -> Event {
        let event = self
            .line
            .message(chat, user, json!({ "type": "text", "text": text }));
        self.tell(&event);
        event
    }

    /// Waits until that many messages arrived, and gives them.
    #[track_caller]
    fn arrived(&self, count: usize) -> Vec<(String, Value)> {
        let what = format!("{count} messages");
        self.scene.wait(self.line.journal(), &what, || {
            self.line.arrived().len() >= count
        });
        let arrived = self.line.arrived();
        assert_eq!(arrived.len(), count, "{arrived:#?}");
        arrived
    }

    fn asked(&self, path: &str) -> usize {
        self.line.journal().at(path).len()
    }
}

#[test]
fn a_direct_message_is_replied_to_in_plain_text() {
    let stage = stage("", "");
    stage.say(ADA, ADA, "hello");
    let arrived = stage.arrived(1);
    assert_eq!(arrived[0].0, ADA);
    let text = arrived[0].1["text"].as_str().expect("a text");
    assert!(text.starts_with("Good morning, dear friend"), "{text}");
    assert!(text.contains("https://a.test/x"), "{text}");
    assert_eq!((stage.asked(REPLY), stage.asked(PUSH)), (1, 0));
}

#[test]
fn when_the_token_is_too_old_the_answer_is_pushed_and_arrives_once() {
    let turns = r#"
  - when: { user: slowly }
    delay_ms: 1500
    text: At last.
"#;
    let stage = stage("", turns);
    let event = stage.say(ADA, ADA, "slowly");
    stage.line.expire(event.reply_token());
    // The push is taken, and nobody learns of it: it is sent again with the same key.
    stage.line.fail(PUSH, Fault::DoneAndDropped);
    stage.line.fail(PUSH, Fault::answer(500, "{}"));
    stage.arrived(1);
    stage.scene.at_rest();
    let arrived = stage.line.arrived();
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert_eq!(arrived[0].1["text"], "At last.");
    assert!(stage.asked(REPLY) >= 1, "that was tried first");
    assert_eq!(stage.asked(PUSH), 3);
    let pushes = stage.line.journal().at(PUSH);
    assert_eq!(pushes.last().map(|one| one.status), Some(409));
    assert_eq!(stage.scene.outbox("sent").len(), 1);
    assert!(stage.scene.outbox("failed").is_empty());
}

#[test]
fn in_a_group_only_mentions_are_answered_with_a_quote() {
    let stage = stage("", "");
    stage.say(GROUP, ADA, "hello everybody");
    let call = json!({
        "type": "text", "text": "@Manyhands hello",
        "mention": { "mentionees": [{ "index": 0, "length": 10, "type": "user", "isSelf": true, "userId": Line::BOT }] },
    });
    let call = stage.line.message(GROUP, ADA, call);
    stage.tell(&call);
    let arrived = stage.arrived(1);
    assert_eq!(arrived[0].0, GROUP);
    assert_eq!(
        arrived[0].1["quoteToken"], call.0["message"]["quoteToken"],
        "{arrived:?}"
    );
    stage.scene.at_rest();
    let sessions = stage.scene.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let heard = stage.scene.heard(&sessions[0]);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("hello") && !heard[0].contains("everybody"));
}

#[test]
fn a_stranger_is_paired_by_the_code_they_were_given() {
    let stage = stage("", "");
    stage.line.call(EVE, "Eve");
    stage.say(EVE, EVE, "hello");
    let told = stage.arrived(1)[0].clone();
    let pairs = stage.scene.pairs();
    let code = pairs[0]["code"].as_str().expect("a code");
    assert!(told.1["text"].as_str().expect("a text").contains(code));
    assert_eq!((&pairs[0]["name"], told.0.as_str()), (&json!("Eve"), EVE));
    stage.say(EVE, EVE, "hello?");
    stage.scene.at_rest();
    assert_eq!(stage.line.arrived().len(), 1, "told once");
    assert!(stage.scene.sessions().is_empty());
    stage.scene.approve("line", &code.to_lowercase(), false);
    stage.arrived(2);
    stage.say(EVE, EVE, "hello!");
    let answer = stage.arrived(3)[2].clone();
    assert!(
        answer.1["text"]
            .as_str()
            .expect("a text")
            .starts_with("Good")
    );
}

#[test]
fn a_picture_that_is_still_prepared_is_shown_once_it_is_there() {
    let stage = stage("", "");
    let picture = json!({ "type": "image", "contentProvider": { "type": "line" } });
    let event = stage.line.message(ADA, ADA, picture);
    let id = event.0["message"]["id"].as_str().expect("an id");
    let png: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";
    stage.line.keep_file(id, png, 1);
    let file = json!({ "type": "file", "fileName": "hello.txt", "fileSize": 5 });
    let file = stage.line.message(ADA, ADA, file);
    let id = file.0["message"]["id"].as_str().expect("an id");
    stage.line.keep_file(id, &b"hello"[..], 0);
    stage.tell(&event);
    stage.tell(&file);
    stage.scene.at_rest();
    let heard = stage.scene.heard("main");
    assert!(heard[0].contains("[a picture]"), "{heard:?}");
    assert!(heard[1].contains("\"hello.txt\", 5 bytes"), "{heard:?}");
}

#[test]
fn buttons_ask_the_owner_and_only_their_press_counts() {
    let stage = stage(&format!("{ASK}\n[channels.line]\ndm = \"open\"\n"), WRITE);
    stage.say(ADA, ADA, "write it");
    let shown = || {
        let all = stage.line.arrived();
        all.into_iter().find(|(_, one)| one["type"] == "template")
    };
    stage
        .scene
        .wait(stage.line.journal(), "buttons", || shown().is_some());
    let (chat, asked) = shown().expect("buttons");
    assert_eq!(chat, ADA);
    let data = asked["template"]["actions"][0]["data"].as_str();
    let data = data.expect("data");
    stage.tell(&stage.line.postback(EVE, EVE, data));
    stage.scene.all_worked_on();
    assert_eq!(stage.scene.approvals().len(), 1, "not hers to say");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    let press = stage.line.postback(ADA, ADA, data);
    stage.tell(&press);
    stage.tell(&press.again());
    let written = || {
        let all = stage.line.arrived();
        all.iter().any(|(_, one)| one["text"] == "Written.")
    };
    stage.scene.wait(stage.line.journal(), "the end", written);
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
}

#[test]
fn two_accounts_have_their_own_hooks_secrets_and_chats() {
    let threads = threads();
    let (first, one) = line(&threads, "first");
    let (second, two) = line(&threads, "second");
    let settings = format!("[channels.line]\ndm = \"open\"\n{one}{two}");
    let scene = Scene::new(threads, &settings, "");
    let say = |by: &Line, hook: &str| {
        let message = json!({ "type": "text", "text": "hello" });
        let event = by.message(EVE, EVE, message);
        let told = scene.run(by.deliver(&scene.hook(hook), &[event]));
        told.expect("an answer").0
    };
    assert_eq!(say(&first, "line/first"), 503, "it has no credentials yet");
    use_line(&scene, "first");
    use_line(&scene, "second");
    assert_eq!(scene.kept(), 0);
    assert_eq!(say(&first, "line/first"), 200);
    scene.wait(first.journal(), "an answer", || first.arrived().len() == 1);
    assert_eq!(say(&second, "line/second"), 200);
    scene.wait(second.journal(), "an answer", || {
        second.arrived().len() == 1
    });
    let kept = scene.kept();
    assert_eq!(say(&first, "line/second"), 401, "another's secret");
    assert_eq!(say(&first, "line"), 404, "there is none called default");
    assert_eq!(say(&first, "line/third"), 404);
    assert_eq!(say(&first, "fax/first"), 404);
    assert_eq!(scene.kept(), kept);
    assert_eq!((first.arrived().len(), second.arrived().len()), (1, 1));
    // One is stopped; the other goes on.
    scene
        .gateway
        .post("/api/channels/line/first/stop", &json!({}));
    assert_eq!(say(&first, "line/first"), 404);
    assert_eq!(say(&second, "line/second"), 200);
    scene.wait(second.journal(), "an answer", || {
        second.arrived().len() == 2
    });
}
