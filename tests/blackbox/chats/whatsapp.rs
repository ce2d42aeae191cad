//! WhatsApp Cloud: marks, groups, pairing, files, buttons, and messages that fail after they were
//! taken.

use manyhands_platforms::whatsapp::WhatsApp;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::fixture::{ASK, Scene, WRITE, threads};
use crate::harness::eventually;

/// The owner.
pub const ADA: &str = "491700000001";
const EVE: &str = "491700000002";
const TOKEN: &str = "EAAJB-canary-token";
const SECRET: &str = "canary-app-secret";
/// What is typed in where the webhook is set up.
pub const VERIFY: &str = "canary-verify-token";

/// A WhatsApp and the settings of the account there.
pub fn whatsapp(threads: &Runtime) -> (WhatsApp, String) {
    let whatsapp = threads.block_on(WhatsApp::start(TOKEN, SECRET));
    let settings = format!(
        "[channels.whatsapp.accounts.default]\ntoken = \"vault:wa.token\"\nsecret = \"vault:wa.secret\"\nverify_token = \"vault:wa.verify\"\nnumber = \"{}\"\napi_url = \"{url}\"\ndata_url = \"{url}\"\n",
        WhatsApp::PHONE,
        url = whatsapp.url
    );
    (whatsapp, settings)
}

/// Gives the account that [`whatsapp`] made its credentials.
pub fn use_whatsapp(scene: &Scene) {
    let secrets = [
        ("wa.token", TOKEN),
        ("wa.secret", SECRET),
        ("wa.verify", VERIFY),
    ];
    scene.use_account("whatsapp", "default", &secrets);
}

struct Stage {
    scene: Scene,
    whatsapp: WhatsApp,
}

/// A gateway with one account, of which Ada is the owner.
#[track_caller]
fn stage(more: &str, turns: &str) -> Stage {
    let threads = threads();
    let (whatsapp, settings) = whatsapp(&threads);
    let owner = format!("[sessions.identity_links]\nowner = [\"whatsapp:{ADA}\"]\n");
    let scene = Scene::new(threads, &format!("{more}\n{owner}{settings}"), turns);
    use_whatsapp(&scene);
    Stage { scene, whatsapp }
}

impl Stage {
    /// Tells the webhook something, and expects that it is heard.
    #[track_caller]
    fn tell(&self, messages: &[Value], statuses: &[Value]) {
        let body = self.whatsapp.body(messages, statuses);
        let url = self.scene.hook("whatsapp");
        let told = self.scene.run(self.whatsapp.deliver(&url, &body));
        let told = told.expect("an answer");
        assert_eq!(told.0, 200, "{}", told.1);
    }

    /// Somebody writes; the message.
    #[track_caller]
    fn say(&self, from: &str, text: &str) -> Value {
        let what = json!({ "text": { "body": text } });
        let message = self.whatsapp.message(from, "text", &what);
        self.tell(std::slice::from_ref(&message), &[]);
        message
    }

    /// Waits until that many messages arrived, and gives them.
    #[track_caller]
    fn arrived(&self, count: usize) -> Vec<Value> {
        let what = format!("{count} messages");
        self.scene.wait(self.whatsapp.journal(), &what, || {
            self.whatsapp.arrived().len() >= count
        });
        let arrived = self.whatsapp.arrived();
        assert_eq!(arrived.len(), count, "{arrived:#?}");
        arrived
    }

    fn texts(&self) -> Vec<String> {
        let all = self.whatsapp.arrived().into_iter();
        let text = all.filter_map(|one| one["text"]["body"].as_str().map(str::to_owned));
        text.collect()
    }
}

#[test]
fn a_direct_message_is_answered_with_whatsapps_marks_and_marked_as_read() {
    let stage = stage("", "");
    let message = stage.say(ADA, "hello");
    let answer = stage.arrived(1)[0].clone();
    let text = answer["text"]["body"].as_str().expect("a text");
    assert!(text.starts_with("*Good* morning, _dear_ friend"), "{text}");
    assert_eq!(
        (&answer["to"], &answer["context"]),
        (&json!(ADA), &json!(null))
    );
    let id = message["id"].as_str().expect("an id").to_owned();
    let marked = || stage.whatsapp.read().contains(&id);
    stage.scene.wait(stage.whatsapp.journal(), "a mark", marked);
}

