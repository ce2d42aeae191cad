//! What is said.

use std::time::Duration;

use bytes::Bytes;
use manyhands_platforms::Fault;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::channel::{ChannelError, ConnectionStatus, SendError};
use crate::message::{Button, FileKind, Media, MediaKind, OutgoingContent, OutgoingMessage};
use crate::testing::Watcher;

fn asking(text: &str, labels: &[&str]) -> OutgoingMessage {
    let button = |(index, label): (usize, &&str)| Button {
        label: (*label).to_owned(),
        data: format!("choose:{index}"),
        refuses: false,
    };
    OutgoingMessage {
        content: OutgoingContent::Text {
            text: text.to_owned(),
            buttons: vec![labels.iter().enumerate().map(button).collect()],
            edits: None,
        },
        ..OutgoingMessage::text(dm(), "")
    }
}

fn file(form: FileKind, mime: &str, link: Option<&str>) -> OutgoingMessage {
    OutgoingMessage {
        content: OutgoingContent::File {
            form,
            name: "a \"b\".bin".to_owned(),
            mime: mime.to_owned(),
            caption: Some("the **file**".to_owned()),
            artifact: "a1".to_owned(),
            link: link.map(str::to_owned),
        },
        ..OutgoingMessage::text(dm(), "")
    }
}

impl Near {
    async fn send(&self, say: &OutgoingMessage) -> Result<Option<String>, SendError> {
        let sent = self.whatsapp.send("k", say, None).await?;
        Ok(sent.message)
    }
}

#[tokio::test]
async fn a_text_arrives_in_whatsapps_own_markup_as_an_answer() {
    let near = Near::new().await;
    let mut say = OutgoingMessage::text(dm(), "**yes**, `ls`");
    say.reply_to = Some("wamid.theirs".to_owned());
    let id = near.send(&say).await.unwrap().unwrap();
    assert!(id.starts_with("wamid."));
    let expect = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": ADA,
        "type": "text",
        "text": {"body": "*yes*, `ls`", "preview_url": false},
        "context": {"message_id": "wamid.theirs"},
    });
    assert_eq!(near.fake.arrived(), [expect]);
    say.to.kind = PeerKind::Group;
    near.send(&say).await.unwrap();
    assert_eq!(near.fake.arrived()[1]["recipient_type"], "group");
}

#[tokio::test]
async fn pieces_fit_and_all_arrive() {
    let near = Near::new().await;
    let text = format!(
        "{}\n\n```\n{}\n```",
        "**😀漢字** ".repeat(1_500),
        "code line\n".repeat(900)
    );
    for piece in near.whatsapp.pieces(&text) {
        near.send(&OutgoingMessage::text(dm(), piece))
            .await
            .unwrap();
    }
    let arrived = near.fake.arrived();
    let whole: String = arrived
        .iter()
        .filter_map(|one| one["text"]["body"].as_str())
        .collect();
    assert_eq!(whole.matches('😀').count(), 1_500);
    assert_eq!(whole.matches("code line").count(), 900);
    for wrong in ["x".repeat(4_097), " ".to_owned()] {
        let error = near
            .send(&OutgoingMessage::text(dm(), wrong))
            .await
            .unwrap_err();
        assert!(matches!(error, SendError::Never(_)), "{error:?}");
    }
    assert_eq!(near.fake.arrived().len(), arrived.len());
}

