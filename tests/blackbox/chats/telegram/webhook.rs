//! Updates that Telegram brings.

use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};

use super::fixture::{ADA, BO, EVE, GROUP, OWNED, Stage};
use crate::harness::eventually;
use crate::http::Request;

const SECRET: &str = "hook-secret_0123456789";

/// A gateway to which Telegram brings updates.
#[track_caller]
fn hooked() -> Stage {
    let account = "mode = \"webhook\"\nsecret = \"vault:hook\"\n";
    let stage = Stage::quiet(OWNED, account, "");
    let url = stage.scene.gateway.url.clone();
    stage
        .scene
        .gateway
        .cli(&["config", "set", "public_url", &url])
        .ok();
    let secrets = [("tg", Telegram::TOKEN), ("hook", SECRET)];
    stage.scene.use_account("telegram", "default", &secrets);
    let set = || stage.telegram.webhook().is_some();
    stage.scene.wait(stage.telegram.journal(), "a webhook", set);
    stage
}

fn post(stage: &Stage, secret: Option<&str>, body: &[u8]) -> u16 {
    posted(secret, body).send(stage.scene.gateway.addr).status
}

fn posted(secret: Option<&str>, body: &[u8]) -> Request {
    let mut request = Request::new("POST", "/hooks/telegram/default").body(body);
    request = request.header("Content-Type", "application/json");
    if let Some(secret) = secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    request
}

#[test]
fn webhook_updates_are_answered_like_polled_ones() {
    let stage = hooked();
    let set = stage.telegram.webhook().expect("a webhook");
    assert_eq!(set["secret_token"], SECRET);
    let url = set["url"].as_str().expect("a url");
    assert!(url.ends_with("/hooks/telegram/default"), "{url}");
    let called = stage.call(BO, GROUP, "hello");
    stage.write(ADA, "hello");
    stage.write(EVE, "hello");
    let statuses = stage.scene.run(stage.telegram.bring()).expect("brought");
    assert_eq!(statuses, [200, 200, 200]);
    let answer = stage.reads(GROUP, "Good morning");
    assert_eq!(answer["reply_to_message"]["message_id"], called);
    stage.reads(ADA.id, "Good morning");
    stage.reads(EVE.id, "pair approve");
    assert_eq!(stage.requests("getUpdates").len(), 0);
}

#[test]
fn a_request_without_the_secret_is_refused_and_starts_nothing() {
    let stage = hooked();
    let message = stage.message(ADA, ADA.id, json!({ "text": "hello" }));
    let update = json!({ "update_id": 7, "message": message });
    let body = update.to_string();
    for secret in [
        None,
        Some(""),
        Some("hook-secret"),
        Some("hook-secret_0123456780"),
    ] {
        let status = post(&stage, secret, body.as_bytes());
        assert!(status == 401 || status == 403, "{secret:?}: {status}");
    }
    assert_eq!(stage.scene.kept(), 0);
    for broken in [&b"{"[..], b"[]", b"{\"message\": {}}"] {
        let status = post(&stage, Some(SECRET), broken);
        assert_eq!(status, 400, "{broken:?}");
    }
    assert_eq!(stage.scene.kept(), 0);
    stage.telegram.chat(ADA.id, "private");
    assert_eq!(post(&stage, Some(SECRET), body.as_bytes()), 200);
    stage.reads(ADA.id, "Good morning");
}

#[test]
fn the_same_update_many_times_at_once_is_one_turn() {
    let stage = hooked();
    stage.telegram.chat(ADA.id, "private");
    let message = stage.message(ADA, ADA.id, json!({ "text": "hello" }));
    let body = json!({ "update_id": 7, "message": message }).to_string();
    let (request, addr) = (
        posted(Some(SECRET), body.as_bytes()),
        stage.scene.gateway.addr,
    );
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert_eq!(request.send(addr).status, 200));
        }
    });
    stage.reads(ADA.id, "Good morning");
    assert_eq!(post(&stage, Some(SECRET), body.as_bytes()), 200);
    stage.scene.at_rest();
    assert_eq!(stage.scene.kept(), 1);
    assert_eq!(stage.texts(ADA.id).len(), 1);
}

#[test]
fn a_webhook_needs_an_address_and_takes_it_when_it_is_set() {
    let account = "mode = \"webhook\"\nsecret = \"vault:hook\"\n";
    let stage = Stage::quiet(OWNED, account, "");
    for (name, value) in [("tg", Telegram::TOKEN), ("hook", SECRET)] {
        let put = Request::new("PUT", &format!("/api/secrets/{name}"));
        let put = put.json(&json!({ "value": value }));
        let gateway = &stage.scene.gateway;
        assert_eq!(gateway.send(&put.bearer(&gateway.owner)).status, 200);
    }
    let start = "/api/channels/telegram/default/start";
    assert_eq!(stage.scene.gateway.post(start, &json!({})).status, 200);
    let detail = || stage.scene.account("telegram", "default")["detail"].clone();
    eventually("a reason", || {
        detail()
            .as_str()
            .is_some_and(|why| why.contains("public_url is not set"))
    });
    assert_eq!(stage.telegram.webhook(), None);
    let url = stage.scene.gateway.url.clone();
    stage
        .scene
        .gateway
        .cli(&["config", "set", "public_url", &url])
        .ok();
    stage.scene.connected("telegram", "default");
    stage.write(ADA, "hello");
    let statuses = stage.scene.run(stage.telegram.bring()).expect("brought");
    assert_eq!(statuses, [200]);
    stage.reads(ADA.id, "Good morning");
}

#[test]
fn a_polling_account_refuses_webhooks() {
    let stage = Stage::new(OWNED, "");
    let message = stage.message(ADA, ADA.id, json!({ "text": "hello" }));
    let update: Value = json!({ "update_id": 7, "message": message });
    let status = post(&stage, Some(SECRET), update.to_string().as_bytes());
    assert_eq!(status, 404);
    assert_eq!(stage.scene.kept(), 0);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    assert_eq!(stage.texts(ADA.id).len(), 1);
}
