//! Claims about what we send.

use std::time::Duration;

use bytes::Bytes;
use manyhands_platforms::slack::Failure;
use serde_json::json;

use super::*;
use crate::message::{Button, FileKind, MediaKind, OutgoingContent};

fn edit(place: ChatRef, ts: &str, text: &str) -> OutgoingMessage {
    let mut message = OutgoingMessage::text(place, text);
    if let OutgoingContent::Text { edits, .. } = &mut message.content {
        *edits = Some(ts.to_owned());
    }
    message
}

fn with_buttons(place: ChatRef, text: &str, buttons: Vec<Vec<Button>>) -> OutgoingMessage {
    let mut message = OutgoingMessage::text(place, text);
    if let OutgoingContent::Text { buttons: own, .. } = &mut message.content {
        *own = buttons;
    }
    message
}

fn button(label: &str, data: &str, refuses: bool) -> Button {
    Button {
        label: label.to_owned(),
        data: data.to_owned(),
        refuses,
    }
}

fn react(place: ChatRef, ts: &str, emoji: &str) -> OutgoingMessage {
    OutgoingMessage {
        content: OutgoingContent::React {
            message: ts.to_owned(),
            emoji: emoji.to_owned(),
            big: false,
        },
        ..OutgoingMessage::text(place, "")
    }
}

fn file(place: ChatRef, caption: Option<&str>) -> OutgoingMessage {
    OutgoingMessage {
        content: OutgoingContent::File {
            form: FileKind::Document,
            name: "../notes.txt".to_owned(),
            mime: "text/plain".to_owned(),
            caption: caption.map(str::to_owned),
            artifact: "a".to_owned(),
            link: None,
        },
        ..OutgoingMessage::text(place, "")
    }
}

#[tokio::test]
async fn we_are_who_the_token_says() {
    let (workspace, slack) = start(socket_mode()).await;
    let me = slack.me().await.unwrap();
    assert_eq!((me.id.as_str(), me.name.as_str()), ("U0BOT", "hands"));
    workspace.revoke();
    let refused = slack.me().await.unwrap_err();
    assert!(matches!(&refused, SendError::Account(why) if why.contains("token_revoked")));
    assert!(!refused.to_string().contains("canary"));
}

#[tokio::test]
async fn a_text_arrives_in_slacks_marks_and_where_it_belongs() {
    let (workspace, slack) = start(socket_mode()).await;
    let text = "**hi** <!channel> & [words](https://x.test)";
    let first = OutgoingMessage::text(channel("C0GENERAL"), text);
    let sent = slack.send("k1", &first, None).await;
    let ts = sent.unwrap().message.unwrap();
    let mut in_thread = OutgoingMessage::text(channel("C0GENERAL"), "there");
    in_thread.to.thread = Some(ts.clone());
    in_thread.reply_to = Some("1.5".to_owned());
    slack.send("k2", &in_thread, None).await.unwrap();
    let mut answer = OutgoingMessage::text(channel("C0GENERAL"), "answer");
    answer.reply_to = Some(ts.clone());
    slack.send("k3", &answer, None).await.unwrap();
    slack
        .send("k4", &OutgoingMessage::text(channel("U0ADA"), "psst"), None)
        .await
        .unwrap();
    let posted = workspace.posted();
    assert_eq!(
        posted[0].text,
        "*hi* &lt;!channel&gt; &amp; <https://x.test|words>"
    );
    assert_eq!(
        (posted[0].ts.as_str(), &posted[0].thread),
        (ts.as_str(), &None)
    );
    assert_eq!(posted[1].thread, Some(ts.clone()));
    assert_eq!(posted[2].thread, Some(ts));
    assert_eq!(
        posted[3].channel, "D0ADA",
        "a person is reached in their direct chat"
    );
    slack
        .send(
            "k5",
            &OutgoingMessage::text(channel("U0ADA"), "again"),
            None,
        )
        .await
        .unwrap();
    assert_eq!(workspace.journal().at("/conversations.open").len(), 1);
}

#[tokio::test]
async fn a_message_of_ours_can_be_changed_and_loses_its_buttons() {
    let (workspace, slack) = start(socket_mode()).await;
    let rows = vec![vec![
        button("Allow", "yes", false),
        button("Refuse", "no", true),
    ]];
    let asked = with_buttons(channel("D0ADA"), "May **I**?", rows);
    let ts = slack
        .send("k", &asked, None)
        .await
        .unwrap()
        .message
        .unwrap();
    let blocks = workspace.posted()[0].blocks.clone();
    assert_eq!(blocks[0]["text"]["text"], "May *I*?");
    let buttons = &blocks[1]["elements"];
    assert_eq!(
        (&buttons[0]["value"], &buttons[1]["value"]),
        (&json!("yes"), &json!("no"))
    );
    assert_eq!(buttons[1]["style"], "danger");
    let changed = slack
        .send("k2", &edit(channel("D0ADA"), &ts, "Done"), None)
        .await;
    assert_eq!(changed.unwrap().message, Some(ts));
    let now = &workspace.posted()[0];
    assert_eq!(
        (now.text.as_str(), now.edits, now.blocks.len()),
        ("Done", 1, 0)
    );
    let gone = slack
        .send("k3", &edit(channel("D0ADA"), "1.1", "x"), None)
        .await;
    assert!(matches!(gone, Err(SendError::Never(why)) if why.contains("message_not_found")));
}

