//! What is heard.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{Location, Media, MediaKind, Mention, Quoted};

#[tokio::test]
async fn a_text_is_heard_with_its_place_key_and_ticket() {
    let near = Near::new().await;
    let event = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "Hello, world"}));
    let all = near.receive(std::slice::from_ref(&event)).unwrap();
    let [heard] = &all[..] else { panic!("{all:?}") };
    assert_eq!(heard.event, event.0["webhookEventId"]);
    assert_eq!(heard.at, 1_692_251_666_727);
    assert_eq!(heard.place.kind, PeerKind::Dm);
    assert_eq!(heard.place.chat, ADA);
    assert_eq!(heard.place.sender.as_deref(), Some(ADA));
    assert_eq!(
        heard.place.message.as_deref(),
        event.0["message"]["id"].as_str()
    );
    let ticket = heard.ticket.as_deref().unwrap();
    assert!(ticket.starts_with(event.reply_token()), "{ticket}");
    let InboundEvent::Message(message) = &heard.what else {
        panic!()
    };
    assert_eq!(message.text, "Hello, world");
    assert!(!message.mentioned);
}

#[tokio::test]
async fn an_event_told_again_has_the_same_key() {
    let near = Near::new().await;
    let event = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "hi"}));
    let other = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "hi"}));
    let all = near.receive(&[event.again(), event, other]).unwrap();
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0].event, all[2].event);
}

#[tokio::test]
async fn groups_and_rooms_are_shared_and_only_a_mention_of_us_calls_us() {
    let near = Near::new().await;
    for chat in [GROUP, ROOM] {
        let (heard, message) = near.heard(chat, json!({"type": "text", "text": "lunch?"}));
        assert_eq!(
            (heard.place.kind, &*heard.place.chat),
            (PeerKind::Group, chat)
        );
        assert_eq!(heard.place.sender.as_deref(), Some(ADA));
        assert!(!message.mentioned);
    }
    // The smiling face has two units: LINE counts as JavaScript does.
    let said = json!({"type": "text", "text": "@Manyhands 😀 ask @Bob", "mention": {"mentionees": [
        {"index": 0, "length": 10, "type": "user", "userId": Fake::BOT, "isSelf": true},
        {"index": 18, "length": 4, "type": "user", "userId": BOB, "isSelf": false},
    ]}});
    let (_, message) = near.heard(GROUP, said);
    assert!(message.mentioned);
    assert_eq!(message.text, "😀 ask @Bob");
    let bob = Mention {
        id: Some(BOB.to_owned()),
        handle: None,
        name: Some("Bob".to_owned()),
    };
    assert_eq!(message.mentions, [bob]);
    let all = json!({"type": "text", "text": "@All hi", "mention": {"mentionees": [
        {"index": 0, "length": 4, "type": "all"}]}});
    assert!(!near.heard(GROUP, all).1.mentioned);
}

#[tokio::test]
async fn our_name_stays_within_a_sentence_and_goes_from_its_ends() {
    let near = Near::new().await;
    let us = |index: usize| json!({"index": index, "length": 4, "type": "user", "isSelf": true});
    for (text, at, left) in [
        ("tell @Bot to stop", vec![5], "tell @Bot to stop"),
        ("stop it @Bot", vec![8], "stop it"),
        ("@Bot stop @Bot", vec![0, 10], "stop"),
        ("@Bot", vec![0], ""),
        ("far", vec![4_000_000_000], "far"),
    ] {
        let mentionees: Vec<Value> = at.into_iter().map(us).collect();
        let mention = json!({"mentionees": mentionees});
        let said = json!({"type": "text", "text": text, "mention": mention});
        let (_, message) = near.heard(GROUP, said);
        assert!(message.mentioned);
        assert_eq!(message.text, left);
    }
}