#[tokio::test]
async fn few_buttons_stand_below_a_text_and_more_make_a_list() {
    let near = Near::new().await;
    let labels = [
        "Allow once and never ask",
        "Allow once and never ask again",
        " ",
    ];
    near.send(&asking("Run `ls`?", &labels)).await.unwrap();
    let arrived = near.fake.arrived();
    let interactive = &arrived[0]["interactive"];
    assert_eq!(interactive["type"], "button");
    assert_eq!(interactive["body"]["text"], "Run `ls`?");
    let reply = |index: usize| &interactive["action"]["buttons"][index]["reply"];
    assert_eq!(
        reply(0),
        &json!({"id": "choose:0", "title": "Allow once and neve…"})
    );
    assert_eq!(
        reply(1),
        &json!({"id": "choose:1", "title": "Allow once and ne… 2"})
    );
    assert_eq!(reply(2), &json!({"id": "choose:2", "title": "3"}));
    near.send(&asking("Which?", &["a", "b", "c", "d"]))
        .await
        .unwrap();
    let list = &near.fake.arrived()[1]["interactive"];
    assert_eq!(list["type"], "list");
    let rows = &list["action"]["sections"][0]["rows"];
    assert_eq!(rows[3], json!({"id": "choose:3", "title": "d"}));
    // A long text stands above its buttons by itself, and only it answers.
    let long = format!("Run this?\n\n{}", "x".repeat(2_000));
    let mut say = asking(&long, &["a"]);
    say.reply_to = Some("wamid.theirs".to_owned());
    near.send(&say).await.unwrap();
    let arrived = near.fake.arrived();
    assert_eq!(arrived[2]["text"]["body"], long);
    assert_eq!(arrived[2]["context"]["message_id"], "wamid.theirs");
    assert_eq!(arrived[3]["interactive"]["body"]["text"], "Run this?");
    assert!(arrived[3]["context"].is_null());
    let many = near.send(&asking("Which?", &["x"; 11])).await;
    assert!(matches!(many, Err(SendError::Never(_))), "{many:?}");
    let mut heavy = asking("a", &["x"]);
    if let OutgoingContent::Text { buttons, .. } = &mut heavy.content {
        buttons[0][0].data = "x".repeat(257);
    }
    assert!(matches!(near.send(&heavy).await, Err(SendError::Never(_))));
    assert_eq!(near.fake.arrived().len(), 4);
}

#[tokio::test]
async fn half_of_something_is_unknown_and_never_sent_again_by_itself() {
    let near = Near::new().await;
    let first = Fault::answer(429, Fake::error(130_429, "Rate limit hit", ""));
    let say = asking(&"x".repeat(2_000), &["a"]);
    near.fake.fail("/messages", first.clone());
    let error = near.send(&say).await.unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error:?}");
    near.fake.pass("/messages");
    near.fake.fail("/messages", first);
    let error = near.send(&say).await.unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    assert_eq!(near.fake.arrived().len(), 1);
}

#[tokio::test]
async fn reactions_arrive_and_what_cannot_be_done_is_refused_unasked() {
    let near = Near::new().await;
    let mut say = OutgoingMessage::text(dm(), "");
    say.reply_to = Some("wamid.theirs".to_owned());
    say.content = OutgoingContent::React {
        message: "wamid.theirs".to_owned(),
        emoji: "👍".to_owned(),
        big: false,
    };
    near.send(&say).await.unwrap();
    let arrived = near.fake.arrived();
    assert_eq!(
        arrived[0]["reaction"],
        json!({"message_id": "wamid.theirs", "emoji": "👍"})
    );
    say.content = OutgoingContent::Text {
        text: "x".to_owned(),
        buttons: Vec::new(),
        edits: Some("wamid.ours".to_owned()),
    };
    assert!(matches!(near.send(&say).await, Err(SendError::Never(_))));
    assert_eq!(near.fake.journal().all().len(), 1);
}

