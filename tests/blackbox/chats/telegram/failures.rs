//! What goes wrong on the way out, and accounts that are stopped, started and given back.

use manyhands_platforms::Fault;
use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};

use super::fixture::{ADA, BO, OWNED, Stage};

/// Answers are not seen coming: what goes wrong then goes wrong for the answer itself.
const STILL: &str = "channels.telegram.stream = false\n";
use crate::harness::eventually;
use crate::http::Request;

/// The words of what was tried to send to a chat, with how that ended.
fn tried(stage: &Stage, chat: i64) -> Vec<(String, u16)> {
    let all = stage.requests("sendMessage").into_iter();
    all.filter(|one| one.body["chat_id"] == chat)
        .map(|one| {
            let text = one.body["text"].as_str().expect("text");
            (text.to_owned(), one.status)
        })
        .collect()
}

/// Waits until something in the outbox is in this state, and gives it.
#[track_caller]
fn in_outbox(stage: &Stage, state: &str) -> Value {
    eventually(state, || !stage.scene.outbox(state).is_empty());
    stage.scene.outbox(state)[0].clone()
}

#[test]
fn a_platform_that_asks_to_wait_is_waited_for_and_order_is_kept() {
    let stage = Stage::new(OWNED, "");
    let why = "Too Many Requests: retry after 3";
    let busy = Telegram::refusal(429, why, json!({ "retry_after": 3 }));
    stage.telegram.fail("sendMessage", busy);
    stage.write(ADA, "/status");
    stage.write(ADA, "/help");
    let refused = || !tried(&stage, ADA.id).is_empty();
    stage
        .scene
        .wait(stage.telegram.journal(), "a refusal", refused);
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    stage.reads(ADA.id, "/compact");
    stage.scene.at_rest();
    let all = tried(&stage, ADA.id);
    let ends: Vec<u16> = all.iter().map(|(_, status)| *status).collect();
    assert_eq!(ends, [429, 200, 200]);
    assert_eq!(all[0].0, all[1].0, "the same again, before the next");
    assert!(all[2].0.contains("/compact"), "{all:?}");
    let sent = stage.scene.outbox("sent");
    let first = sent.iter().find(|row| row["attempts"] == 2);
    let first = first.unwrap_or_else(|| panic!("{sent:?}"));
    let took = first["endedAt"].as_i64().zip(first["createdAt"].as_i64());
    assert!(
        took.is_some_and(|(end, begin)| end - begin >= 3_000),
        "{first}"
    );
}

#[test]
fn an_unreachable_chat_affects_only_itself_and_can_be_resent() {
    let stage = Stage::new(OWNED, "");
    stage.telegram.chat(BO.id, "private");
    stage.telegram.block(BO.id);
    stage.write(BO, "hello");
    let lost = in_outbox(&stage, "failed");
    assert_eq!(lost["to"], "22");
    let error = lost["error"].as_str().expect("a reason");
    assert!(error.contains("bot was blocked by the user"), "{error}");
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    let listed = stage.scene.gateway.get("/api/outbox").json();
    assert_eq!(listed["result"]["failed"], 1, "{listed}");
    // A later message is not held up by the one that was lost.
    stage.telegram.unblock(BO.id);
    stage.write(BO, "/status");
    stage.reads(BO.id, "session: ");
    assert_eq!(stage.texts(BO.id).len(), 1);
    let id = lost["id"].as_str().expect("an id");
    let resent = stage
        .scene
        .gateway
        .post(&format!("/api/outbox/{id}/resend"), &json!({}));
    assert_eq!(resent.status, 200, "{}", resent.text());
    stage.reads(BO.id, "Good morning");
    stage.scene.at_rest();
    assert_eq!(stage.scene.outbox("failed"), Vec::<Value>::new());
    // What arrived is not sent again.
    let again = stage
        .scene
        .gateway
        .post(&format!("/api/outbox/{id}/resend"), &json!({}));
    assert_eq!(again.status, 404, "{}", again.text());
    assert_eq!(stage.texts(BO.id).len(), 2);
}

