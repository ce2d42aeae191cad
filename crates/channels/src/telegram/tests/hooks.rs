use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::*;
use crate::channel::{WebhookOutcome, WebhookRefusal, WebhookRequest};

const URL: &str = "https://me.example/hooks/telegram/main";
const HEADER: &str = "x-telegram-bot-api-secret-token";

async fn ready(fake: &Fake) -> Listening {
    let listening = Listening::start(hooked(fake, URL), Arc::default());
    listening
        .keeper
        .set_status(|one| *one == ConnectionStatus::Connected)
        .await;
    listening
}

fn post(
    channel: &Telegram,
    secret: Option<&str>,
    body: &[u8],
) -> Result<WebhookOutcome, WebhookRefusal> {
    asked(channel, "POST", secret, body)
}

fn asked(
    channel: &Telegram,
    method: &str,
    secret: Option<&str>,
    body: &[u8],
) -> Result<WebhookOutcome, WebhookRefusal> {
    let mut headers = HeaderMap::new();
    if let Some(secret) = secret {
        let value = HeaderValue::from_str(secret).unwrap();
        headers.insert(HeaderName::from_static(HEADER), value);
    }
    channel.hook(&WebhookRequest {
        method,
        query: "",
        headers: &headers,
        body,
        now: NOW,
    })
}

fn update(text: &str) -> Value {
    with(json!({"update_id": 31}), private(json!({"text": text})))
}

#[tokio::test]
async fn telegram_is_told_where_to_bring_updates() {
    let fake = Fake::start().await;
    let listening = ready(&fake).await;
    let set = fake.webhook().unwrap();
    assert_eq!(set["url"], URL);
    assert_eq!(set["secret_token"], SECRET);
    let kinds = json!([
        "message",
        "channel_post",
        "callback_query",
        "message_reaction"
    ]);
    assert_eq!(set["allowed_updates"], kinds);
    listening.end().await.unwrap();
    // It stays when we go: Telegram keeps what comes meanwhile.
    assert!(fake.webhook().is_some());
}

#[tokio::test]
async fn only_a_request_with_the_secret_is_read() {
    let fake = Fake::start().await;
    let listening = ready(&fake).await;
    let channel = &listening.channel;
    let (headers, body) = fake.posted(&update("hi"));
    assert_eq!(headers[0].1, SECRET);
    let good = post(channel, Some(SECRET), &body).unwrap();
    assert_eq!(good.events[0].event, "31");
    assert_eq!(said(&good.events[0]).text, "hi");
    for (secret, status) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::UNAUTHORIZED),
        (Some("webhook_secret-2"), StatusCode::UNAUTHORIZED),
        (Some("webhook_secret-1 "), StatusCode::UNAUTHORIZED),
        (Some("WEBHOOK_SECRET-1"), StatusCode::UNAUTHORIZED),
    ] {
        let refused = post(channel, secret, &body).unwrap_err();
        assert_eq!(refused.status, status, "{secret:?}");
        assert!(!refused.why.contains(SECRET));
    }
    // The secret is looked at before the body.
    let forged = post(channel, Some("x"), b"{").unwrap_err();
    assert_eq!(forged.status, StatusCode::UNAUTHORIZED);
    listening.end().await.unwrap();
}

#[tokio::test]
async fn what_is_no_update_is_refused_and_an_unknown_kind_is_taken() {
    let fake = Fake::start().await;
    let listening = ready(&fake).await;
    let channel = &listening.channel;
    for body in [&b"{"[..], b"[]", b"{\"message\":{}}", b"\xff"] {
        let refused = post(channel, Some(SECRET), body).unwrap_err();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
    let got = asked(channel, "GET", Some(SECRET), b"").unwrap_err();
    assert_eq!(got.status, StatusCode::METHOD_NOT_ALLOWED);
    for body in [
        json!({"update_id": 1, "chat_boost": {}}),
        json!({"update_id": 1, "message": {"chat": 1}}),
        json!({"update_id": 1, "edited_message": private(json!({"text": "x"}))["message"]}),
    ] {
        let taken = post(channel, Some(SECRET), body.to_string().as_bytes()).unwrap();
        assert_eq!(taken.events, [], "{body}");
    }
    listening.end().await.unwrap();
}

#[tokio::test]
async fn an_account_that_asks_takes_no_updates() {
    let fake = Fake::start().await;
    let refused = post(&polling(&fake), Some(SECRET), b"{}").unwrap_err();
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_update_before_we_know_who_we_are_is_brought_again() {
    let fake = Fake::start().await;
    let body = update("early").to_string();
    let refused = post(&hooked(&fake, URL), Some(SECRET), body.as_bytes()).unwrap_err();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    // Who has listened before knows it from then.
    let keeper = ready(&fake).await.keeper;
    fake.fail("getMe", manyhands_platforms::Fault::Hang);
    let again = Listening::start(hooked(&fake, URL), keeper.clone());
    fake.journal()
        .until(|all| all.iter().filter(|one| one.path == "/getMe").count() > 1)
        .await;
    assert!(post(&again.channel, Some(SECRET), body.as_bytes()).is_ok());
    again.end().await.unwrap();
}

#[tokio::test]
async fn a_webhook_that_somebody_took_or_that_fails_is_told_about() {
    let fake = Fake::start().await;
    let listening = ready(&fake).await;
    fake.take_over("https://other.example/");
    let taken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("another webhook"));
    listening.keeper.set_status(taken).await;
    let sets = |all: &[manyhands_platforms::Recorded]| {
        all.iter().filter(|one| one.path == "/setWebhook").count() > 1
    };
    fake.journal().until(sets).await;
    assert_eq!(fake.webhook().unwrap()["url"], URL);
    fake.fail_webhook("SSL error");
    let fails = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("SSL error"));
    listening.keeper.set_status(fails).await;
    listening.end().await.unwrap();
}

#[tokio::test]
async fn a_webhook_that_telegram_does_not_take_is_told_about() {
    let fake = Fake::start().await;
    let channel = hooked(&fake, "http://me.example/plain");
    let listening = Listening::start(channel, Arc::default());
    let broken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("HTTPS"));
    listening.keeper.set_status(broken).await;
    listening.end().await.unwrap();
    let mut channel = hooked(&fake, URL);
    channel.account.mode = UpdateDelivery::Webhook {
        url: Url::parse(URL).unwrap(),
        secret: Secret::new("not allowed!"),
    };
    let ended = Listening::start(channel, Arc::default())
        .task
        .await
        .unwrap();
    assert!(matches!(ended, Err(ChannelError::Refused(why)) if !why.contains("not allowed!")));
}

#[tokio::test]
async fn pictures_behind_the_words_that_call_us_call_us_too() {
    let fake = Fake::start().await;
    let listening = ready(&fake).await;
    let picture = |number: i64, group: &str, more: Value| {
        let photo = json!([{"file_id": "p", "file_unique_id": "u", "width": 1, "height": 1}]);
        let base = json!({"message_id": number, "media_group_id": group, "photo": photo});
        let update = with(json!({"update_id": number}), grouped(with(base, more)));
        let taken = post(
            &listening.channel,
            Some(SECRET),
            update.to_string().as_bytes(),
        );
        said(&taken.unwrap().events[0]).mentioned
    };
    let marks = json!([{"type": "mention", "offset": 0, "length": 10}]);
    let calls = json!({"caption": "@hands_bot what is this", "caption_entities": marks});
    assert!(picture(1, "a", calls));
    assert!(picture(2, "a", json!({})));
    assert!(!picture(3, "b", json!({})));
    listening.end().await.unwrap();
}
