use manyhands_core::PeerKind;
use manyhands_platforms::discord::{ADA, BOT, CHANNEL, DIRECT, ROLE, SERVER, THREAD, UNTOLD};
use serde_json::{Value, json};

use super::{Rig, said};
use crate::channel::{Channel, SendError};
use crate::message::{Inbound, InboundEvent, MediaKind};

/// What is heard of one event.
async fn receive(name: &str, event: impl FnOnce(&Rig) -> Value) -> (Rig, Inbound) {
    let (rig, listening) = Rig::connected().await;
    rig.far.deliver(name, event(&rig));
    let mut heard = rig.sink.heard(1).await;
    listening.stop().await.unwrap();
    (rig, heard.remove(0))
}

#[tokio::test]
async fn a_direct_message_is_heard_with_who_said_it_and_when() {
    let (_, heard) = receive("MESSAGE_CREATE", |rig| {
        rig.far.message(DIRECT, "**hello** there", json!({}))
    })
    .await;
    assert_eq!(heard.place.kind, PeerKind::Dm);
    assert_eq!(heard.place.chat, DIRECT);
    assert_eq!(heard.place.thread, None);
    assert_eq!(heard.place.sender.as_deref(), Some(ADA));
    assert_eq!(heard.place.sender_name.as_deref(), Some("Ada L."));
    assert_eq!(heard.handle.as_deref(), Some("ada"));
    let id = heard.place.message.clone().unwrap();
    assert_eq!(heard.event, format!("message:{id}"));
    assert!(
        (1_793_000_000_000..1_794_000_000_000).contains(&heard.at),
        "{}",
        heard.at
    );
    assert!(!heard.from_bot);
    assert_eq!(said(&heard).text, "**hello** there");
    assert!(!said(&heard).mentioned);
}