#[tokio::test]
async fn a_quoted_message_of_ours_calls_us_and_one_of_others_does_not() {
    let near = Near::new().await;
    let say = crate::message::OutgoingMessage::text(group(), "shall I?");
    let ours = near
        .line
        .send("k1", &say, None)
        .await
        .unwrap()
        .message
        .unwrap();
    for (quoted, calls) in [(ours.as_str(), true), ("468789577898262530", false)] {
        let said = json!({"type": "text", "text": "yes", "quotedMessageId": quoted});
        let (_, message) = near.heard(GROUP, said);
        assert_eq!(message.mentioned, calls);
        let expect = Quoted {
            id: quoted.to_owned(),
            ..Quoted::default()
        };
        assert_eq!(message.quoted, Some(expect));
    }
}

#[tokio::test]
async fn every_kind_of_message_is_heard() {
    let near = Near::new().await;
    let line = json!({"type": "line"});
    let (heard, image) = near.heard(ADA, json!({"type": "image", "contentProvider": line}));
    assert_eq!(image.media[0].kind, MediaKind::Image);
    assert_eq!(Some(&image.media[0].id), heard.place.message.as_ref());
    let said = json!({"type": "audio", "duration": 6000, "contentProvider": line});
    assert_eq!(near.heard(ADA, said).1.media[0].kind, MediaKind::Voice);
    let said = json!({"type": "video", "duration": 6000, "contentProvider": {
        "type": "external", "originalContentUrl": "https://example.com/a.mp4"}});
    let video = near.heard(ADA, said).1;
    assert_eq!(video.media[0].kind, MediaKind::Video);
    assert_eq!(video.media[0].id, "https://example.com/a.mp4");
    let said = json!({"type": "file", "fileName": "a.pdf", "fileSize": 2138});
    let (heard, file) = near.heard(ADA, said);
    let expect = Media {
        kind: MediaKind::Document,
        id: heard.place.message.unwrap(),
        name: Some("a.pdf".to_owned()),
        mime: None,
        size: Some(2138),
    };
    assert_eq!(file.media, [expect]);
    let said = json!({"type": "location", "title": "my location", "address": "1-3 Kioicho",
        "latitude": 35.67966, "longitude": 139.73669});
    let place = near.heard(ADA, said).1;
    let expect = Location {
        latitude: 35.67966,
        longitude: 139.73669,
    };
    assert_eq!(place.location, Some(expect));
    assert_eq!(place.text, "my location\n1-3 Kioicho");
    let said = json!({"type": "sticker", "packageId": "446", "stickerId": "1988",
        "stickerResourceType": "ANIMATION", "keywords": ["cony", "sally"]});
    assert_eq!(near.heard(ADA, said).1.text, "[sticker: cony, sally]");
    let said = json!({"type": "sticker", "packageId": "1", "stickerId": "2",
        "stickerResourceType": "MESSAGE", "text": "on my way"});
    assert_eq!(near.heard(ADA, said).1.text, "[sticker: on my way]");
    // One that LINE will invent.
    let said = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "x"}));
    let body = near
        .fake
        .body(&[said])
        .replace("\"type\":\"text\"", "\"type\":\"hologram\"");
    let heard = near.told(&body).unwrap();
    let InboundEvent::Message(message) = &heard[0].what else {
        panic!()
    };
    assert_eq!(message.text, "[hologram]");
}

#[tokio::test]
async fn a_pressed_button_brings_what_it_carries() {
    let near = Near::new().await;
    let all = near
        .receive(&[near.fake.postback(GROUP, ADA, "ok:17")])
        .unwrap();
    let expect = InboundEvent::Button {
        data: "ok:17".to_owned(),
        callback: None,
    };
    assert_eq!(all[0].what, expect);
    assert_eq!(all[0].place.sender.as_deref(), Some(ADA));
    assert!(all[0].ticket.is_some());
}

