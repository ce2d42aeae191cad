//! What is heard.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::channel::WebhookRequest;
use crate::message::{Location, Media, MediaKind, Quoted};

#[tokio::test]
async fn a_text_is_heard_with_its_place_key_and_name() {
    let near = Near::new().await;
    let message = near.fake.message(
        ADA,
        "text",
        &json!({"text": {"body": "Does it *come* in ~another~ _colour_?"}}),
    );
    let all = near.told(&[message.clone(), message.clone()], &[]);
    assert_eq!(all[0], all[1]);
    let heard = &all[0];
    assert_eq!(heard.event, message["id"]);
    assert_eq!(heard.at, 1_749_416_383_000);
    assert_eq!((heard.place.kind, &*heard.place.chat), (PeerKind::Dm, ADA));
    assert_eq!(heard.place.sender.as_deref(), Some(ADA));
    assert_eq!(heard.place.sender_name.as_deref(), Some("Sheena Nelson"));
    assert_eq!(heard.place.message.as_deref(), message["id"].as_str());
    let InboundEvent::Message(message) = &heard.what else {
        panic!()
    };
    assert_eq!(message.text, "Does it **come** in ~~another~~ _colour_?");
    assert!(!message.mentioned);
}

#[tokio::test]
async fn every_kind_of_message_is_heard() {
    let near = Near::new().await;
    let image = near.said(
        "image",
        &json!({"image": {"id": "1003383421387256", "mime_type": "image/jpeg",  "caption": "*Taj* Mahal"}}),
    );
    let expect = Media {
        kind: MediaKind::Image,
        id: "1003383421387256".to_owned(),
        name: None,
        mime: Some("image/jpeg".to_owned()),
        size: None,
    };
    assert_eq!(
        (&*image.text, &image.media[..]),
        ("**Taj** Mahal", &[expect][..])
    );
    let audio = |voice: bool| json!({"audio": {"id": "2", "mime_type": "audio/ogg; codecs=opus", "voice": voice}});
    let voice = near.said("audio", &audio(true));
    assert_eq!(voice.media[0].kind, MediaKind::Voice);
    assert_eq!(voice.media[0].mime.as_deref(), Some("audio/ogg"));
    assert_eq!(
        near.said("audio", &audio(false)).media[0].kind,
        MediaKind::Audio
    );
    let video = near.said(
        "video",
        &json!({"video": {"id": "3", "mime_type": "video/mp4"}}),
    );
    assert_eq!(video.media[0].kind, MediaKind::Video);
    let document = near.said(
        "document",
        &json!({"document": {"id": "4", "mime_type": "application/pdf", "filename": "bill.pdf"}}),
    );
    assert_eq!(document.media[0].name.as_deref(), Some("bill.pdf"));
    let sticker = near.said(
        "sticker",
        &json!({"sticker": {"id": "5", "mime_type": "image/webp", "animated": false}}),
    );
    assert_eq!(
        (&*sticker.text, sticker.media[0].kind),
        ("[sticker]", MediaKind::Image)
    );
    let place = near.said(
        "location",
        &json!({"location": {"latitude": 38.9806, "longitude": -94.6855,
        "name": "Main Street Beach", "address": "Main St"}}),
    );
    let expect = Location {
        latitude: 38.9806,
        longitude: -94.6855,
    };
    assert_eq!(
        (place.location, &*place.text),
        (Some(expect), "Main Street Beach\nMain St")
    );
    let contacts = near.said(
        "contacts",
        &json!({"contacts": [{"name": {"formatted_name": "Barbara J. Johnson"},
        "phones": [{"phone": "+1 650-555-1234", "type": "CELL"}]}]}),
    );
    assert_eq!(
        contacts.text,
        "[contact: Barbara J. Johnson, +1 650-555-1234]"
    );
    let odd = near.said(
        "unsupported",
        &json!({"errors": [{"code": 131051,
            "title": "Message type unknown", "message": "Message type unknown",
            "error_data": {"details": "Message type is currently not supported."}}]}),
    );
    assert_eq!(odd.text, "[unsupported WhatsApp message]");
    assert_eq!(
        near.said(
            "order",
            &json!({"order": {"catalog_id": "1", "text": "", "product_items": []}})
        )
        .text,
        "[order]"
    );
}