#[tokio::test]
async fn files_go_up_and_are_shown_as_what_they_are() {
    let near = Near::new().await;
    let bytes = || Some(Bytes::from_static(b"--manyhands\r\n\0bytes"));
    for (form, mime, kind) in [
        (FileKind::Photo, "image/png", "image"),
        (FileKind::Photo, "image/webp", "document"),
        (FileKind::Voice, "audio/ogg; codecs=opus", "audio"),
        (FileKind::Document, "image/png", "document"),
    ] {
        let before = near.fake.arrived().len();
        let say = file(form, mime, None);
        near.whatsapp.send("k", &say, bytes()).await.unwrap();
        let arrived = &near.fake.arrived()[before..];
        assert_eq!(arrived[0]["type"], kind);
        let id = arrived[0][kind]["id"].as_str().unwrap();
        let (kept, body) = near.fake.file(id).unwrap();
        assert_eq!(
            (&*kept, Some(body)),
            (mime.split(';').next().unwrap(), bytes())
        );
        match kind {
            // It has no line of its own: that follows.
            "audio" => assert_eq!(arrived[1]["text"]["body"], "the *file*"),
            _ => assert_eq!(arrived[0][kind]["caption"], "the *file*"),
        }
        let named = (kind == "document").then_some("a \"b\".bin");
        assert_eq!(arrived[0][kind]["filename"].as_str(), named);
    }
    let large = Some(Bytes::from(vec![0; 5 * 1024 * 1024 + 1]));
    let gone = near
        .whatsapp
        .send("k", &file(FileKind::Photo, "image/png", None), None)
        .await;
    assert!(matches!(gone, Err(SendError::Never(_))));
    let refused = near
        .whatsapp
        .send("k", &file(FileKind::Photo, "image/png", None), large)
        .await;
    assert!(matches!(refused, Err(SendError::Never(_))), "{refused:?}");
}

#[tokio::test]
async fn a_type_that_is_not_taken_goes_as_a_link_where_there_is_one() {
    let near = Near::new().await;
    let bytes = || Some(Bytes::from_static(b"zip"));
    let say = file(FileKind::Document, "application/zip", None);
    let error = near.whatsapp.send("k", &say, bytes()).await.unwrap_err();
    assert!(matches!(error, SendError::Never(_)), "{error:?}");
    let say = file(
        FileKind::Document,
        "application/zip",
        Some("https://files.example/a"),
    );
    near.whatsapp.send("k", &say, bytes()).await.unwrap();
    let expect = "the *file*\na \"b\".bin\nhttps://files.example/a";
    assert_eq!(near.fake.arrived()[0]["text"]["body"], expect);
}

#[tokio::test]
async fn a_lost_upload_is_harmless_and_a_lost_message_is_unknown() {
    let near = Near::new().await;
    let say = file(FileKind::Photo, "image/png", None);
    let bytes = || Some(Bytes::from_static(b"png"));
    near.fake.fail("/media", Fault::DoneAndDropped);
    let error = near.whatsapp.send("k", &say, bytes()).await.unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error:?}");
    assert!(near.fake.arrived().is_empty());
    near.fake.fail("/messages", Fault::DoneAndDropped);
    let error = near.whatsapp.send("k", &say, bytes()).await.unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    assert_eq!(near.fake.arrived().len(), 1);
    near.fake.fail("/messages", Fault::answer(200, "<html>"));
    let error = near
        .send(&OutgoingMessage::text(dm(), "x"))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    near.fake.fail("/messages", Fault::answer(502, "<html>"));
    let error = near
        .send(&OutgoingMessage::text(dm(), "x"))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    assert!(!near.whatsapp.repeatable(&say));
}

#[tokio::test]
async fn whoever_has_not_written_for_a_day_is_not_written_to_and_that_is_said() {
    let near = Near::new().await;
    near.fake.fall_silent(ADA);
    let error = near
        .send(&OutgoingMessage::text(dm(), "hello?"))
        .await
        .unwrap_err();
    let SendError::Unreachable(why) = error else {
        panic!("{error:?}")
    };
    assert!(
        why.contains("24 hours") && why.contains("once they have written"),
        "{why}"
    );
    near.said("text", &json!({"text": {"body": "here"}}));
    near.send(&OutgoingMessage::text(dm(), "hello"))
        .await
        .unwrap();
}