#[tokio::test]
async fn a_long_text_with_buttons_is_cut_into_sections() {
    let (workspace, slack) = start(socket_mode()).await;
    let text = "many words & more \n\n".repeat(190);
    let label = "😀".repeat(90);
    let rows = vec![vec![button(&label, "x", false)]];
    let asked = with_buttons(channel("D0ADA"), &text, rows);
    slack.send("k", &asked, None).await.unwrap();
    assert!(workspace.posted()[0].blocks.len() > 2);
    let nothing = slack
        .send("k", &OutgoingMessage::text(channel("D0ADA"), " \n"), None)
        .await;
    assert!(matches!(nothing, Err(SendError::Never(_))));
    assert_eq!(workspace.posted().len(), 1);
}

#[tokio::test]
async fn pieces_fit_once_they_are_rendered() {
    let (workspace, slack) = start(socket_mode()).await;
    let text = "a && b <c> 😀\n".repeat(700) + "```\n" + &"x < y\n".repeat(900) + "```";
    let pieces = slack.pieces(&text);
    assert!(pieces.len() > 3);
    let mut ts = None;
    for piece in &pieces {
        assert!(units(&render::mrkdwn(piece)) <= TEXT);
        let place = channel("D0ADA");
        let sent = slack
            .send("k", &OutgoingMessage::text(place.clone(), piece), None)
            .await;
        let first = sent.unwrap().message.unwrap();
        let first = ts.get_or_insert(first);
        // What can be posted can be changed to as well.
        slack
            .send("k", &edit(place, first, piece), None)
            .await
            .unwrap();
    }
    assert_eq!(workspace.posted().len(), pieces.len());
}

#[tokio::test]
async fn failures_say_what_became_of_a_message() {
    let (workspace, slack) = start(socket_mode()).await;
    let send = async || {
        let text = OutgoingMessage::text(channel("C0GENERAL"), "hi");
        slack.send("k", &text, None).await
    };
    let post = "chat.postMessage";
    workspace.fail(post, Failure::RateLimited(17));
    let after = Some(Duration::from_secs(17));
    assert!(
        matches!(send().await, Err(SendError::Later { after: fetched, .. }) if fetched == after)
    );
    workspace.fail(post, Failure::Status(503));
    assert!(matches!(send().await, Err(SendError::Later { .. })));
    for failure in [
        Failure::Status(500),
        Failure::Status(502),
        Failure::Garbage,
        Failure::Said("fatal_error"),
    ] {
        workspace.fail(post, failure);
        let sent = send().await;
        assert!(
            matches!(sent, Err(SendError::Unknown(_))),
            "{failure:?}: {sent:?}"
        );
    }
    assert!(workspace.posted().is_empty(), "none of these was done");
    workspace.fail(post, Failure::DoneThenReset);
    assert!(matches!(send().await, Err(SendError::Unknown(_))));
    assert_eq!(workspace.posted().len(), 1, "it had arrived");
    for (word, account) in [
        ("is_archived", false),
        ("msg_too_long", false),
        ("missing_scope", true),
        ("account_inactive", true),
    ] {
        workspace.fail(post, Failure::Said(word));
        match send().await {
            Err(SendError::Account(_)) => assert!(account, "{word}"),
            Err(SendError::Never(_) | SendError::Unreachable(_)) => assert!(!account, "{word}"),
            other => panic!("{word}: {other:?}"),
        }
    }
    workspace.poison("C0OTHER", "not_in_channel");
    let poisoned = OutgoingMessage::text(channel("C0OTHER"), "hi");
    let refused = slack.send("k", &poisoned, None).await;
    assert!(matches!(refused, Err(SendError::Unreachable(why)) if why.contains("invite")));
    assert!(send().await.is_ok(), "the others are reached");
    let nowhere = OutgoingMessage::text(channel("C0NOWHERE"), "hi");
    let refused = slack.send("k", &nowhere, None).await;
    assert!(
        matches!(refused, Err(SendError::Unreachable(why)) if why.contains("channel_not_found"))
    );
    let wrong = slack_at(workspace.api(), "xoxb-wrong", socket_mode());
    let text = OutgoingMessage::text(channel("C0GENERAL"), "hi");
    let refused = wrong.send("k", &text, None).await;
    assert!(matches!(refused, Err(SendError::Account(why)) if !why.contains("wrong")));
    let away = slack_at(
        "http://127.0.0.1:9/api".parse().unwrap(),
        "xoxb-x",
        socket_mode(),
    );
    let refused = away.send("k", &text, None).await;
    assert!(
        matches!(refused, Err(SendError::Later { .. })),
        "nothing was said yet"
    );
}

