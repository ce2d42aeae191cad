use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{ChatRef, PeerKind};
use manyhands_guard::{HeaderMap, StatusCode};
use manyhands_platforms::Fault;
use manyhands_platforms::discord::{ADA, BOT, CHANNEL, DIRECT, Discord as Far, THREAD, TOKEN};
use serde_json::json;

use super::{Rig, near, place};
use crate::channel::{Channel, SendError, SendReceipt, WebhookRequest};
use crate::message::{Button, FileKind, OutgoingContent, OutgoingMessage};
use crate::shorten::units;

const MESSAGES: &str = "/channels/{channel_id}/messages";

impl Rig {
    async fn send(&self, key: &str, message: &OutgoingMessage) -> Result<SendReceipt, SendError> {
        self.near.send(key, message, None).await
    }
}

#[tokio::test]
async fn we_know_who_we_are() {
    let rig = Rig::new().await;
    let me = rig.near.me().await.unwrap();
    assert_eq!(
        (me.id.as_str(), me.name.as_str(), me.handle.as_deref()),
        (BOT, "hands", Some("hands"))
    );
    let error = near(&rig.far, "canary-wrong").me().await.unwrap_err();
    assert!(
        matches!(&error, SendError::Account(why) if !why.contains("canary")),
        "{error}"
    );
}

#[tokio::test]
async fn a_text_is_said_as_discord_shows_it_and_calls_nobody() {
    let rig = Rig::new().await;
    let mut message =
        OutgoingMessage::text(place(CHANNEL), "__Hi__ @everyone <@1>\n\n|a|\n|-|\n|1|");
    message.reply_to = Some("70".to_owned());
    let sent = rig.send("k1", &message).await.unwrap();
    let posted = &rig.far.posted()[0];
    assert_eq!(sent.message.as_deref(), posted["id"].as_str());
    let shown = "**Hi** @everyone <@1>\n\n```\na\n-\n1\n```";
    assert_eq!(posted["content"], shown);
    assert_eq!(
        posted["allowed_mentions"],
        json!({ "parse": [], "replied_user": false })
    );
    let reference = json!({ "message_id": "70", "fail_if_not_exists": false });
    assert_eq!(posted["message_reference"], reference);
    let thread = ChatRef {
        kind: PeerKind::Thread,
        thread: Some(THREAD.to_owned()),
        ..place(CHANNEL)
    };
    rig.send("k2", &OutgoingMessage::text(thread, "in a thread"))
        .await
        .unwrap();
    assert_eq!(rig.far.posted()[1]["channel_id"], THREAD);
}

#[tokio::test]
async fn hostile_markdown_arrives_as_text() {
    let rig = Rig::new().await;
    for (at, text) in [
        "**",
        "```",
        "[a](",
        "> ",
        "`",
        "\\",
        "||",
        "#",
        "~~~\n```\n~~~",
    ]
    .iter()
    .enumerate()
    {
        let sent = rig
            .send(
                &at.to_string(),
                &OutgoingMessage::text(place(CHANNEL), *text),
            )
            .await;
        assert!(sent.is_ok(), "{text:?}: {sent:?}");
    }
    let blank = rig
        .send("blank", &OutgoingMessage::text(place(CHANNEL), " \n "))
        .await;
    assert!(matches!(blank, Err(SendError::Never(_))));
}

#[tokio::test]
async fn a_long_text_goes_in_pieces_that_fit() {
    let rig = Rig::new().await;
    let code = "```rust\nlet 名前 = \"👨‍👩‍👧‍👦\"; // __ ** ||\n".to_owned()
        + &"let x = 1;\n".repeat(300)
        + "```\n";
    let text = format!(
        "# Title\n\n{}\n\n{code}{}",
        "Words * of _ text. ".repeat(200),
        "漢字。".repeat(900)
    );
    let pieces = rig.near.pieces(&text);
    assert!(pieces.len() > 4);
    for (at, piece) in pieces.iter().enumerate() {
        rig.send(
            &format!("p{at}"),
            &OutgoingMessage::text(place(CHANNEL), piece),
        )
        .await
        .unwrap();
    }
    let posted = rig.far.posted();
    assert_eq!(posted.len(), pieces.len());
    for one in posted {
        let content = one["content"].as_str().unwrap();
        assert!(units(content) <= 2_000);
        assert_eq!(content.matches("```").count() % 2, 0, "{content}");
    }
    let whole = rig
        .send("whole", &OutgoingMessage::text(place(CHANNEL), text))
        .await;
    assert!(
        matches!(&whole, Err(SendError::Never(why)) if why.contains("too long")),
        "{whole:?}"
    );
}

#[tokio::test]
async fn the_same_key_arrives_once_even_where_the_answer_was_lost() {
    let rig = Rig::new().await;
    let message = OutgoingMessage::text(place(CHANNEL), "once");
    rig.far.fail("/messages", Fault::DoneAndDropped);
    let lost = rig.send("key", &message).await;
    assert!(matches!(lost, Err(SendError::Later { .. })), "{lost:?}");
    let again = rig.send("key", &message).await.unwrap();
    assert_eq!(rig.far.posted().len(), 1);
    assert_eq!(again.message.as_deref(), rig.far.posted()[0]["id"].as_str());
    rig.send("other", &message).await.unwrap();
    assert_eq!(rig.far.posted().len(), 2);
}