#[tokio::test]
async fn refusals_mean_what_they_mean() {
    let near = Near::new().await;
    let say = OutgoingMessage::text(dm(), "x");
    let fail = async |status: u16, code: i64| {
        near.fake.fail(
            "/messages",
            Fault::answer(status, Fake::error(code, "words", "details")),
        );
        near.send(&say).await.unwrap_err()
    };
    for code in [4, 80_007, 130_429, 131_048] {
        let error = fail(429, code).await;
        assert!(
            matches!(error, SendError::Later { after: None, .. }),
            "{code}: {error:?}"
        );
    }
    let pair = fail(400, 131_056).await;
    let SendError::Later { after, why } = pair else {
        panic!()
    };
    assert_eq!(after, Some(Duration::from_secs(6)));
    assert_eq!(why, "WhatsApp says (131056): (#131056) words: details");
    for (status, code) in [
        (401, 190),
        (403, 10),
        (403, 200),
        (400, 131_031),
        (400, 133_010),
    ] {
        let error = fail(status, code).await;
        assert!(matches!(error, SendError::Account(_)), "{code}: {error:?}");
    }
    for code in [100, 131_009, 131_051] {
        let error = fail(400, code).await;
        assert!(matches!(error, SendError::Never(_)), "{code}: {error:?}");
    }
    for code in [131_026, 131_030] {
        let error = fail(400, code).await;
        let nobody = matches!(error, SendError::Unreachable(_));
        assert!(nobody, "{code}: {error:?}");
    }
    for (status, code) in [(503, 131_016), (503, 2), (500, 131_057)] {
        let error = fail(status, code).await;
        assert!(
            matches!(error, SendError::Later { .. }),
            "{code}: {error:?}"
        );
    }
    for (status, code) in [(500, 131_000), (500, 1), (500, 99_999)] {
        let error = fail(status, code).await;
        assert!(matches!(error, SendError::Unknown(_)), "{code}: {error:?}");
    }
    let slow = Fault::Answer {
        status: 429,
        headers: vec![("retry-after", "9".to_owned())],
        body: "slow down".to_owned(),
    };
    near.fake.fail("/messages", slow);
    let SendError::Later { after, .. } = near.send(&say).await.unwrap_err() else {
        panic!()
    };
    assert_eq!(after, Some(Duration::from_secs(9)));
    assert!(near.fake.arrived().is_empty());
    near.send(&say).await.unwrap();
}

#[tokio::test]
async fn a_wrong_token_is_the_accounts_trouble_and_is_not_told() {
    let near = Near::with(|account| account.token = Secret::new("canary")).await;
    let error = near
        .send(&OutgoingMessage::text(dm(), "x"))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::Account(_)), "{error:?}");
    assert!(!error.to_string().contains("canary"));
    let listened = near
        .whatsapp
        .listen(&Watcher::default(), &CancellationToken::new())
        .await;
    assert!(
        matches!(listened, Err(ChannelError::Refused(_))),
        "{listened:?}"
    );
}

#[tokio::test]
async fn it_stands_once_its_number_is_known_and_until_it_is_stopped() {
    let near = Near::new().await;
    let me = near.whatsapp.me().await.unwrap();
    assert_eq!(
        (&*me.name, me.handle.as_deref()),
        ("Manyhands", Some(Fake::NUMBER))
    );
    near.fake.fail(Fake::PHONE, Fault::Drop);
    let (sink, stop) = (Watcher::default(), CancellationToken::new());
    let watch = async {
        let seen = sink.until(|one| *one == ConnectionStatus::Connected).await;
        stop.cancel();
        seen
    };
    let (listened, seen) = tokio::join!(near.whatsapp.listen(&sink, &stop), watch);
    assert_eq!(listened, Ok(()));
    assert!(
        matches!(seen[1], ConnectionStatus::Broken { .. }),
        "{seen:?}"
    );
}

