//! Claims about reading what happens.

use serde_json::json;

use super::*;
use crate::message::{Media, MediaKind};

#[tokio::test]
async fn a_message_is_read_with_everything_around_it() {
    let (workspace, slack) = start(events_mode()).await;
    slack.me().await.unwrap();
    let payload = workspace.message("C0GENERAL", "U0ADA", "*hi* <@U0EVE> &amp; all", json!({}));
    let inbound = read(&slack, &payload).await.unwrap();
    let ts = payload["event"]["ts"].as_str().unwrap();
    assert_eq!(inbound.event, format!("message:C0GENERAL:{ts}"));
    assert_eq!(inbound.at, 1_700_000_000_000);
    let place = &inbound.place;
    assert_eq!(
        (
            place.channel.as_str(),
            place.account.as_str(),
            place.kind,
            place.chat.as_str()
        ),
        ("slack", "team", PeerKind::Channel, "C0GENERAL")
    );
    assert_eq!(place.message.as_deref(), Some(ts));
    assert_eq!(place.sender.as_deref(), Some("U0ADA"));
    assert_eq!(place.sender_name.as_deref(), Some("Ada Lovelace"));
    assert_eq!(inbound.handle.as_deref(), Some("ada"));
    assert_eq!(inbound.chat_name.as_deref(), Some("general"));
    assert!(!inbound.from_bot && place.thread.is_none());
    let said = message(&inbound);
    assert_eq!(said.text, "**hi** @Eve & all");
    assert!(!said.mentioned);
    assert_eq!(said.mentions[0].id.as_deref(), Some("U0EVE"));
}

#[tokio::test]
async fn each_kind_of_chat_is_told_apart() {
    let (workspace, slack) = start(events_mode()).await;
    for (chat, kind) in [
        ("D0ADA", PeerKind::Dm),
        ("G0GROUP", PeerKind::Group),
        ("C0GENERAL", PeerKind::Channel),
    ] {
        let payload = workspace.message(chat, "U0ADA", "hi", json!({}));
        assert_eq!(
            read(&slack, &payload).await.unwrap().place.kind,
            kind,
            "{chat}"
        );
    }
    // A private channel is told as a group, and has a C like any other.
    let private = json!({ "channel_type": "group" });
    let payload = workspace.message("C0OTHER", "U0ADA", "hi", private);
    assert_eq!(
        read(&slack, &payload).await.unwrap().place.kind,
        PeerKind::Channel
    );
    let without = json!({ "type": "app_mention", "channel_type": null });
    let payload = workspace.message("G0GROUP", "U0ADA", "hi", without);
    assert_eq!(
        read(&slack, &payload).await.unwrap().place.kind,
        PeerKind::Group
    );
}

#[tokio::test]
async fn one_message_is_one_event_however_it_is_told() {
    let (workspace, slack) = start(events_mode()).await;
    slack.me().await.unwrap();
    let first = workspace.message("C0GENERAL", "U0ADA", "<@U0BOT> hi", json!({}));
    let mut event = first["event"].clone();
    event["type"] = json!("app_mention");
    event.as_object_mut().unwrap().remove("channel_type");
    let second = workspace.callback(event);
    assert_ne!(first["event_id"], second["event_id"]);
    let first = read(&slack, &first).await.unwrap();
    let second = read(&slack, &second).await.unwrap();
    assert_eq!(first, second, "word for word, whichever comes first");
    assert!(message(&first).mentioned);
    assert_eq!(message(&first).text, "hi");
    let other = workspace.message("C0OTHER", "U0ADA", "<@U0BOT> hi", json!({}));
    assert_ne!(read(&slack, &other).await.unwrap().event, first.event);
}

#[tokio::test]
async fn we_are_known_by_what_stands_around_an_event() {
    let (workspace, slack) = start(events_mode()).await;
    let payload = workspace.message("C0GENERAL", "U0ADA", "<@U0BOT>: hi", json!({}));
    let inbound = slack.read_event(&payload).unwrap().unwrap();
    assert!(
        message(&inbound).mentioned,
        "before anybody asked who we are"
    );
    assert_eq!(message(&inbound).text, "hi");
}

#[tokio::test]
async fn threads_are_places_of_their_own_and_answers_in_ours_call_us() {
    let (workspace, slack) = start(events_mode()).await;
    slack.me().await.unwrap();
    for (chat, parent, kind, called) in [
        ("C0GENERAL", "U0BOT", PeerKind::Thread, true),
        ("C0GENERAL", "U0EVE", PeerKind::Thread, false),
        ("D0ADA", "U0BOT", PeerKind::Dm, true),
    ] {
        let more = json!({ "thread_ts": "1699999999.000001", "parent_user_id": parent });
        let payload = workspace.message(chat, "U0ADA", "so?", more);
        let inbound = read(&slack, &payload).await.unwrap();
        assert_eq!(inbound.place.kind, kind);
        assert_eq!(inbound.place.thread.as_deref(), Some("1699999999.000001"));
        assert_eq!(message(&inbound).mentioned, called, "{chat} {parent}");
    }
    let broadcast = json!({ "subtype": "thread_broadcast", "thread_ts": "1699999999.000001",
        "root": { "ts": "1699999999.000001" } });
    let payload = workspace.message("C0GENERAL", "U0ADA", "all hear", broadcast);
    let inbound = read(&slack, &payload).await.unwrap();
    assert_eq!(inbound.place.thread.as_deref(), Some("1699999999.000001"));
}