#[tokio::test]
async fn buttons_stand_below_and_go_when_the_text_is_changed() {
    let rig = Rig::new().await;
    let button = |label: &str, data: &str, refuses| Button {
        label: label.to_owned(),
        data: data.to_owned(),
        refuses,
    };
    let mut message = OutgoingMessage::text(place(CHANNEL), "May I?");
    let rows = vec![
        vec![
            button("Yes", "y", false),
            button(&"No ".repeat(40), "n", true),
        ],
        (0..6)
            .map(|at| button("More", &at.to_string(), false))
            .collect(),
    ];
    if let OutgoingContent::Text { buttons, .. } = &mut message.content {
        *buttons = rows;
    }
    let sent = rig.send("k", &message).await.unwrap();
    let components = rig.far.posted()[0]["components"].clone();
    let sizes: Vec<usize> = components
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["components"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [2, 5, 1]);
    assert_eq!(
        components[0]["components"][0],
        json!({ "type": 2, "style": 1, "label": "Yes", "custom_id": "y" })
    );
    assert_eq!(components[0]["components"][1]["style"], 4);
    let change = OutgoingMessage {
        content: OutgoingContent::Text {
            text: "I **may**".to_owned(),
            buttons: Vec::new(),
            edits: sent.message.clone(),
        },
        ..message.clone()
    };
    assert_eq!(rig.send("e", &change).await.unwrap(), sent);
    let changed = &rig.far.posted()[0];
    assert_eq!(
        (&changed["content"], &changed["components"]),
        (&json!("I **may**"), &json!([]))
    );
    assert_eq!(rig.far.posted().len(), 1);
    let gone = OutgoingMessage {
        content: OutgoingContent::Text {
            text: "x".to_owned(),
            buttons: Vec::new(),
            edits: Some("5".to_owned()),
        },
        ..message
    };
    let gone = rig.send("g", &gone).await;
    assert!(
        matches!(&gone, Err(SendError::Never(why)) if why.contains("Unknown Message")),
        "{gone:?}"
    );
}

#[tokio::test]
async fn a_file_is_sent_with_its_caption() {
    let rig = Rig::new().await;
    let say = |name: &str| OutgoingContent::File {
        form: FileKind::Photo,
        name: name.to_owned(),
        mime: "image/png".to_owned(),
        caption: Some("__A__ cat".to_owned()),
        artifact: "a".to_owned(),
        link: None,
    };
    let message = OutgoingMessage {
        content: say("cat.png"),
        ..OutgoingMessage::text(place(CHANNEL), "")
    };
    rig.near
        .send("k", &message, Some(Bytes::from("png")))
        .await
        .unwrap();
    rig.near
        .send("k", &message, Some(Bytes::from("png")))
        .await
        .unwrap();
    assert_eq!(rig.far.posted().len(), 1);
    let posted = &rig.far.posted()[0];
    assert_eq!(posted["content"], "**A** cat");
    let file = &posted["attachments"][0];
    assert_eq!(
        (&file["filename"], &file["size"], &file["content_type"]),
        (&json!("cat.png"), &json!(3), &json!("image/png"))
    );
    let large = OutgoingMessage {
        content: say("large.png"),
        ..message.clone()
    };
    let large = rig
        .near
        .send(
            "l",
            &large,
            Some(Bytes::from(vec![0; 10 * 1024 * 1024 + 1])),
        )
        .await;
    assert!(matches!(large, Err(SendError::Never(_))), "{large:?}");
    let missing = rig.near.send("m", &message, None).await;
    assert!(matches!(missing, Err(SendError::Never(_))));
}

#[tokio::test]
async fn reactions_and_typing_arrive() {
    let rig = Rig::new().await;
    let react = |emoji: &str| OutgoingMessage {
        content: OutgoingContent::React {
            message: "70".to_owned(),
            emoji: emoji.to_owned(),
            big: false,
        },
        ..OutgoingMessage::text(place(CHANNEL), "")
    };
    for emoji in ["👍", "❤️", "party:5"] {
        rig.send(emoji, &react(emoji)).await.unwrap();
    }
    let reactions: Vec<String> = rig
        .far
        .reactions()
        .into_iter()
        .map(|(_, emoji)| emoji)
        .collect();
    assert_eq!(reactions, ["👍", "❤️", "party:5"]);
    let wrong = rig.send("x", &react("thumbsup")).await;
    assert!(
        matches!(&wrong, Err(SendError::Never(why)) if why.contains("Unknown Emoji")),
        "{wrong:?}"
    );
    rig.near.typing(&place(DIRECT)).await.unwrap();
    assert_eq!(
        rig.far.journal().at("/channels/{channel_id}/typing").len(),
        1
    );
}