#[test]
fn in_a_group_only_mentions_are_answered_by_name() {
    let stage = stage("", "");
    let said = |text: &str| {
        let what = json!({ "text": { "body": text }, "group_id": "Y2FwaV9ncm91cDox" });
        stage.whatsapp.message(ADA, "text", &what)
    };
    let call = said(&format!("@{} hello", WhatsApp::NUMBER));
    stage.tell(&[said("hello everybody"), call.clone()], &[]);
    let answer = stage.arrived(1)[0].clone();
    assert_eq!(
        (&answer["to"], &answer["recipient_type"]),
        (&json!("Y2FwaV9ncm91cDox"), &json!("group"))
    );
    assert_eq!(answer["context"]["message_id"], call["id"]);
    stage.scene.at_rest();
    assert_eq!(stage.whatsapp.arrived().len(), 1);
}

#[test]
fn a_stranger_is_paired_as_the_owner_by_their_number() {
    let stage = stage("", "");
    stage.say(EVE, "hello");
    let told = stage.arrived(1)[0].clone();
    let pairs = stage.scene.pairs();
    let code = pairs[0]["code"].as_str().expect("a code");
    let text = told["text"]["body"].as_str().expect("a text");
    assert!(text.contains(code), "{told}");
    assert_eq!(pairs[0]["name"], "Sheena Nelson");
    assert!(stage.scene.sessions().is_empty());
    stage.scene.approve("whatsapp", EVE, true);
    stage.arrived(2);
    stage.say(EVE, "hello");
    stage.arrived(3);
    assert_eq!(stage.scene.heard("main"), ["hello"], "as the owner");
}

#[test]
fn pictures_are_shown_and_files_are_kept() {
    let stage = stage("", "");
    let png: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";
    stage.whatsapp.keep_file("1001", "image/png", png);
    stage
        .whatsapp
        .keep_file("1002", "text/plain", &b"all is well"[..]);
    let picture =
        json!({ "image": { "id": "1001", "mime_type": "image/png", "caption": "hello, look" } });
    let picture = stage.whatsapp.message(ADA, "image", &picture);
    let file =
        json!({ "document": { "id": "1002", "mime_type": "text/plain", "filename": "hello.txt" } });
    let file = stage.whatsapp.message(ADA, "document", &file);
    stage.tell(&[picture, file], &[]);
    stage.scene.at_rest();
    let heard = stage.scene.heard("main");
    assert!(heard[0].contains("hello, look") && heard[0].contains("[a picture]"));
    assert!(heard[1].contains("\"hello.txt\", 11 bytes"), "{heard:?}");
    // Where a file is said to be at some other place, our token is not shown there.
    stage.whatsapp.keep_file("1003", "image/png", png);
    stage
        .whatsapp
        .move_file("1003", "http://127.0.0.2:9/elsewhere");
    let picture =
        json!({ "image": { "id": "1003", "mime_type": "image/png", "caption": "hello" } });
    let picture = stage.whatsapp.message(ADA, "image", &picture);
    stage.tell(&[picture], &[]);
    stage.scene.at_rest();
    let heard = stage.scene.heard("main");
    assert!(heard[2].contains("could not be fetched"), "{heard:?}");
}