#[test]
fn an_undeliverable_message_can_be_discarded() {
    let stage = Stage::new(OWNED, "");
    let no = Telegram::refusal(400, "Bad Request: chat not found", Value::Null);
    stage.telegram.fail("sendMessage", no);
    stage.write(ADA, "/status");
    let lost = in_outbox(&stage, "failed");
    let id = lost["id"].as_str().expect("an id");
    let gateway = &stage.scene.gateway;
    let drop = Request::new("DELETE", &format!("/api/outbox/{id}"));
    let dropped = gateway.send(&drop.bearer(&gateway.owner));
    assert_eq!(dropped.status, 200, "{}", dropped.text());
    let resent = gateway.post(&format!("/api/outbox/{id}/resend"), &json!({}));
    assert_eq!(resent.status, 404, "{}", resent.text());
    stage.write(ADA, "/help");
    stage.reads(ADA.id, "/compact");
    assert_eq!(stage.texts(ADA.id).len(), 1);
}

#[test]
fn a_connection_lost_after_sending_is_reported_and_retried_once() {
    let stage = Stage::new(&format!("{OWNED}{STILL}"), "");
    stage.telegram.fail("sendMessage", Fault::DoneAndDropped);
    stage.write(ADA, "hello");
    let unknown = in_outbox(&stage, "unknown");
    assert_eq!(unknown["to"], "11", "{unknown}");
    let twice = || stage.texts(ADA.id).len() == 2;
    stage
        .scene
        .wait(stage.telegram.journal(), "a second time", twice);
    stage.write(ADA, "/status");
    stage.reads(ADA.id, "session: ");
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id).len(), 3, "once more, and not again");
    assert_eq!(
        stage.scene.outbox("unknown").len(),
        1,
        "the owner still sees it"
    );
}

#[test]
fn without_retries_an_unknown_delivery_waits_for_the_owner() {
    let settings = format!("{OWNED}{STILL}channels.resend_unknown = false\n");
    let stage = Stage::new(&settings, "");
    stage.telegram.fail("sendMessage", Fault::DoneAndDropped);
    stage.write(ADA, "hello");
    let unknown = in_outbox(&stage, "unknown");
    stage.write(ADA, "/status");
    stage.reads(ADA.id, "session: ");
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id).len(), 2);
    let id = unknown["id"].as_str().expect("an id");
    let resent = stage
        .scene
        .gateway
        .post(&format!("/api/outbox/{id}/resend"), &json!({}));
    assert_eq!(resent.status, 200, "{}", resent.text());
    let again = || stage.texts(ADA.id).len() == 3;
    stage
        .scene
        .wait(stage.telegram.journal(), "it is sent again", again);
}

#[test]
fn a_connection_lost_before_sending_loses_nothing() {
    let stage = Stage::new(OWNED, "");
    let down = Fault::answer(502, "<html>bad gateway</html>");
    stage.telegram.fail("getUpdates", down);
    stage.telegram.fail("getUpdates", Fault::Drop);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.scene.connected("telegram", "default");
    assert_eq!(stage.texts(ADA.id).len(), 1);
}

#[track_caller]
fn does(stage: &Stage, what: &str, body: &Value) -> Value {
    let path = format!("/api/channels/telegram/{what}");
    let done = stage.scene.gateway.post(&path, body);
    assert_eq!(done.status, 200, "{what}: {}", done.text());
    done.json()["result"].clone()
}

#[test]
fn a_stopped_account_receives_nothing_even_after_a_restart() {
    let stage = Stage::new(OWNED, "");
    does(&stage, "default/stop", &json!({}));
    assert_eq!(
        stage.scene.account("telegram", "default")["state"],
        "stopped"
    );
    stage.write(ADA, "hello");
    let Stage {
        scene, telegram, ..
    } = stage;
    let crate::chats::fixture::Scene { gateway, threads } = scene;
    let gateway = gateway.restart();
    let scene = crate::chats::fixture::Scene { gateway, threads };
    let stage = Stage::again(scene, telegram);
    assert_eq!(
        stage.scene.account("telegram", "default")["state"],
        "stopped"
    );
    assert_eq!(stage.telegram.pending(), 1, "it waits at Telegram");
    assert_eq!(stage.scene.kept(), 0);
    // Meanwhile nothing can be said either.
    let to = json!({ "text": "psst", "channel": "telegram", "to": "11" });
    let said = stage.scene.gateway.call("gsv__Message", to);
    assert_eq!(said["code"], "unavailable", "{said}");
    does(&stage, "default/start", &json!({}));
    stage.reads(ADA.id, "Good morning");
    stage.scene.connected("telegram", "default");
}