#[tokio::test]
async fn an_answer_to_us_calls_us_and_one_to_others_does_not() {
    let near = Near::new().await;
    for (from, calls) in [(Fake::NUMBER, true), ("16505550000", false)] {
        let message = near.said(
            "text",
            &json!({"text": {"body": "yes"}, "context": {"from": from, "id": "wamid.q"}}),
        );
        assert_eq!(message.mentioned, calls);
        let quoted = Quoted {
            id: "wamid.q".to_owned(),
            text: None,
            sender: Some(from.to_owned()),
        };
        assert_eq!(message.quoted, Some(quoted));
    }
}

#[tokio::test]
async fn a_group_is_shared_and_its_members_call_us_by_our_number() {
    let near = Near::new().await;
    let said = json!({"group_id": GROUP, "text": {"body": format!("@{} look", Fake::NUMBER)}});
    let heard = near.heard("text", &said);
    assert_eq!(
        (heard.place.kind, &*heard.place.chat),
        (PeerKind::Group, GROUP)
    );
    assert_eq!(heard.place.sender.as_deref(), Some(ADA));
    let InboundEvent::Message(message) = heard.what else {
        panic!()
    };
    assert_eq!((message.mentioned, &*message.text), (true, "look"));
    let said = json!({"group_id": GROUP, "text": {"body": "look"}});
    assert!(!near.said("text", &said).mentioned);
}

#[tokio::test]
async fn pressed_buttons_bring_what_they_carry() {
    let near = Near::new().await;
    let context = json!({"from": Fake::NUMBER, "id": "wamid.ours"});
    let reply = json!({"context": context, "interactive": {"type": "button_reply", "button_reply": {"id": "ok:1", "title": "Yes"}}});
    let list = json!({"context": context, "interactive": {"type": "list_reply", "list_reply": {"id": "ok:1", "title": "Yes", "description": "d"}}});
    let template = json!({"context": context, "button": {"payload": "ok:1", "text": "Yes"}});
    for (kind, what) in [
        ("interactive", reply),
        ("interactive", list),
        ("button", template),
    ] {
        let heard = near.heard(kind, &what);
        let expect = InboundEvent::Button {
            data: "ok:1".to_owned(),
            callback: Some(heard.event.clone()),
        };
        assert_eq!(heard.what, expect);
        assert_eq!(heard.place.message.as_deref(), Some("wamid.ours"));
    }
}

#[tokio::test]
async fn reactions_name_the_message_and_can_be_taken_back() {
    let near = Near::new().await;
    let heard = near.heard(
        "reaction",
        &json!({"reaction": {"message_id": "wamid.ours", "emoji": "👍"}}),
    );
    assert_eq!(heard.place.message.as_deref(), Some("wamid.ours"));
    let expect = InboundEvent::Reaction {
        emoji: "👍".to_owned(),
        removed: false,
    };
    assert_eq!(heard.what, expect);
    let heard = near.heard(
        "reaction",
        &json!({"reaction": {"message_id": "wamid.ours"}}),
    );
    assert!(matches!(
        heard.what,
        InboundEvent::Reaction { removed: true, .. }
    ));
}

#[tokio::test]
async fn only_what_failed_is_news_whatever_came_before_it() {
    let near = Near::new().await;
    let errors = json!([{"code": 131047, "title": "Re-engagement message", "message": "Re-engagement message",
        "error_data": {"details": "Message failed to send because more than 24 hours have passed"}}]);
    let statuses = [
        near.fake.status("wamid.a", ADA, "read", &Value::Null),
        near.fake.status("wamid.b", ADA, "failed", &errors),
        near.fake.status("wamid.a", ADA, "delivered", &Value::Null),
        near.fake.status("wamid.b", ADA, "sent", &Value::Null),
        near.fake.status("wamid.b", ADA, "failed", &errors),
    ];
    let all = near.told(&[], &statuses);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], all[1]);
    assert_eq!(
        (&*all[0].event, &*all[0].place.chat),
        ("wamid.b:failed", ADA)
    );
    let InboundEvent::Failed { message, why } = &all[0].what else {
        panic!()
    };
    assert_eq!(message, "wamid.b");
    assert!(
        why.contains("131047") && why.contains("once they have written"),
        "{why}"
    );
}

