//! `contacts_send` over real channels: replies, workspaces, and who cannot be reached.

use manyhands_platforms::slack::{APP_TOKEN, BOT_TOKEN, Slack};
use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};

use super::refuses;
use crate::chats::fixture::{Scene, threads};
use crate::chats::telegram::fixture::{BO, OWNED, Stage};
use crate::harness::eventually;

const TOOL: &str = "contacts_send";

/// Bo is known by having written.
fn stage() -> Stage {
    let stage = Stage::new(OWNED, "");
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    stage.at_rest();
    let contacts = || stage.scene.gateway.get("/api/contacts").json()["result"]["count"].clone();
    eventually("Bo is a contact", || contacts() == 1);
    stage
}

/// A message to Bo.
fn to_bo(text: &str) -> Value {
    json!({ "contact_id": "tg:22", "message_text": text })
}

/// A reply to Bo.
fn reply(text: &str, to: &Value) -> Value {
    json!({ "contact_id": "tg:22", "message_text": text, "reply_to": to })
}

#[track_caller]
fn sends(scene: &Scene, arguments: Value) -> Value {
    let said = scene.gateway.call(TOOL, arguments.clone());
    assert_eq!(
        said["result"]["delivery"]["state"], "sent",
        "{arguments}: {said}"
    );
    said["result"].clone()
}

#[test]
fn a_reply_to_a_message_id_of_ours_quotes_that_message() {
    let stage = stage();
    let first = sends(&stage.scene, to_bo("one"));
    let second = sends(&stage.scene, reply("two", &first["message_id"]));
    assert_eq!(second["reply_to"], first["message_id"]);
    let quoted = |text: &str| stage.reads(BO.id, text)["reply_to_message"]["message_id"].clone();
    assert_eq!(quoted("two"), stage.reads(BO.id, "one")["message_id"]);
    // The name of an envelope, and the platform's own id, count as well.
    let envelope = json!({
        "message_id": "mine-1", "text": "three", "sent_at": "2026-02-11T09:30:00Z",
        "session_id": "0199f0a0-7c1e-7b1c-8000-000000000000",
    });
    let encoded = base64(&envelope.to_string());
    sends(
        &stage.scene,
        json!({ "contact_id": "tg:22", "message_base64": encoded }),
    );
    sends(&stage.scene, reply("four", &json!("mine-1")));
    assert_eq!(quoted("four"), stage.reads(BO.id, "three")["message_id"]);
    let number = stage.reads(BO.id, "one")["message_id"].to_string();
    sends(&stage.scene, reply("five", &json!(number)));
    assert_eq!(quoted("five"), stage.reads(BO.id, "one")["message_id"]);
}

#[test]
fn a_call_made_again_names_the_message_that_was_sent() {
    let stage = stage();
    let first = sends(&stage.scene, to_bo("once"));
    let again = sends(&stage.scene, to_bo("once"));
    assert_eq!(again["repeated"], true, "{again}");
    assert_eq!(again["message_id"], first["message_id"]);
    let once = stage
        .texts(BO.id)
        .iter()
        .filter(|text| *text == "once")
        .count();
    assert_eq!(once, 1);
}

#[test]
fn wrong_arguments_never_make_a_contact_unreachable() {
    let stage = stage();
    let unknown = reply("two", &json!("msg_nobody"));
    let words = ["reply_to", "msg_nobody", "leave reply_to out"];
    refuses(&stage, TOOL, unknown, "invalid_arguments", &words);
    // What Telegram refuses for its form says nothing of Bo either.
    let form = Telegram::refusal(400, "Bad Request: message text is empty", json!({}));
    stage.telegram.fail("sendMessage", form);
    refuses(
        &stage,
        TOOL,
        to_bo("two"),
        "failed",
        &["message text is empty"],
    );
    sends(&stage.scene, to_bo("three"));
    // Control: whoever blocked the bot is not written to again for a while, and the reason is given.
    stage.telegram.block(BO.id);
    let words = ["tg:22 could not be sent", "bot was blocked by the user"];
    refuses(&stage, TOOL, to_bo("four"), "failed", &words);
    refuses(
        &stage,
        TOOL,
        to_bo("five"),
        "unavailable",
        &["cooling down"],
    );
}

#[test]
fn the_workspace_of_a_slack_chat_selects_the_account() {
    let threads = threads();
    let [one, two] = ["T001", "T002"].map(|team| {
        let slack = threads.block_on(Slack::start());
        slack.set_team(team);
        slack
    });
    let account = |name: &str, slack: &Slack| {
        format!(
            "[channels.slack.accounts.{name}]\ntoken = \"vault:bot\"\napp_token = \"vault:app\"\napi_url = \"{}\"\n",
            slack.api()
        )
    };
    let settings = account("default", &one) + &account("other", &two);
    let scene = Scene::new(threads, &settings, "");
    scene.use_account(
        "slack",
        "default",
        &[("bot", BOT_TOKEN), ("app", APP_TOKEN)],
    );
    scene.connected("slack", "other");
    for name in ["default", "other"] {
        eventually("its name", || {
            scene.account("slack", name)["name"] == "hands"
        });
    }
    let content = "## Sam\n```yaml\ncontact_id: sam\nslack_user_id: U0ADA\n```\n";
    let put = json!({ "path": "file_state_dir/contacts/ACTIVE.md", "content": content });
    assert_eq!(scene.gateway.call("write_file", put)["ok"], true);
    let to = |chat: &str| json!({ "contact_id": "sam", "message_text": "hi", "chat_id": chat });
    let texts = |slack: &Slack| slack.posted().len();
    sends(&scene, to("slack:T002:C0GENERAL"));
    assert_eq!((texts(&one), texts(&two)), (0, 1));
    sends(&scene, to("slack:T001:C0GENERAL"));
    assert_eq!((texts(&one), texts(&two)), (1, 1));
    let said = scene.gateway.call(TOOL, to("slack:T003:C0GENERAL"));
    assert_eq!(said["code"], "invalid_arguments", "{said}");
    let error = said.to_string();
    for word in [
        "chat_id",
        "T003",
        "T001 (account default)",
        "T002 (account other)",
    ] {
        assert!(error.contains(word), "{word}: {error}");
    }
    assert_eq!((texts(&one), texts(&two)), (1, 1));
    // The workspace of a profile counts like that of a hint.
    let content = content.replace("```yaml\n", "```yaml\nslack_team_id: T009\n");
    let put = json!({ "path": "file_state_dir/contacts/ACTIVE.md", "content": content });
    assert_eq!(scene.gateway.call("write_file", put)["ok"], true);
    let said = scene
        .gateway
        .call(TOOL, json!({ "contact_id": "sam", "message_text": "hi" }));
    assert_eq!(said["code"], "unavailable", "{said}");
    assert!(said["error"].to_string().contains("T009"), "{said}");
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}