#[tokio::test]
async fn a_message_that_nobody_answers_for_may_have_arrived() {
    let (workspace, slack) = start(socket_mode()).await;
    workspace.fail("chat.postMessage", Failure::Hang);
    let sending = tokio::spawn(async move {
        let text = OutgoingMessage::text(channel("C0GENERAL"), "hi");
        slack.send("k", &text, None).await
    });
    workspace.journal().until(|all| !all.is_empty()).await;
    tokio::time::pause();
    let sent = sending.await.unwrap();
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
}

#[tokio::test]
async fn what_harms_nobody_twice_is_tried_again() {
    let (workspace, slack) = start(socket_mode()).await;
    let first = OutgoingMessage::text(channel("D0ADA"), "hi");
    let sent = slack.send("k", &first, None).await;
    let ts = sent.unwrap().message.unwrap();
    workspace.fail("chat.update", Failure::DoneThenReset);
    let change = edit(channel("D0ADA"), &ts, "ho");
    assert!(matches!(
        slack.send("k", &change, None).await,
        Err(SendError::Later { .. })
    ));
    assert!(slack.send("k", &change, None).await.is_ok());
    workspace.fail("reactions.add", Failure::DoneThenReset);
    let thumb = react(channel("D0ADA"), &ts, "👍");
    assert!(matches!(
        slack.send("k", &thumb, None).await,
        Err(SendError::Later { .. })
    ));
    assert!(
        slack.send("k", &thumb, None).await.is_ok(),
        "it was there already"
    );
    assert_eq!(workspace.reactions(), [(ts, "+1".to_owned())]);
}

#[tokio::test]
async fn one_reacts_with_what_the_workspace_has() {
    let (workspace, slack) = start(socket_mode()).await;
    let payload = workspace.message("D0ADA", "U0ADA", "hi", json!({}));
    let ts = payload["event"]["ts"].as_str().unwrap();
    for emoji in ["tada", ":party_parrot:", "🚀"] {
        let reaction = react(channel("D0ADA"), ts, emoji);
        slack.send("k", &reaction, None).await.unwrap();
    }
    let names: Vec<String> = workspace
        .reactions()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["tada", "party_parrot", "rocket"]);
    let unknown = react(channel("D0ADA"), ts, "no_such_thing");
    let refused = slack.send("k", &unknown, None).await;
    assert!(matches!(refused, Err(SendError::Never(why)) if why.contains("invalid_name")));
    let all = slack.emoji().await.unwrap().unwrap();
    for name in ["thumbsup", "+1", "party_parrot"] {
        assert!(all.iter().any(|one| one == name), "{name}");
    }
    slack.emoji().await.unwrap();
    assert_eq!(
        workspace.journal().at("/emoji.list").len(),
        1,
        "it is remembered"
    );
    let (workspace, slack) = start(socket_mode()).await;
    workspace.fail("emoji.list", Failure::Said("missing_scope"));
    let standard = slack.emoji().await.unwrap().unwrap();
    assert!(standard.len() > 1_500 && !standard.contains(&"party_parrot".to_owned()));
}

#[tokio::test]
async fn a_file_is_shown_with_its_words() {
    let (workspace, slack) = start(socket_mode()).await;
    let mut message = file(channel("U0ADA"), Some("**see** <this>"));
    message.to.thread = Some("1699999999.000001".to_owned());
    let bytes = Bytes::from_static(b"some bytes");
    slack
        .send("k", &message, Some(bytes.clone()))
        .await
        .unwrap();
    let shared = workspace.shared();
    assert_eq!(shared.len(), 1);
    assert_eq!(
        (shared[0].name.as_str(), &shared[0].bytes[..]),
        ("notes.txt", &bytes[..])
    );
    assert_eq!(shared[0].shared.as_deref(), Some("D0ADA"));
    assert_eq!(shared[0].comment.as_deref(), Some("*see* &lt;this&gt;"));
    assert_eq!(shared[0].thread.as_deref(), Some("1699999999.000001"));
    let plain = file(channel("D0ADA"), None);
    for step in ["files.getUploadURLExternal", "upload"] {
        workspace.fail(step, Failure::Status(502));
        let failed = slack.send("k", &plain, Some(bytes.clone())).await;
        assert!(
            matches!(failed, Err(SendError::Later { .. })),
            "{step}: {failed:?}"
        );
    }
    workspace.fail("files.completeUploadExternal", Failure::Status(502));
    let failed = slack.send("k", &plain, Some(bytes.clone())).await;
    assert!(
        matches!(failed, Err(SendError::Unknown(_))),
        "it may be shown: {failed:?}"
    );
    for missing in [None, Some(Bytes::new())] {
        let refused = slack.send("k", &plain, missing).await;
        assert!(matches!(refused, Err(SendError::Never(_))));
    }
    assert_eq!(workspace.shared().len(), 1);
}