#[tokio::test]
async fn channels_and_threads_are_told_apart_by_what_discord_says_of_them() {
    let (rig, listening) = Rig::connected().await;
    for chat in [CHANNEL, THREAD, UNTOLD, "555"] {
        rig.far
            .deliver("MESSAGE_CREATE", rig.far.message(chat, "hi", json!({})));
    }
    let heard = rig.sink.heard(4).await;
    let places: Vec<_> = heard
        .iter()
        .map(|one| {
            let (place, name) = (&one.place, one.chat_name.as_deref());
            (
                place.kind,
                place.chat.as_str(),
                place.thread.as_deref(),
                name,
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            (PeerKind::Channel, CHANNEL, None, Some("general")),
            (PeerKind::Thread, CHANNEL, Some(THREAD), Some("plans")),
            (PeerKind::Thread, CHANNEL, Some(UNTOLD), Some("later")),
            (PeerKind::Channel, "555", None, None),
        ]
    );
    assert_eq!(heard[0].place.sender_name.as_deref(), Some("Countess"));
    // Only what was not told is asked for, once.
    rig.far
        .deliver("MESSAGE_CREATE", rig.far.message(UNTOLD, "hi", json!({})));
    rig.far
        .deliver("MESSAGE_CREATE", rig.far.message("555", "hi", json!({})));
    rig.sink.heard(6).await;
    assert_eq!(rig.far.journal().at("/channels/{channel_id}").len(), 2);
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn a_mention_an_answer_and_a_role_call_us_and_nothing_else_does() {
    let (rig, listening) = Rig::connected().await;
    let bot = json!({ "id": BOT, "username": "hands" });
    let ada = json!({ "id": ADA, "username": "ada", "global_name": "Ada L." });
    let cases = [
        (
            format!("<@{BOT}> do it"),
            json!({ "mentions": [bot] }),
            true,
            "do it",
        ),
        (
            "yes".to_owned(),
            json!({
                "type": 19,
                "message_reference": { "message_id": "77", "channel_id": CHANNEL },
                "referenced_message": { "id": "77", "content": "Shall I?", "author": bot },
            }),
            true,
            "yes",
        ),
        (
            format!("<@&{ROLE}> hi"),
            json!({ "mention_roles": [ROLE] }),
            true,
            "@role hi",
        ),
        (
            "<@&12> hi".to_owned(),
            json!({ "mention_roles": ["12"] }),
            false,
            "@role hi",
        ),
        (
            "@everyone".to_owned(),
            json!({ "mention_everyone": true }),
            false,
            "@everyone",
        ),
        (
            format!("<@{ADA}> hi"),
            json!({ "mentions": [ada] }),
            false,
            "@Ada L. hi",
        ),
        (
            "yes".to_owned(),
            json!({
                "type": 19, "message_reference": { "message_id": "78" }, "referenced_message": null,
            }),
            false,
            "yes",
        ),
    ];
    for (text, more, ..) in &cases {
        rig.far.deliver(
            "MESSAGE_CREATE",
            rig.far.message(CHANNEL, text, more.clone()),
        );
    }
    let heard = rig.sink.heard(cases.len()).await;
    for ((text, _, mentioned, meant), heard) in cases.iter().zip(&heard) {
        assert_eq!(said(heard).mentioned, *mentioned, "{text}");
        assert_eq!(said(heard).text, *meant);
    }
    let quoted = said(&heard[1]).quoted.clone().unwrap();
    assert_eq!(
        (quoted.id.as_str(), quoted.text.as_deref()),
        ("77", Some("Shall I?"))
    );
    assert_eq!(quoted.sender.as_deref(), Some(BOT));
    assert_eq!(said(&heard[5]).mentions[0].id.as_deref(), Some(ADA));
    assert_eq!(said(&heard[6]).quoted.clone().unwrap().id, "78");
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn files_voices_stickers_polls_and_what_is_passed_on_are_heard() {
    let (rig, listening) = Rig::connected().await;
    let file = |name: &str, mime: &str| rig.far.put_file(name, mime, "bytes");
    let cases = [
        json!({ "attachments": [file("a.png", "image/png"), file("b.pdf", "application/pdf")] }),
        json!({ "flags": 8192, "attachments": [file("voice-message.ogg", "audio/ogg")] }),
        json!({ "attachments": [file("song.mp3", "audio/mpeg"), file("c.mp4", "video/mp4")] }),
        json!({ "sticker_items": [{ "id": "1", "name": "Wave", "format_type": 1 }] }),
        json!({ "poll": { "question": { "text": "Tea?" }, "answers": [
            { "poll_media": { "text": "yes" } }, { "poll_media": { "text": "no" } }] } }),
        json!({
            "message_reference": { "type": 1, "message_id": "5" },
            "message_snapshots": [{ "message": { "content": "passed on", "attachments": [file("d.txt", "text/plain")] } }],
        }),
    ];
    for more in &cases {
        rig.far
            .deliver("MESSAGE_CREATE", rig.far.message(DIRECT, "", more.clone()));
    }
    let heard = rig.sink.heard(cases.len()).await;
    let kinds: Vec<Vec<MediaKind>> = heard
        .iter()
        .map(|one| said(one).media.iter().map(|media| media.kind).collect())
        .collect();
    assert_eq!(
        kinds[..3],
        [
            vec![MediaKind::Image, MediaKind::Document],
            vec![MediaKind::Voice],
            vec![MediaKind::Audio, MediaKind::Video],
        ]
    );
    let texts: Vec<&str> = heard.iter().map(|one| said(one).text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "",
            "",
            "",
            "[sticker: Wave]",
            "[poll: Tea? (yes / no)]",
            "passed on"
        ]
    );
    assert_eq!(said(&heard[5]).quoted, None);
    assert_eq!(said(&heard[5]).media[0].name.as_deref(), Some("d.txt"));
    let media = &said(&heard[0]).media[1];
    assert_eq!(
        (media.name.as_deref(), media.size),
        (Some("b.pdf"), Some(5))
    );
    assert_eq!(rig.near.fetch(media, 5).await.unwrap(), "bytes");
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn a_file_is_fetched_only_from_discord_and_only_as_much_as_wanted() {
    let (rig, heard) = receive("MESSAGE_CREATE", |rig| {
        let files = [rig
            .far
            .put_file("a.bin", "application/octet-stream", vec![7; 1_000])];
        rig.far.message(DIRECT, "", json!({ "attachments": files }))
    })
    .await;
    let media = said(&heard).media[0].clone();
    assert_eq!(rig.near.fetch(&media, 1_000).await.unwrap().len(), 1_000);
    let mut unsized_one = media.clone();
    unsized_one.size = None;
    for media in [&media, &unsized_one] {
        let error = rig.near.fetch(media, 999).await.unwrap_err();
        assert!(
            matches!(&error, SendError::Never(why) if why.contains("larger")),
            "{error}"
        );
    }
    let before = rig.far.journal().all().len();
    for elsewhere in [
        "https://example.org/a.bin",
        "http://127.0.0.1:9/a",
        "file:///etc/passwd",
        "x",
    ] {
        let mut other = media.clone();
        other.id = elsewhere.to_owned();
        let error = rig.near.fetch(&other, 1_000).await.unwrap_err();
        assert!(matches!(error, SendError::Never(_)), "{elsewhere}: {error}");
    }
    assert_eq!(rig.far.journal().all().len(), before);
    let mut gone = media;
    gone.id = gone.id.replace("ex=1", "ex=0");
    assert!(matches!(
        rig.near.fetch(&gone, 1_000).await,
        Err(SendError::Never(_))
    ));
}

#[tokio::test]
async fn what_is_ours_edited_or_said_by_nobody_is_not_heard_and_bots_are_marked() {
    let (rig, listening) = Rig::connected().await;
    let own = json!({ "author": { "id": BOT, "username": "hands", "bot": true } });
    let tell = |name: &str, more: Value| {
        rig.far.deliver(name, rig.far.message(CHANNEL, "no", more));
    };
    tell("MESSAGE_CREATE", own);
    tell(
        "MESSAGE_UPDATE",
        json!({ "edited_timestamp": "2026-11-01T10:00:00Z" }),
    );
    tell("MESSAGE_DELETE", json!({}));
    tell("MESSAGE_CREATE", json!({ "type": 7 }));
    tell("MESSAGE_CREATE", json!({ "author": null }));
    tell("SOMETHING_NEW", json!({}));
    tell(
        "MESSAGE_CREATE",
        json!({ "author": { "id": "9", "username": "rss", "bot": true } }),
    );
    tell("MESSAGE_CREATE", json!({ "webhook_id": "8" }));
    let heard = rig.sink.heard(2).await;
    assert_eq!(heard.len(), 2);
    assert!(heard.iter().all(|one| one.from_bot));
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn a_reaction_is_heard_with_its_message_and_what_is_taken_back_too() {
    let (rig, listening) = Rig::connected().await;
    let event = |emoji: Value, user: &str| {
        json!({
            "user_id": user, "channel_id": CHANNEL, "message_id": "70", "guild_id": SERVER,
            "emoji": emoji, "member": { "nick": "Countess", "user": { "id": ADA, "username": "ada" } },
        })
    };
    rig.far.deliver(
        "MESSAGE_REACTION_ADD",
        event(json!({ "id": null, "name": "👍" }), BOT),
    );
    rig.far.deliver(
        "MESSAGE_REACTION_ADD",
        event(json!({ "id": null, "name": "👍" }), ADA),
    );
    rig.far.deliver(
        "MESSAGE_REACTION_ADD",
        event(json!({ "id": "5", "name": "party" }), ADA),
    );
    rig.far.deliver(
        "MESSAGE_REACTION_REMOVE",
        event(json!({ "id": null, "name": "👍" }), ADA),
    );
    let heard = rig.sink.heard(3).await;
    let reactions: Vec<_> = heard.iter().map(|one| one.what.clone()).collect();
    let reaction = |emoji: &str, removed| InboundEvent::Reaction {
        emoji: emoji.to_owned(),
        removed,
    };
    assert_eq!(
        reactions,
        [
            reaction("👍", false),
            reaction("party:5", false),
            reaction("👍", true)
        ]
    );
    assert!(
        heard
            .iter()
            .all(|one| one.place.message.as_deref() == Some("70"))
    );
    assert!(
        heard
            .iter()
            .all(|one| one.place.sender.as_deref() == Some(ADA))
    );
    assert_ne!(heard[0].event, heard[2].event);
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn a_pressed_button_is_answered_once_it_is_kept_and_whispered_to_afterwards() {
    let (rig, listening) = Rig::connected().await;
    rig.sink.inner().failing = 1;
    rig.far
        .deliver("INTERACTION_CREATE", rig.far.press(THREAD, "71", "allow:1"));
    rig.sink
        .until(|kept| (kept.failed == 1).then_some(()))
        .await;
    // It was not kept, so nothing is answered: it comes again with the session.
    let callback = "/interactions/{interaction_id}/{interaction_token}/callback";
    assert!(rig.far.journal().at(callback).is_empty());
    let heard = rig.sink.heard(1).await.remove(0);
    rig.far.answered(1).await;
    assert_eq!(rig.far.journal().at(callback)[0].body, json!({ "type": 6 }));
    assert_eq!(heard.place.message.as_deref(), Some("71"));
    assert_eq!(
        (heard.place.chat.as_str(), heard.place.thread.as_deref()),
        (CHANNEL, Some(THREAD))
    );
    assert!(matches!(&heard.what, InboundEvent::Button { data, .. } if data == "allow:1"));
    rig.near.acknowledge_button(&heard, "").await.unwrap();
    assert!(rig.far.whispers().is_empty());
    rig.near
        .acknowledge_button(&heard, "Allowed, @everyone")
        .await
        .unwrap();
    let whisper = &rig.far.whispers()[0];
    assert_eq!(whisper["content"], "Allowed, @everyone");
    assert_eq!(
        (&whisper["flags"], &whisper["allowed_mentions"]["parse"]),
        (&json!(64), &json!([]))
    );
    let mut late = heard;
    late.what = InboundEvent::Button {
        data: String::new(),
        callback: Some("1/expired".to_owned()),
    };
    assert!(matches!(
        rig.near.acknowledge_button(&late, "x").await,
        Err(SendError::Never(_))
    ));
    listening.stop().await.unwrap();
}