#[tokio::test]
async fn what_is_no_message_or_is_broken_is_passed_over_and_the_rest_is_heard() {
    let near = Near::new().await;
    let mut standby = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "no"}));
    standby.0["mode"] = json!("standby");
    let events = [
        near.fake
            .event("unsend", ADA, ADA, &json!({"unsend": {"messageId": "1"}})),
        near.fake.event(
            "follow",
            ADA,
            ADA,
            &json!({"follow": {"isUnblocked": false}}),
        ),
        near.fake.event("join", GROUP, ADA, &json!({})),
        standby,
        near.fake
            .message(ADA, ADA, json!({"type": "text", "text": "yes"})),
    ];
    let mut told: Value = serde_json::from_str(&near.fake.body(&events)).unwrap();
    let mut broken = events[4].0.clone();
    broken["source"] = json!(7);
    let all = told["events"].as_array_mut().unwrap();
    all.splice(0..0, [broken, json!("nonsense"), json!(null)]);
    let all = near.told(&told.to_string()).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    // With this LINE asks whether somebody is there.
    assert_eq!(near.receive(&[]).unwrap(), []);
}

#[tokio::test]
async fn only_bytes_that_line_signed_are_read() {
    let near = Near::new().await;
    let event = near
        .fake
        .message(ADA, ADA, json!({"type": "text", "text": "é"}));
    let body = near.fake.body(&[event]);
    let signature = near.fake.sign(body.as_bytes());
    let refused = |signature: Option<&str>, body: &str| {
        let headers = match signature {
            Some(signature) => testing::headers(&[("x-line-signature", signature)]),
            None => testing::headers(&[]),
        };
        near.line
            .hook(&testing::posted(&headers, body))
            .err()
            .map(|error| error.status.as_u16())
    };
    assert_eq!(refused(Some(&signature), &body), None);
    assert_eq!(refused(None, &body), Some(401));
    assert_eq!(refused(Some(""), &body), Some(401));
    assert_eq!(refused(Some("%%%"), &body), Some(401));
    assert_eq!(refused(Some(&signature[..20]), &body), Some(401));
    let same: Value = serde_json::from_str(&body).unwrap();
    let again = serde_json::to_string_pretty(&same).unwrap();
    assert_eq!(refused(Some(&signature), &again), Some(401));
    let escaped = body.replace('é', "\\u00e9");
    assert_eq!(refused(Some(&signature), &escaped), Some(401));
    let other = Fake::start("t", "other-secret").await;
    assert_eq!(
        refused(Some(&other.sign(body.as_bytes())), &body),
        Some(401)
    );
    // Signed, and still nothing that can be read.
    for body in ["", "[]", "{\"events\": 7}", "{"] {
        let signature = near.fake.sign(body.as_bytes());
        assert_eq!(refused(Some(&signature), body), Some(400), "{body}");
    }
    let headers = testing::headers(&[("x-line-signature", &signature)]);
    let mut got = testing::posted(&headers, &body);
    got.method = "GET";
    assert_eq!(near.line.hook(&got).unwrap_err().status.as_u16(), 405);
}

#[tokio::test]
async fn nobody_can_sign_where_there_is_no_secret() {
    let near = Near::with(|account| account.secret = Secret::new("")).await;
    let open = Fake::start("t", "").await;
    let body = open.body(&[]);
    let headers = testing::headers(&[("x-line-signature", &open.sign(body.as_bytes()))]);
    let refused = near
        .line
        .hook(&testing::posted(&headers, &body))
        .unwrap_err();
    assert_eq!(refused.status.as_u16(), 401);
}

#[test]
fn nothing_that_is_signed_can_stop_the_reading() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let near = runtime.block_on(Near::new());
    let mention =
        json!({"mentionees": [{"index": 0, "length": 4, "type": "user", "isSelf": true}]});
    let said =
        json!({"type": "text", "text": "@Bot hi", "mention": mention, "quotedMessageId": "1"});
    let whole: Value = {
        let _inside = runtime.enter();
        let event = near.fake.message(GROUP, ADA, said);
        serde_json::from_str(&near.fake.body(&[event])).unwrap()
    };
    proptest!(|(at in any::<usize>(), with in testing::any_json())| {
        let mut told = whole.clone();
        testing::mangle(&mut told, at, with);
        // What was heard is not the point; that it comes back is.
        let _ = near.told(&told.to_string());
    });
}