#[tokio::test]
async fn our_own_words_other_numbers_and_broken_events_are_passed_over() {
    let near = Near::new().await;
    let text = json!({"text": {"body": "hi"}});
    let own = near.fake.message(Fake::NUMBER, "text", &text);
    let system = json!({"system": {"type": "user_changed_number", "body": "x", "wa_id": "1"}});
    let system = near.fake.message(ADA, "system", &system);
    let good = near.fake.message(ADA, "text", &text);
    let body = near.fake.body(&[own, system, good.clone()], &[]);
    let mut told: Value = serde_json::from_str(&body).unwrap();
    let value = &mut told["entry"][0]["changes"][0]["value"];
    let mut broken = good.clone();
    broken["timestamp"] = json!({});
    let mut edit = good.clone();
    edit["type"] = json!("edit");
    let messages = value["messages"].as_array_mut().unwrap();
    messages.splice(0..0, [broken, json!("nonsense"), edit]);
    let all = near.hooked(&told.to_string());
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].event, good["id"]);
    // One app tells of all its numbers.
    let body = near.fake.body(std::slice::from_ref(&good), &[]);
    assert_eq!(near.hooked(&body.replace(Fake::PHONE, "1")), []);
    assert_eq!(
        near.hooked(&body.replace("\"field\":\"messages\"", "\"field\":\"account_update\"")),
        []
    );
    assert_eq!(near.hooked(&body).len(), 1);
    for odd in ["{\"entry\":[]}", "{\"entry\":[7,{\"changes\":{}}]}"] {
        assert_eq!(near.hooked(odd), []);
    }
}

#[tokio::test]
async fn only_bytes_that_meta_signed_are_read() {
    let near = Near::new().await;
    let message = near
        .fake
        .message(ADA, "text", &json!({"text": {"body": "é"}}));
    let body = near.fake.body(&[message], &[]);
    let signature = near.fake.sign(body.as_bytes());
    let refused = |signature: Option<&str>, body: &str| {
        let headers = match signature {
            Some(signature) => testing::headers(&[("x-hub-signature-256", signature)]),
            None => testing::headers(&[("x-hub-signature", "sha1=0")]),
        };
        let hooked = near.whatsapp.hook(&testing::posted(&headers, body));
        hooked.err().map(|error| error.status.as_u16())
    };
    assert_eq!(refused(Some(&signature), &body), None);
    assert_eq!(refused(None, &body), Some(401));
    let digits = signature.strip_prefix("sha256=").unwrap();
    for wrong in [
        "",
        "sha256=",
        digits,
        "sha256=+f",
        &signature[..70],
        &format!("sha256={}", "zz".repeat(32)),
    ] {
        assert_eq!(refused(Some(wrong), &body), Some(401), "{wrong}");
    }
    let plus = format!("sha256={}", "+1".repeat(32));
    assert_eq!(refused(Some(&plus), &body), Some(401));
    let same: Value = serde_json::from_str(&body).unwrap();
    let again = serde_json::to_string_pretty(&same).unwrap();
    assert_eq!(refused(Some(&signature), &again), Some(401));
    assert_eq!(
        refused(Some(&signature), &body.replace('é', "\\u00e9")),
        Some(401)
    );
    let other = Fake::start("t", "other").await;
    assert_eq!(
        refused(Some(&other.sign(body.as_bytes())), &body),
        Some(401)
    );
    for body in ["", "[]", "{", "{\"entry\":7}"] {
        assert_eq!(
            refused(Some(&near.fake.sign(body.as_bytes())), body),
            Some(400),
            "{body}"
        );
    }
    let near = Near::with(|account| account.secret = Secret::new("")).await;
    let open = Fake::start("t", "").await;
    let headers = testing::headers(&[("x-hub-signature-256", &open.sign(body.as_bytes()))]);
    assert!(
        near.whatsapp
            .hook(&testing::posted(&headers, &body))
            .is_err()
    );
}