#[test]
fn credentials_are_verified_first_and_removed_at_logout() {
    let stage = Stage::quiet(OWNED, "", "");
    let account = || stage.scene.account("telegram", "default");
    eventually("an account without a token", || {
        account()["state"] == "error"
    });
    let detail = account()["detail"].as_str().expect("a reason").to_owned();
    assert!(detail.contains("the vault has no tg"), "{detail}");
    let wrong = json!({ "token": "88:WRONG-token-of-nobody-at-all" });
    let path = "/api/channels/telegram/default/login";
    let refused = stage.scene.gateway.post(path, &wrong);
    let text = refused.text();
    assert_ne!(refused.status, 200, "{text}");
    assert!(text.contains("telegram rejected the credentials"), "{text}");
    assert!(!text.contains("WRONG"), "{text}");
    assert_eq!(account()["state"], "error");
    let kept = || stage.scene.gateway.get("/api/secrets").text();
    assert!(!kept().contains("channel.telegram"), "nothing stays of it");
    let me = does(
        &stage,
        "default/login",
        &json!({ "token": Telegram::TOKEN }),
    );
    assert_eq!(me["handle"], Telegram::HANDLE, "{me}");
    stage.scene.connected("telegram", "default");
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    eventually("its handle", || account()["handle"] == Telegram::HANDLE);
    let answered = |method: &str, status: u16| {
        let requests = stage.requests(method);
        requests.iter().filter(|one| one.status == status).count()
    };
    // Once to try it, and twice as it begins: to hear who is meant, and to be shown.
    assert!(answered("getMe", 200) <= 3, "it begins once");
    assert_eq!(answered("getUpdates", 409), 0, "nobody is there twice");
    let file = stage.scene.gateway.home.path().join("config.toml");
    let settings = || std::fs::read_to_string(&file).expect("the settings");
    assert!(
        settings().contains("vault:channel.telegram.default.token"),
        "{}",
        settings()
    );
    assert!(!settings().contains(Telegram::TOKEN));
    assert!(
        kept().contains("channel.telegram.default.token"),
        "{}",
        kept()
    );
    does(&stage, "default/logout", &json!({}));
    assert_eq!(account(), Value::Null);
    assert!(
        !settings().contains("channels.telegram.accounts"),
        "{}",
        settings()
    );
    assert!(
        !kept().contains("channel.telegram.default.token"),
        "{}",
        kept()
    );
    // Nothing is heard any more.
    stage.write(ADA, "hello");
    let gone = stage
        .scene
        .gateway
        .post("/api/channels/telegram/default/start", &json!({}));
    assert_eq!(gone.status, 404, "{}", gone.text());
    assert_eq!(stage.telegram.pending(), 1);
    assert_eq!(stage.texts(ADA.id).len(), 1);
}

#[test]
fn only_the_owner_sees_and_changes_accounts_and_people() {
    let stage = Stage::new(OWNED, "");
    let gateway = &stage.scene.gateway;
    let client = gateway.client("phone");
    for path in ["/api/channels", "/api/pairs", "/api/outbox", "/api/inbox"] {
        let refused = gateway.send(&Request::get(path).bearer(&client));
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
        assert_eq!(gateway.get(path).status, 200, "{path}");
    }
    for path in [
        "/api/channels/telegram/default/stop",
        "/api/channels/telegram/default/logout",
        "/api/pairs/telegram/33/approve",
        "/api/pairs/telegram/22/reject",
    ] {
        let refused = gateway.send(&Request::post(path, &json!({})).bearer(&client));
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
    }
    stage.scene.connected("telegram", "default");
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
}

#[test]
fn an_account_starts_when_its_missing_secret_is_stored() {
    let stage = Stage::quiet(OWNED, "", "");
    let account = || stage.scene.account("telegram", "default");
    eventually("an account without a token", || {
        account()["state"] == "error"
    });
    let ran = stage
        .scene
        .gateway
        .home
        .cli_with(&["secret", "set", "tg"], Telegram::TOKEN);
    ran.ok();
    stage.scene.connected("telegram", "default");
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
}