#[tokio::test]
async fn what_is_nobody_saying_something_new_is_not_heard() {
    let (workspace, slack) = start(events_mode()).await;
    slack.me().await.unwrap();
    for more in [
        json!({ "subtype": "message_changed", "message": { "text": "new" }, "hidden": true }),
        json!({ "subtype": "message_deleted", "deleted_ts": "1.2" }),
        json!({ "subtype": "channel_join" }),
        json!({ "subtype": "channel_topic" }),
        json!({ "edited": { "user": "U0ADA", "ts": "1.2" } }),
        json!({ "user": "U0BOT" }),
        json!({ "user": "U0X", "bot_id": "B0BOT" }),
        json!({ "subtype": "bot_message", "user": null, "bot_id": "B9", "app_id": "A0APP" }),
    ] {
        let payload = workspace.message("C0GENERAL", "U0ADA", "hi", more.clone());
        assert_eq!(read(&slack, &payload).await, None, "{more}");
    }
    for event in [
        json!({ "type": "channel_created", "channel": { "id": "C1", "name": "x" } }),
        json!({ "type": "team_join", "user": { "id": "U1" } }),
        json!({ "type": "reaction_added", "user": "U0BOT", "reaction": "x",
            "item": { "type": "message", "channel": "C0GENERAL", "ts": "1.2" } }),
        json!({ "type": "reaction_added", "user": "U0ADA", "reaction": "x",
            "item": { "type": "file", "file": "F1" } }),
    ] {
        let payload = workspace.callback(event.clone());
        assert_eq!(read(&slack, &payload).await, None, "{event}");
    }
    let me = workspace.message(
        "C0GENERAL",
        "U0ADA",
        "waves",
        json!({ "subtype": "me_message" }),
    );
    assert!(read(&slack, &me).await.is_some(), "control");
}

#[tokio::test]
async fn programs_are_marked_as_such() {
    let (workspace, slack) = start(events_mode()).await;
    let webhook = json!({ "subtype": "bot_message", "user": null, "bot_id": "B0CI",
        "username": "CI", "text": "", "attachments": [{ "text": "build <http://x.test|failed>" }] });
    let payload = workspace.message("C0GENERAL", "U0ADA", "", webhook);
    let inbound = read(&slack, &payload).await.unwrap();
    assert!(inbound.from_bot);
    assert_eq!(inbound.place.sender.as_deref(), Some("B0CI"));
    assert_eq!(inbound.place.sender_name.as_deref(), Some("CI"));
    assert_eq!(message(&inbound).text, "build [failed](http://x.test)");
    let modern = json!({ "bot_id": "B0ROBOT", "app_id": "A0ROBOT" });
    let payload = workspace.message("C0GENERAL", "U0ROBOT", "beep", modern);
    assert!(read(&slack, &payload).await.unwrap().from_bot);
    let payload = workspace.message("C0GENERAL", "U0ADA", "hi", json!({}));
    assert!(!read(&slack, &payload).await.unwrap().from_bot, "control");
}

#[tokio::test]
async fn files_come_with_their_kind_and_what_is_elsewhere_is_a_link() {
    let (workspace, slack) = start(events_mode()).await;
    let mut voice = workspace.put_file("F1", "audio_message.m4a", "audio/mp4", b"sound");
    voice["subtype"] = json!("slack_audio");
    let shared = json!({ "id": "F3", "file_access": "check_file_info" });
    let files = json!([
        workspace.put_file("F2", "cat.png", "image/png", b"png"),
        voice,
        workspace.put_file("F4", "song.mp3", "audio/mpeg", b"mp3"),
        workspace.put_file("F5", "film.mp4", "video/mp4", b"mp4"),
        workspace.put_file("F6", "notes.pdf", "application/pdf", b"pdf"),
        shared,
        { "id": "F7", "mode": "external", "is_external": true, "title": "Plan",
            "url_private": "https://docs.test/plan" },
        { "id": "F8", "mode": "tombstone" },
    ]);
    let more = json!({ "subtype": "file_share", "files": files, "upload": false });
    let payload = workspace.message("D0ADA", "U0ADA", "look", more);
    let inbound = read(&slack, &payload).await.unwrap();
    let said = message(&inbound);
    let kinds: Vec<MediaKind> = said.media.iter().map(|media| media.kind).collect();
    assert_eq!(
        kinds,
        [
            MediaKind::Image,
            MediaKind::Voice,
            MediaKind::Audio,
            MediaKind::Video,
            MediaKind::Document,
            MediaKind::Document,
        ]
    );
    let cat = Media {
        kind: MediaKind::Image,
        id: format!(
            "{}/files-pri/F2",
            workspace.api().as_str().trim_end_matches("/api")
        ),
        name: Some("cat.png".to_owned()),
        mime: Some("image/png".to_owned()),
        size: Some(3),
    };
    assert_eq!(said.media[0], cat);
    assert_eq!(said.media[5].id, "F3", "its address must be asked for");
    let lines = "look\n[Plan](https://docs.test/plan)\n[a file that Slack no longer shows: F8]";
    assert_eq!(said.text, lines);
}