#[tokio::test]
async fn typing_is_shown_for_the_last_message_and_marks_it_as_read() {
    let near = Near::new().await;
    near.whatsapp.typing(&dm()).await.unwrap();
    assert!(near.fake.journal().all().is_empty());
    let heard = near.heard("text", &json!({"text": {"body": "hi"}}));
    near.whatsapp.typing(&dm()).await.unwrap();
    near.whatsapp.typing(&heard.place).await.unwrap();
    assert_eq!(near.fake.read(), [heard.event.clone(), heard.event]);
    let all = near.fake.journal().all();
    assert_eq!(all[0].body["typing_indicator"], json!({"type": "text"}));
    // After a day nobody waits for an answer.
    near.clock.advance(Duration::from_secs(24 * 60 * 60));
    near.whatsapp.typing(&dm()).await.unwrap();
    assert_eq!(near.fake.journal().all().len(), 2);
}

#[tokio::test]
async fn a_press_is_marked_as_read_and_answered_with_a_word() {
    let near = Near::new().await;
    let what = json!({"interactive": {"type": "button_reply", "button_reply": {"id": "ok:1", "title": "Yes"}}});
    let heard = near.heard("interactive", &what);
    near.whatsapp.acknowledge_button(&heard, "").await.unwrap();
    assert!(near.fake.arrived().is_empty());
    near.whatsapp
        .acknowledge_button(&heard, "Allowed.")
        .await
        .unwrap();
    assert_eq!(near.fake.read().len(), 2);
    assert_eq!(near.fake.arrived()[0]["text"]["body"], "Allowed.");
}

fn media(id: &str) -> Media {
    Media {
        kind: MediaKind::Image,
        id: id.to_owned(),
        name: None,
        mime: None,
        size: None,
    }
}

#[tokio::test]
async fn files_are_fetched_in_two_steps_within_bounds() {
    let near = Near::new().await;
    near.fake.keep_file("77", "image/png", vec![7; 1_000]);
    assert_eq!(
        near.whatsapp.fetch(&media("77"), 1_000).await.unwrap(),
        vec![7; 1_000]
    );
    let large = near.whatsapp.fetch(&media("77"), 999).await;
    assert!(matches!(large, Err(SendError::Never(_))), "{large:?}");
    let none = near.whatsapp.fetch(&media("78"), 9).await;
    assert!(matches!(none, Err(SendError::Never(_))), "{none:?}");
    near.fake.fail("/attachments/", Fault::answer(404, "{}"));
    let stale = near.whatsapp.fetch(&media("77"), 1_000).await;
    assert!(matches!(stale, Err(SendError::Later { .. })), "{stale:?}");
}

#[tokio::test]
async fn the_token_is_shown_to_the_platform_only() {
    let near = Near::new().await;
    let elsewhere = Fake::start("wa-token", "x").await;
    elsewhere.keep_file("77", "image/png", "x");
    near.fake.keep_file("77", "image/png", "x");
    near.fake.move_file(
        "77",
        &format!("{}/whatsapp_business/attachments/?mid=77", elsewhere.url),
    );
    let error = near.whatsapp.fetch(&media("77"), 9).await.unwrap_err();
    assert!(matches!(error, SendError::Never(_)), "{error:?}");
    for id in ["", "../77", "77/x", "https://a.example/", "77?x"] {
        assert!(near.whatsapp.fetch(&media(id), 9).await.is_err(), "{id}");
    }
    assert!(elsewhere.journal().all().is_empty());
    // The same place, once it is the account's own.
    let url = elsewhere.url.parse().unwrap();
    let there = Near::with(|account| account.media = url).await;
    there.fake.keep_file("77", "image/png", "y");
    there.fake.move_file(
        "77",
        &format!("{}/whatsapp_business/attachments/?mid=77", elsewhere.url),
    );
    assert_eq!(there.whatsapp.fetch(&media("77"), 9).await.unwrap(), "x");
}