#[test]
fn buttons_ask_the_owner_and_the_answer_comes_once() {
    let stage = stage(
        &format!("{ASK}\n[channels.whatsapp]\ndm = \"open\"\n"),
        WRITE,
    );
    stage.say(ADA, "write it");
    let shown = || {
        let all = stage.whatsapp.arrived();
        all.into_iter().find(|one| one["type"] == "interactive")
    };
    stage
        .scene
        .wait(stage.whatsapp.journal(), "buttons", || shown().is_some());
    // WhatsApp shows three buttons at most; four answers are a list.
    let action = shown().expect("answers")["interactive"]["action"].clone();
    let rows = action["sections"][0]["rows"].as_array().cloned();
    let rows = rows.unwrap_or_else(|| panic!("{action}"));
    assert_eq!(rows.len(), 4, "{action}");
    let yes = rows[0].clone();
    // It may be seen before it is noted here that it was sent.
    eventually("the question", || !stage.scene.outbox("sent").is_empty());
    let asked = stage.scene.outbox("sent")[0]["messageId"].clone();
    let text = shown().expect("buttons")["interactive"]["body"]["text"].clone();
    assert!(text.to_string().contains("gsv__WriteFile"), "{text}");
    let press = |from: &str| {
        let what = json!({
            "context": { "from": WhatsApp::NUMBER, "id": asked },
            "interactive": { "type": "list_reply", "list_reply": yes },
        });
        let press = stage.whatsapp.message(from, "interactive", &what);
        stage.tell(std::slice::from_ref(&press), &[]);
        stage.tell(&[press], &[]);
        stage.scene.all_worked_on();
    };
    press(EVE);
    assert_eq!(stage.scene.approvals().len(), 1, "not hers to say");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    press(ADA);
    let written = || stage.texts().contains(&"Written.".to_owned());
    stage
        .scene
        .wait(stage.whatsapp.journal(), "the end", written);
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    stage.scene.at_rest();
    let said = stage.whatsapp.arrived().into_iter();
    let to_ada: Vec<Value> = said.filter(|one| one["to"] == ADA).collect();
    assert_eq!(
        to_ada.len(),
        3,
        "a question, a word, an answer: {to_ada:#?}"
    );
}

#[test]
fn a_message_that_fails_after_it_was_taken_is_shown_and_can_be_sent_again() {
    let stage = stage("", "");
    stage.say(ADA, "hello");
    stage.arrived(1);
    stage.scene.at_rest();
    let sent = stage.scene.outbox("sent");
    let (row, message) = (sent[0]["id"].clone(), sent[0]["messageId"].clone());
    let message = message.as_str().expect("an id");
    let status = |status: &str, errors: Value| stage.whatsapp.status(message, ADA, status, &errors);
    stage.tell(&[], &[status("delivered", json!(null))]);
    stage.scene.at_rest();
    assert!(stage.scene.outbox("failed").is_empty(), "nothing is wrong");
    let error = json!([{
        "code": 131_026, "title": "Message undeliverable", "message": "Message undeliverable",
        "error_data": { "details": "Message Undeliverable." },
    }]);
    let failed = status("failed", error);
    stage.tell(&[], std::slice::from_ref(&failed));
    stage.tell(&[], &[failed]);
    stage.scene.at_rest();
    let failed = stage.scene.outbox("failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["id"], row);
    assert!(
        failed[0]["error"].to_string().contains("131026"),
        "{failed:?}"
    );
    let listed = stage.scene.gateway.get("/api/outbox").json();
    assert_eq!(listed["result"]["failed"], 1, "{listed}");
    let path = format!("/api/outbox/{}/resend", row.as_str().expect("an id"));
    assert_eq!(stage.scene.gateway.post(&path, &json!({})).status, 200);
    let again = stage.arrived(2);
    assert_eq!(again[0]["text"], again[1]["text"]);
    stage.scene.at_rest();
    assert!(stage.scene.outbox("failed").is_empty());
}

#[test]
fn a_contact_silent_for_a_day_is_shown_as_unreachable() {
    let turns = r#"
  - when: { user: slowly }
    delay_ms: 1500
    text: At last.
"#;
    let stage = stage("", turns);
    stage.say(ADA, "slowly");
    stage.whatsapp.fall_silent(ADA);
    stage.scene.at_rest();
    let failed = stage.scene.outbox("failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(
        failed[0]["error"].to_string().contains("24 hours"),
        "{failed:?}"
    );
    assert!(stage.whatsapp.arrived().is_empty());
    stage.say(ADA, "hello");
    stage.arrived(1);
}