#[tokio::test]
async fn the_challenge_is_repeated_to_whoever_knows_the_word() {
    let near = Near::new().await;
    let headers = testing::headers(&[]);
    let ask = |query: &str| {
        let hook = WebhookRequest {
            method: "GET",
            query,
            headers: &headers,
            body: b"",
            now: 0,
        };
        near.whatsapp.hook(&hook)
    };
    let good =
        ask("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=open+sesame").unwrap();
    assert_eq!((&*good.body, good.events.len()), ("1158201444", 0));
    assert_eq!(good.content_type, "text/plain");
    for (query, status) in [
        (
            "hub.mode=subscribe&hub.challenge=1&hub.verify_token=open",
            403,
        ),
        ("hub.mode=subscribe&hub.challenge=1&hub.verify_token=", 403),
        ("hub.mode=subscribe&hub.challenge=1", 403),
        (
            "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=open+sesame",
            403,
        ),
        ("hub.mode=subscribe&hub.verify_token=open+sesame", 400),
        ("", 403),
    ] {
        assert_eq!(ask(query).unwrap_err().status.as_u16(), status, "{query}");
    }
    let near = Near::with(|account| account.verify = Secret::new("")).await;
    let hook = WebhookRequest {
        method: "GET",
        query: "hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
        headers: &headers,
        body: b"",
        now: 0,
    };
    assert!(near.whatsapp.hook(&hook).is_err());
}

#[tokio::test]
async fn whoever_keeps_their_number_to_themselves_is_heard_and_answered() {
    let near = Near::new().await;
    let said = near
        .fake
        .message(ADA, "text", &json!({"text": {"body": "hi"}}));
    let body = near.fake.body(&[said], &[]);
    let scoped = "US.13491208655302741918";
    let body = body.replace("\"from\":", "\"from_user_id\":");
    let body = body
        .replace("\"wa_id\":", "\"user_id\":")
        .replace(ADA, scoped);
    let body = body.replace("\"name\":", "\"username\":\"@sheena\",\"name\":");
    let heard = &near.hooked(&body)[0];
    assert_eq!(
        (&*heard.place.chat, heard.handle.as_deref()),
        (scoped, Some("sheena"))
    );
    assert_eq!(heard.place.sender_name.as_deref(), Some("Sheena Nelson"));
    let say = crate::message::OutgoingMessage::text(heard.place.chat_only(), "hello");
    near.whatsapp.send("k", &say, None).await.unwrap();
    let arrived = near.fake.arrived();
    assert_eq!(
        (&arrived[0]["recipient"], &arrived[0]["to"]),
        (&json!(scoped), &Value::Null)
    );
}

#[test]
fn nothing_that_is_signed_can_stop_the_reading() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let near = runtime.block_on(Near::new());
    let context = json!({"from": Fake::NUMBER, "id": "wamid.q"});
    let interactive = json!({"type": "button_reply", "button_reply": {"id": "1", "title": "y"}});
    let audio = json!({"id": "2", "mime_type": "audio/ogg", "voice": true});
    let messages = [
        near.fake.message(
            ADA,
            "text",
            &json!({"text": {"body": "*a* ~b~ `c`"}, "context": context}),
        ),
        near.fake
            .message(ADA, "interactive", &json!({"interactive": interactive})),
        near.fake.message(ADA, "audio", &json!({"audio": audio})),
    ];
    let errors = json!([{"code": 1, "title": "t", "message": "t", "error_data": {"details": "d"}}]);
    let failed = near.fake.status("wamid.b", ADA, "failed", &errors);
    let whole: Value = serde_json::from_str(&near.fake.body(&messages, &[failed])).unwrap();
    proptest!(|(at in any::<usize>(), with in testing::any_json())| {
        let mut told = whole.clone();
        testing::mangle(&mut told, at, with);
        // What was heard is not the point; that it comes back is.
        let _ = near.signed(&told.to_string());
    });
}
