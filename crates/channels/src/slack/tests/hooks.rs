//! Claims about webhooks.

use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// A request with the headers that Slack made at `signed` (in seconds), when it is `NOW`.
fn ask(
    workspace: &Workspace,
    slack: &Slack,
    (kind, body): (&str, &[u8]),
    signed: i64,
    change: impl FnOnce(&mut HeaderMap),
) -> Result<WebhookOutcome, WebhookRefusal> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_str(kind).unwrap());
    for (name, value) in workspace.signed(body, signed) {
        let value = HeaderValue::from_str(&value).unwrap();
        headers.insert(HeaderName::from_static(name), value);
    }
    change(&mut headers);
    slack.hook(&WebhookRequest {
        method: "POST",
        query: "",
        headers: &headers,
        body,
        now: NOW * 1_000,
    })
}

#[tokio::test]
async fn only_what_slack_signed_lately_is_read() {
    let (workspace, slack) = start(events_mode()).await;
    let payload = workspace.message("D0ADA", "U0ADA", "hi", json!({}));
    let body = payload.to_string();
    let good = |signed| ask(&workspace, &slack, (JSON, body.as_bytes()), signed, |_| {});
    for signed in [NOW, NOW - 300, NOW + 300] {
        assert_eq!(good(signed).unwrap().events.len(), 1, "{signed}");
    }
    for signed in [NOW - 301, NOW + 301, 0, i64::MAX, i64::MIN] {
        let refused = good(signed).unwrap_err();
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{signed}");
    }
    type Change = fn(&mut HeaderMap);
    let changes: [Change; 7] = [
        |headers| drop(headers.remove("x-slack-signature")),
        |headers| drop(headers.remove("x-slack-request-timestamp")),
        |headers| drop(headers.insert("x-slack-signature", HeaderValue::from_static("v0="))),
        |headers| {
            let forged = format!("v0={}", "0".repeat(64));
            headers.insert("x-slack-signature", HeaderValue::from_str(&forged).unwrap());
        },
        |headers| {
            let given = headers["x-slack-signature"].to_str().unwrap().to_owned();
            let other = given.replacen("v0=", "v1=", 1);
            headers.insert("x-slack-signature", HeaderValue::from_str(&other).unwrap());
        },
        |headers| {
            let later = HeaderValue::from_str(&(NOW + 1).to_string()).unwrap();
            headers.insert("x-slack-request-timestamp", later);
        },
        |headers| {
            let words = HeaderValue::from_static("1700000000\u{20}");
            headers.insert("x-slack-request-timestamp", words);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let refused = ask(&workspace, &slack, (JSON, body.as_bytes()), NOW, change);
        assert_eq!(
            refused.unwrap_err().status,
            StatusCode::UNAUTHORIZED,
            "{number}"
        );
    }
    // The same payload with other spaces is not what was signed.
    let pretty = serde_json::to_string_pretty(&payload).unwrap();
    let signed = workspace.signed(body.as_bytes(), NOW);
    let refused = ask(
        &workspace,
        &slack,
        (JSON, pretty.as_bytes()),
        NOW,
        |headers| {
            let value = HeaderValue::from_str(&signed[1].1).unwrap();
            headers.insert("x-slack-signature", value);
        },
    );
    assert_eq!(refused.unwrap_err().status, StatusCode::UNAUTHORIZED);
}

/// The example of Slack's own manual.
#[tokio::test]
async fn a_published_signature_is_good() {
    let (_workspace, slack) = start(events_mode()).await;
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow\
        &channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner\
        &command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands\
        %2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", FORM),
        ("x-slack-request-timestamp", "1531420618"),
        (
            "x-slack-signature",
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let ask = |body: &str| {
        slack.hook(&WebhookRequest {
            method: "POST",
            query: "",
            headers: &headers,
            body: body.as_bytes(),
            now: 1_531_420_618_000,
        })
    };
    let heard = ask(body).unwrap().events;
    assert_eq!(message(&heard[0]).text, "/webhook-collect");
    assert_eq!(heard[0].place.sender.as_deref(), Some("U2CERLKJA"));
    assert!(ask(&body.replace("text=", "text=x")).is_err());
}

#[tokio::test]
async fn nothing_is_read_before_it_is_verified() {
    let (workspace, slack) = start(events_mode()).await;
    let garbage = b"{\xff not json";
    let forged = ask(&workspace, &slack, (JSON, garbage), NOW, |headers| {
        headers.remove("x-slack-signature");
    });
    assert_eq!(forged.unwrap_err().status, StatusCode::UNAUTHORIZED);
    let genuine = ask(&workspace, &slack, (JSON, garbage), NOW, |_| {});
    assert_eq!(
        genuine.unwrap_err().status,
        StatusCode::BAD_REQUEST,
        "control"
    );
    let genuine = ask(&workspace, &slack, (FORM, b"payload=%7Bnot"), NOW, |_| {});
    assert_eq!(genuine.unwrap_err().status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_account_without_webhooks_takes_none() {
    let (workspace, slack) = start(socket_mode()).await;
    let refused = ask(&workspace, &slack, (JSON, b"{}"), NOW, |_| {});
    assert_eq!(refused.unwrap_err().status, StatusCode::NOT_FOUND);
    let empty = EventDelivery::Events {
        signing_secret: Secret::new(""),
    };
    let unset = slack_at(workspace.api(), fake::BOT_TOKEN, empty);
    let refused = ask(&workspace, &unset, (JSON, b"{}"), NOW, |_| {});
    assert_eq!(refused.unwrap_err().status, StatusCode::UNAUTHORIZED);
    let (_, slack) = start(events_mode()).await;
    let refused = slack.hook(&WebhookRequest {
        method: "GET",
        query: "",
        headers: &HeaderMap::new(),
        body: b"",
        now: NOW * 1_000,
    });
    assert_eq!(refused.unwrap_err().status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_challenge_is_answered_with_itself() {
    let (workspace, slack) = start(events_mode()).await;
    let body = json!({ "type": "url_verification", "token": "x", "challenge": "3eZbrw1a" });
    let body = body.to_string();
    let hooked = ask(&workspace, &slack, (JSON, body.as_bytes()), NOW, |_| {}).unwrap();
    assert_eq!(
        (hooked.content_type, hooked.body.as_str()),
        ("text/plain", "3eZbrw1a")
    );
    assert!(hooked.events.is_empty());
}

#[tokio::test]
async fn a_retry_is_the_same_event() {
    let (workspace, slack) = start(events_mode()).await;
    let body = workspace
        .message("D0ADA", "U0ADA", "hi", json!({}))
        .to_string();
    let first = ask(&workspace, &slack, (JSON, body.as_bytes()), NOW, |_| {}).unwrap();
    let again = ask(
        &workspace,
        &slack,
        (JSON, body.as_bytes()),
        NOW + 60,
        |headers| {
            headers.insert("x-slack-retry-num", HeaderValue::from_static("1"));
            headers.insert(
                "x-slack-retry-reason",
                HeaderValue::from_static("http_timeout"),
            );
        },
    );
    assert_eq!(
        again.unwrap().events,
        first.events,
        "the first try may have been lost"
    );
}

#[tokio::test]
async fn buttons_and_commands_come_as_forms() {
    let (workspace, slack) = start(events_mode()).await;
    let form = |fields: &[(&str, &str)]| {
        url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish()
    };
    let payload = workspace.press("D0ADA", "U0ADA", "1699999999.000001", "no:17");
    let body = form(&[("payload", &payload.to_string())]);
    let hooked = ask(&workspace, &slack, (FORM, body.as_bytes()), NOW, |_| {}).unwrap();
    assert!(matches!(&hooked.events[0].what, InboundEvent::Button { data, .. } if data == "no:17"));
    assert_eq!(hooked.body, "");
    let body = form(&[
        ("command", "/ask"),
        ("text", "what time is it"),
        ("user_id", "U0ADA"),
        ("user_name", "ada"),
        ("channel_id", "D0ADA"),
        ("channel_name", "directmessage"),
        ("trigger_id", "13345224609.738474920.8088930838d88f008e0"),
    ]);
    let hooked = ask(&workspace, &slack, (FORM, body.as_bytes()), NOW, |_| {}).unwrap();
    let said = message(&hooked.events[0]);
    assert_eq!(
        (said.text.as_str(), said.mentioned),
        ("/ask what time is it", true)
    );
    assert_eq!(hooked.events[0].place.kind, PeerKind::Dm);
}

#[tokio::test]
async fn names_that_hooks_lack_are_looked_up_beside_them() {
    let (workspace, slack) = start(events_mode()).await;
    let slack = Arc::new(slack);
    let (sink, stop) = (Notebook::new(), CancellationToken::new());
    let listening = tokio::spawn({
        let (slack, sink, stop) = (Arc::clone(&slack), sink.clone(), stop.clone());
        async move { slack.listen(&sink, &stop).await }
    });
    sink.until(|pages| {
        pages
            .stood
            .contains(&ConnectionStatus::Connected)
            .then_some(())
    })
    .await;
    let body = workspace
        .message("C0GENERAL", "U0ADA", "hi", json!({}))
        .to_string();
    let hear = || ask(&workspace, &slack, (JSON, body.as_bytes()), NOW, |_| {}).unwrap();
    assert_eq!(hear().events[0].place.sender_name, None);
    let asked = |path| workspace.journal().at(path).len() == 1;
    let journal = workspace.journal();
    journal
        .until(|_| asked("/users.info") && asked("/conversations.info"))
        .await;
    // The answer is on its way when the request is in the journal.
    let mut event = hear().events.remove(0);
    while event.place.sender_name.is_none() || event.chat_name.is_none() {
        tokio::task::yield_now().await;
        event = hear().events.remove(0);
    }
    assert_eq!(event.place.sender_name.as_deref(), Some("Ada Lovelace"));
    stop.cancel();
    assert_eq!(listening.await.unwrap(), Ok(()));
}