#[tokio::test]
async fn somebody_is_reached_in_their_direct_chat() {
    let rig = Rig::new().await;
    for key in ["a", "b"] {
        rig.send(
            key,
            &OutgoingMessage::text(place(&format!("user:{ADA}")), "hi"),
        )
        .await
        .unwrap();
    }
    assert!(
        rig.far
            .posted()
            .iter()
            .all(|one| one["channel_id"] == DIRECT)
    );
    assert_eq!(rig.far.journal().at("/users/@me/channels").len(), 1);
    for chat in ["../../users", "", "C0SLACK", "user:x"] {
        let sent = rig
            .send("n", &OutgoingMessage::text(place(chat), "hi"))
            .await;
        assert!(matches!(sent, Err(SendError::Never(_))), "{chat}");
    }
}

#[tokio::test]
async fn every_failure_says_whether_it_can_be_tried_again() {
    let rig = Rig::new().await;
    let message = OutgoingMessage::text(place(CHANNEL), "hi");
    let kind = |error: &SendError| match error {
        SendError::Later { .. } => "later",
        SendError::Never(_) => "never",
        SendError::Unreachable(_) => "unreachable",
        SendError::Account(_) => "account",
        SendError::Unknown(_) => "unknown",
    };
    for (fault, expect, word) in [
        (Fault::answer(502, "<html>bad gateway"), "later", "502"),
        (Fault::Drop, "later", ""),
        (Fault::answer(200, "<html>"), "later", "not JSON"),
        (
            Far::refusal(403, 50_013, "Missing Permissions"),
            "never",
            "permission",
        ),
        (
            Far::refusal(403, 50_007, "Cannot send messages to this user"),
            "unreachable",
            "direct messages",
        ),
        (
            Far::refusal(404, 10_003, "Unknown Channel"),
            "unreachable",
            "gone",
        ),
        (
            Far::refusal(400, 50_035, "Invalid Form Body"),
            "never",
            "50035",
        ),
        (
            Far::refusal(401, 0, "401: Unauthorized"),
            "account",
            "token",
        ),
        (Fault::answer(403, "<html>blocked"), "later", "403"),
    ] {
        let shown = format!("{fault:?}");
        rig.far.fail("/messages", fault);
        let error = rig.send("k", &message).await.unwrap_err();
        assert_eq!(kind(&error), expect, "{shown}: {error}");
        assert!(error.to_string().contains(word), "{shown}: {error}");
        assert!(!error.to_string().contains(TOKEN));
    }
    assert!(rig.far.posted().is_empty());
    rig.send("k", &message).await.unwrap();
    rig.far.revoke();
    assert!(matches!(
        rig.send("r", &message).await,
        Err(SendError::Account(_))
    ));
}

#[tokio::test]
async fn what_is_too_fast_waits_as_long_as_discord_says() {
    let rig = Rig::new().await;
    let message = OutgoingMessage::text(place(CHANNEL), "hi");
    rig.far.fail("/messages", Far::too_fast(64.5, false));
    let late = rig.send("a", &message).await.unwrap_err();
    assert!(
        matches!(late, SendError::Later { after: Some(after), .. } if after == Duration::from_millis(64_500)),
        "{late:?}"
    );
    // Until then nothing is even asked there, and everything elsewhere.
    let still = rig.send("a", &message).await.unwrap_err();
    assert!(
        matches!(still, SendError::Later { after: Some(after), .. } if after > Duration::from_secs(60))
    );
    assert_eq!(rig.far.journal().at(MESSAGES).len(), 1);
    rig.send("b", &OutgoingMessage::text(place(THREAD), "hi"))
        .await
        .unwrap();
    rig.far.fail("/messages", Far::too_fast(30.0, true));
    rig.send("c", &OutgoingMessage::text(place(DIRECT), "hi"))
        .await
        .unwrap_err();
    let count = rig.far.journal().all().len();
    assert!(matches!(
        rig.near.me().await,
        Err(SendError::Later { after: Some(_), .. })
    ));
    assert_eq!(rig.far.journal().all().len(), count);
}

#[tokio::test]
async fn headers_say_how_many_may_be_sent_before_discord_has_to() {
    let rig = Rig::new().await;
    rig.far.limit_rates(2, 300);
    for key in 0..7 {
        rig.send(
            &key.to_string(),
            &OutgoingMessage::text(place(CHANNEL), "hi"),
        )
        .await
        .unwrap();
    }
    let sent = rig.far.journal().at(MESSAGES);
    assert_eq!(sent.len(), 7);
    assert!(sent.iter().all(|one| one.status == 200));
}

#[tokio::test]
async fn webhooks_are_not_discords() {
    let rig = Rig::new().await;
    let headers = HeaderMap::new();
    let hook = WebhookRequest {
        method: "POST",
        query: "",
        headers: &headers,
        body: b"{}",
        now: 0,
    };
    assert_eq!(
        rig.near.hook(&hook).unwrap_err().status,
        StatusCode::NOT_FOUND
    );
}