#[tokio::test]
async fn files_are_fetched_from_slack_alone() {
    let (workspace, slack) = start(socket_mode()).await;
    let put = workspace.put_file("F1", "a.png", "image/png", b"0123456789");
    let media = |id: &str| Media {
        kind: MediaKind::Image,
        id: id.to_owned(),
        name: None,
        mime: Some("image/png".to_owned()),
        size: None,
    };
    let address = put["url_private"].as_str().unwrap();
    assert_eq!(
        slack.fetch(&media(address), 10).await.unwrap(),
        "0123456789"
    );
    assert_eq!(slack.fetch(&media("F1"), 10).await.unwrap(), "0123456789");
    let refused = slack.fetch(&media(address), 9).await;
    assert!(matches!(refused, Err(SendError::Never(why)) if why.contains("larger than 9")));
    let fetched = Media {
        size: Some(11),
        ..media(address)
    };
    assert!(matches!(
        slack.fetch(&fetched, 10).await,
        Err(SendError::Never(_))
    ));
    let other = Workspace::start().await;
    let foreign = other.put_file("F1", "a.png", "image/png", b"x");
    for address in [
        foreign["url_private"].as_str().unwrap(),
        "https://evil.test/files-pri/F1",
        "file:///etc/passwd",
    ] {
        let refused = slack.fetch(&media(address), 10).await;
        assert!(matches!(refused, Err(SendError::Never(_))), "{address}");
    }
    assert!(other.journal().all().is_empty());
    workspace.revoke();
    let page = slack.fetch(&media(address), 1_000).await;
    assert!(matches!(page, Err(SendError::Never(why)) if why.contains("files:read")));
}

#[test]
fn slacks_own_addresses_are_known() {
    let slack = slack_at(API.parse().unwrap(), "xoxb-x", socket_mode());
    for (address, own) in [
        ("https://files.slack.com/files-pri/T1-F1/a.png", true),
        ("https://slack.com/x", true),
        ("http://files.slack.com/x", false),
        ("https://files.slack.com:8443/x", false),
        ("https://evilslack.com/x", false),
        ("https://slack.com.evil.test/x", false),
        ("https://files.slack.com@evil.test/x", false),
        ("https://127.0.0.1/x", false),
        ("nonsense", false),
    ] {
        assert_eq!(slack.is_slacks(address), own, "{address}");
    }
}

#[tokio::test]
async fn whoever_pressed_a_button_hears_a_word_alone() {
    let (workspace, slack) = start(events_mode()).await;
    let payload = workspace.press("C0GENERAL", "U0ADA", "1699999999.000001", "yes");
    let inbound = slack.read_press(&payload).unwrap().unwrap();
    slack.acknowledge_button(&inbound, "").await.unwrap();
    assert!(workspace.posted().is_empty());
    slack.acknowledge_button(&inbound, "allowed").await.unwrap();
    let posted = workspace.posted();
    assert_eq!(
        (posted[0].text.as_str(), posted[0].only.as_deref()),
        ("allowed", Some("U0ADA"))
    );
}

#[tokio::test]
async fn nobody_is_shown_that_an_app_writes() {
    let (_workspace, slack) = start(socket_mode()).await;
    assert!(!slack.abilities().typing);
    assert!(slack.typing(&channel("D0ADA")).await.is_err());
}

#[tokio::test]
async fn who_writes_too_fast_is_told_when_to_go_on() {
    let (workspace, slack) = start(socket_mode()).await;
    workspace.limit_rates();
    let send = async |chat: &str| {
        let text = OutgoingMessage::text(channel(chat), "hi");
        slack.send("k", &text, None).await
    };
    assert!(send("C0GENERAL").await.is_ok());
    assert!(send("C0OTHER").await.is_ok(), "each channel has its own");
    let mut fetched = None;
    for _ in 0..50 {
        if let Err(SendError::Later { after, .. }) = send("C0GENERAL").await {
            fetched = after;
            break;
        }
    }
    assert_eq!(fetched, Some(Duration::from_secs(1)));
}