#[tokio::test]
async fn a_shared_message_is_quoted() {
    let (workspace, slack) = start(events_mode()).await;
    let more = json!({ "attachments": [{ "is_share": true, "is_msg_unfurl": true,
        "ts": "1699999999.000001", "author_id": "U0EVE", "text": "*what* she said" }] });
    let payload = workspace.message("D0ADA", "U0ADA", "see", more);
    let inbound = read(&slack, &payload).await.unwrap();
    let quoted = message(&inbound).quoted.clone().unwrap();
    assert_eq!(quoted.id, "1699999999.000001");
    assert_eq!(quoted.text.as_deref(), Some("**what** she said"));
    assert_eq!(quoted.sender.as_deref(), Some("U0EVE"));
}

#[tokio::test]
async fn reactions_are_heard_by_their_event_id() {
    let (workspace, slack) = start(events_mode()).await;
    slack.me().await.unwrap();
    for (kind, removed) in [("reaction_added", false), ("reaction_removed", true)] {
        let payload = workspace.callback(json!({
            "type": kind, "user": "U0ADA", "reaction": "party_parrot", "item_user": "U0BOT",
            "item": { "type": "message", "channel": "D0ADA", "ts": "1699999999.000001" },
            "event_ts": "1700000001.000500",
        }));
        let inbound = read(&slack, &payload).await.unwrap();
        assert_eq!(inbound.event, payload["event_id"].as_str().unwrap());
        assert_eq!(inbound.at, 1_700_000_001_000);
        assert_eq!(inbound.place.message.as_deref(), Some("1699999999.000001"));
        assert_eq!(inbound.place.kind, PeerKind::Dm);
        let emoji = "party_parrot".to_owned();
        assert_eq!(inbound.what, InboundEvent::Reaction { emoji, removed });
    }
}

#[tokio::test]
async fn a_pressed_button_tells_what_it_carries() {
    let (workspace, slack) = start(events_mode()).await;
    for (chat, kind) in [("D0ADA", PeerKind::Dm), ("C0GENERAL", PeerKind::Channel)] {
        let payload = workspace.press(chat, "U0ADA", "1699999999.000001", "yes:17");
        let inbound = slack.read_press(&payload).unwrap().unwrap();
        let at = payload["actions"][0]["action_ts"].as_str().unwrap();
        let event = format!("press:{chat}:1699999999.000001:U0ADA:{at}");
        assert_eq!(inbound.event, event);
        assert_eq!(inbound.place.kind, kind);
        assert_eq!(inbound.place.sender.as_deref(), Some("U0ADA"));
        assert_eq!(inbound.place.message.as_deref(), Some("1699999999.000001"));
        let data = "yes:17".to_owned();
        assert_eq!(
            inbound.what,
            InboundEvent::Button {
                data,
                callback: None
            }
        );
    }
    let modal = json!({ "type": "view_submission", "user": { "id": "U0ADA" } });
    assert_eq!(slack.read_press(&modal).unwrap(), None);
}

#[tokio::test]
async fn names_are_asked_for_once_and_their_lack_keeps_nothing_back() {
    let (workspace, slack) = start(events_mode()).await;
    for _ in 0..3 {
        let payload = workspace.message("C0GENERAL", "U0ADA", "hi", json!({}));
        read(&slack, &payload).await.unwrap();
    }
    assert_eq!(workspace.journal().at("/users.info").len(), 1);
    assert_eq!(workspace.journal().at("/conversations.info").len(), 1);
    for _ in 0..2 {
        let payload = workspace.message("C0GENERAL", "U0NOBODY", "hi", json!({}));
        let inbound = read(&slack, &payload).await.unwrap();
        assert_eq!(inbound.place.sender.as_deref(), Some("U0NOBODY"));
        assert_eq!(inbound.place.sender_name, None);
    }
    assert_eq!(workspace.journal().at("/users.info").len(), 2);
    let many: String = (0..500).map(|i| format!("<@U0X{i}> ")).collect();
    let payload = workspace.message("C0GENERAL", "U0ADA", &many, json!({}));
    let inbound = read(&slack, &payload).await.unwrap();
    assert!(message(&inbound).mentions.len() <= 64);
    assert!(workspace.journal().at("/users.info").len() < 12);
}
