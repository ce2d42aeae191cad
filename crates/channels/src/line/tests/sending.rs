//! What is said.

use std::time::Duration;

use bytes::Bytes;
use manyhands_platforms::Fault;
use serde_json::json;

use super::*;
use crate::channel::SendError;
use crate::line::send::{Ticket, retry_key};
use crate::message::{Button, FileKind, Media, MediaKind, OutgoingContent, OutgoingMessage};

fn with_ticket(text: &str, token: &str) -> OutgoingMessage {
    OutgoingMessage {
        ticket: Some(token.to_owned()),
        ..OutgoingMessage::text(dm(), text)
    }
}

fn buttons(count: usize) -> Vec<Vec<Button>> {
    let button = |index: usize| Button {
        label: format!("Choice number {index} of many"),
        data: format!("choose:{index}"),
        refuses: false,
    };
    vec![(0..count).map(button).collect()]
}

fn asking(text: &str, buttons: Vec<Vec<Button>>) -> OutgoingMessage {
    OutgoingMessage {
        content: OutgoingContent::Text {
            text: text.to_owned(),
            buttons,
            edits: None,
        },
        ..OutgoingMessage::text(dm(), "")
    }
}

fn file(form: FileKind, mime: &str, link: Option<&str>) -> OutgoingMessage {
    OutgoingMessage {
        content: OutgoingContent::File {
            form,
            name: "report.pdf".to_owned(),
            mime: mime.to_owned(),
            caption: Some("the **report**".to_owned()),
            artifact: "a1".to_owned(),
            link: link.map(str::to_owned),
        },
        ..OutgoingMessage::text(dm(), "")
    }
}

fn paths(near: &Near) -> Vec<(String, u16)> {
    let all = near.fake.journal().all().into_iter();
    all.map(|one| (one.path, one.status)).collect()
}

#[tokio::test]
async fn an_answer_is_a_reply_while_its_token_is_good_and_a_push_after_that() {
    let near = Near::new().await;
    let token = near.fake.reply_token(ADA);
    let say = with_ticket("**one** `two`", &token);
    assert!(
        near.line
            .send("k1", &say, None)
            .await
            .unwrap()
            .message
            .is_some()
    );
    assert_eq!(near.arrived(), [json!({"type": "text", "text": "one two"})]);
    near.line.send("k2", &say, None).await.unwrap();
    assert_eq!(near.arrived().len(), 2);
    let expect = [
        ("/v2/bot/message/reply".to_owned(), 200),
        ("/v2/bot/message/reply".to_owned(), 400),
        ("/v2/bot/message/push".to_owned(), 200),
    ];
    assert_eq!(paths(&near), expect);
    assert!(!near.line.repeatable(&say));
    assert!(near.line.repeatable(&OutgoingMessage::text(dm(), "x")));
}

#[tokio::test]
async fn a_push_with_the_same_key_arrives_once() {
    let near = Near::new().await;
    let say = OutgoingMessage::text(group(), "once");
    let first = near.line.send("k1", &say, None).await.unwrap();
    let again = near.line.send("k1", &say, None).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(
        near.fake.arrived(),
        [(GROUP.to_owned(), json!({"type": "text", "text": "once"}))]
    );
    near.line.send("k2", &say, None).await.unwrap();
    assert_eq!(near.arrived().len(), 2);
    assert_ne!(retry_key("k1"), retry_key("k2"));
}

#[tokio::test]
async fn a_push_whose_answer_was_lost_is_tried_again_and_arrives_once() {
    let near = Near::new().await;
    near.fake.fail("/push", Fault::DoneAndDropped);
    let say = OutgoingMessage::text(dm(), "once");
    let error = near.line.send("k1", &say, None).await.unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error:?}");
    assert!(
        near.line
            .send("k1", &say, None)
            .await
            .unwrap()
            .message
            .is_some()
    );
    assert_eq!(near.arrived().len(), 1);
    near.fake.fail(
        "/push",
        Fault::answer(500, "{\"message\":\"Internal server error\"}"),
    );
    let error = near.line.send("k2", &say, None).await.unwrap_err();
    assert!(matches!(error, SendError::Later { .. }), "{error:?}");
}

#[tokio::test]
async fn a_reply_in_doubt_is_said_once_more_with_the_same_token_and_never_pushed() {
    let near = Near::new().await;
    // It had not arrived.
    near.fake.fail("/reply", Fault::answer(502, "bad gateway"));
    let say = with_ticket("a", &near.fake.reply_token(ADA));
    near.line.send("k1", &say, None).await.unwrap();
    assert_eq!(near.arrived().len(), 1);
    // It had.
    near.fake.fail("/reply", Fault::DoneAndDropped);
    let say = with_ticket("b", &near.fake.reply_token(ADA));
    let error = near.line.send("k2", &say, None).await.unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    assert_eq!(near.arrived().len(), 2);
    // Nobody answers.
    near.fake.fail("/reply", Fault::Drop);
    near.fake.fail("/reply", Fault::Drop);
    let say = with_ticket("c", &near.fake.reply_token(ADA));
    let error = near.line.send("k3", &say, None).await.unwrap_err();
    assert!(matches!(error, SendError::Unknown(_)), "{error:?}");
    assert_eq!(near.fake.journal().at("/v2/bot/message/push").len(), 0);
}

#[tokio::test]
async fn an_answer_quotes_what_it_answers() {
    let near = Near::new().await;
    let (heard, _) = near.heard(ADA, json!({"type": "text", "text": "hi"}));
    let mut say = with_ticket("hello", heard.ticket.as_deref().unwrap());
    say.reply_to = heard.place.message.clone();
    near.line.send("k1", &say, None).await.unwrap();
    let quote = near.arrived()[0]["quoteToken"].as_str().unwrap().to_owned();
    assert!(quote.contains(&heard.place.message.unwrap()), "{quote}");
    // One that answers nothing quotes nothing.
    say.reply_to = None;
    near.line.send("k2", &say, None).await.unwrap();
    assert!(near.arrived()[1]["quoteToken"].is_null());
}

#[test]
fn a_ticket_is_read_as_it_was_written() {
    for (reply, quote) in [
        (None, None),
        (Some("r"), None),
        (None, Some("q")),
        (Some("r"), Some("q")),
    ] {
        let ticket = Ticket { reply, quote };
        let written = ticket.written();
        assert_eq!(Ticket::parse(written.as_deref()), ticket);
    }
}

#[tokio::test]
async fn refusals_mean_what_they_mean() {
    let near = Near::new().await;
    let say = OutgoingMessage::text(dm(), "x");
    let fail = async |fault| {
        near.fake.fail("/push", fault);
        near.line.send("k", &say, None).await.unwrap_err()
    };
    let slow = Fault::Answer {
        status: 429,
        headers: vec![("retry-after", "7".to_owned())],
        body: json!({"message": "The API rate limit has been exceeded. Try again later."})
            .to_string(),
    };
    let SendError::Later { after, .. } = fail(slow).await else {
        panic!()
    };
    assert_eq!(after, Some(Duration::from_secs(7)));
    let spent = json!({"message": "You have reached your monthly limit."}).to_string();
    let error = fail(Fault::answer(429, spent)).await;
    assert!(matches!(error, SendError::Account(_)), "{error:?}");
    let error = fail(Fault::answer(403, "{\"message\":\"no\"}")).await;
    assert!(matches!(error, SendError::Account(_)), "{error:?}");
    let error = fail(Fault::answer(409, "{\"message\":\"conflict\"}")).await;
    assert!(matches!(error, SendError::Never(_)), "{error:?}");
    let error = fail(Fault::answer(503, "<html>down</html>")).await;
    assert!(matches!(error, SendError::Later { .. }), "{error:?}");
    // A chat that blocks us harms nobody else.
    near.fake.block(ADA);
    let error = near.line.send("k", &say, None).await.unwrap_err();
    assert_eq!(
        error,
        SendError::Never("LINE says (400): Failed to send messages".to_owned())
    );
    near.line
        .send("k", &OutgoingMessage::text(group(), "x"), None)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_wrong_token_is_the_accounts_trouble_and_is_not_told() {
    let near = Near::with(|account| account.token = Secret::new("canary")).await;
    let error = near
        .line
        .send("k", &OutgoingMessage::text(dm(), "x"), None)
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::Account(_)), "{error:?}");
    assert!(!error.to_string().contains("canary"));
    assert!(matches!(near.line.me().await, Err(SendError::Account(_))));
    let near = Near::with(|account| account.token = Secret::new("line\nbreak")).await;
    assert!(matches!(near.line.me().await, Err(SendError::Account(_))));
}

#[tokio::test]
async fn buttons_come_back_as_what_they_carry() {
    let near = Near::new().await;
    near.line
        .send("k1", &asking("Run `ls`?", buttons(2)), None)
        .await
        .unwrap();
    let arrived = near.arrived();
    let [template] = &arrived[..] else {
        panic!("{arrived:?}")
    };
    assert_eq!(template["template"]["text"], "Run ls?");
    let actions = template["template"]["actions"].as_array().unwrap();
    assert_eq!(actions[1]["data"], "choose:1");
    assert_eq!(actions[1]["label"], "Choice number 1 of…");
    // More than fit below one text, and a text that is too long to stand above them.
    let long = format!("Run this?\n\n{}", "x".repeat(4_000));
    near.line
        .send("k2", &asking(&long, buttons(6)), None)
        .await
        .unwrap();
    let arrived = near.arrived();
    let kinds: Vec<&str> = arrived[1..]
        .iter()
        .filter_map(|one| one["type"].as_str())
        .collect();
    assert_eq!(kinds, ["text", "template", "template"]);
    assert_eq!(arrived[2]["template"]["text"], "Run this?");
    assert_eq!(
        arrived[3]["template"]["actions"].as_array().unwrap().len(),
        2
    );
    let many = near
        .line
        .send("k3", &asking(&long, buttons(17)), None)
        .await;
    assert!(matches!(many, Err(SendError::Never(_))), "{many:?}");
    let mut heavy = buttons(1);
    heavy[0][0].data = "x".repeat(301);
    let heavy = near.line.send("k4", &asking("a", heavy), None).await;
    assert!(matches!(heavy, Err(SendError::Never(_))), "{heavy:?}");
    assert_eq!(near.arrived().len(), 4);
}

#[tokio::test]
async fn pieces_fit_in_lines_own_unit_and_all_arrive() {
    let near = Near::new().await;
    let text = format!(
        "{}\n\n```\n{}\n```\n\nend",
        "😀漢字 ".repeat(2_000),
        "code line\n".repeat(900)
    );
    let pieces = near.line.pieces(&text);
    assert!(pieces.len() > 3);
    for (index, piece) in pieces.iter().enumerate() {
        let say = OutgoingMessage::text(dm(), piece);
        near.line
            .send(&format!("k{index}"), &say, None)
            .await
            .unwrap();
    }
    let whole: String = near
        .arrived()
        .iter()
        .filter_map(|one| one["text"].as_str())
        .collect();
    assert_eq!(whole.matches('😀').count(), 2_000);
    assert_eq!(whole.matches("code line").count(), 900);
    let long = OutgoingMessage::text(dm(), "x".repeat(5_001));
    let error = near.line.send("k", &long, None).await.unwrap_err();
    assert!(matches!(error, SendError::Never(_)), "{error:?}");
    let blank = near
        .line
        .send("k", &OutgoingMessage::text(dm(), " \n"), None)
        .await;
    assert!(matches!(blank, Err(SendError::Never(_))), "{blank:?}");
}

#[tokio::test]
async fn hostile_markdown_still_arrives_as_text() {
    let near = Near::new().await;
    for (index, text) in [
        "**",
        "[a](b",
        "```",
        "> > >",
        "\u{0}x",
        "_*~`[](",
        "| a |\n|-",
    ]
    .iter()
    .enumerate()
    {
        let sent = near
            .line
            .send(
                &format!("k{index}"),
                &OutgoingMessage::text(dm(), *text),
                None,
            )
            .await;
        match sent {
            Ok(_) => {}
            // Marks with nothing between them say nothing.
            Err(SendError::Never(why)) => assert_eq!(why, "the message is empty", "{text}"),
            Err(other) => panic!("{text}: {other:?}"),
        }
    }
    assert!(near.arrived().len() >= 4);
}

#[tokio::test]
async fn pictures_go_as_their_address_and_other_files_as_a_link() {
    let near = Near::new().await;
    let link = Some("https://files.example/a?sig=1");
    let small = Some(Bytes::from_static(b"png"));
    near.line
        .send(
            "k1",
            &file(FileKind::Photo, "image/png", link),
            small.clone(),
        )
        .await
        .unwrap();
    let arrived = near.arrived();
    assert_eq!(
        arrived[0]["originalContentUrl"],
        "https://files.example/a?sig=1"
    );
    assert_eq!(arrived[1]["text"], "the report");
    let expect = "the report\nreport.pdf\nhttps://files.example/a?sig=1";
    let large = Some(Bytes::from(vec![0; 1024 * 1024 + 1]));
    near.line
        .send("k2", &file(FileKind::Photo, "image/png", link), large)
        .await
        .unwrap();
    near.line
        .send(
            "k3",
            &file(FileKind::Document, "application/pdf", link),
            small.clone(),
        )
        .await
        .unwrap();
    near.line
        .send(
            "k4",
            &file(FileKind::Photo, "image/webp", link),
            small.clone(),
        )
        .await
        .unwrap();
    for one in &near.arrived()[2..] {
        assert_eq!(one["text"], expect);
    }
    // LINE would not fetch it without TLS, nor from nowhere.
    let plain = Some("http://files.example/a");
    near.line
        .send(
            "k5",
            &file(FileKind::Photo, "image/png", plain),
            small.clone(),
        )
        .await
        .unwrap();
    near.line
        .send("k6", &file(FileKind::Photo, "image/png", None), small)
        .await
        .unwrap();
    let arrived = near.arrived();
    assert_eq!(
        arrived[5]["text"],
        "the report\nreport.pdf\nhttp://files.example/a"
    );
    assert!(arrived[6]["text"].as_str().unwrap().contains("report.pdf"));
}

#[tokio::test]
async fn what_line_cannot_do_is_refused_before_it_is_asked() {
    let near = Near::new().await;
    let mut edit = OutgoingMessage::text(dm(), "x");
    edit.content = OutgoingContent::Text {
        text: "x".to_owned(),
        buttons: Vec::new(),
        edits: Some("1".to_owned()),
    };
    let react = OutgoingMessage {
        content: OutgoingContent::React {
            message: "1".to_owned(),
            emoji: "👍".to_owned(),
            big: false,
        },
        ..OutgoingMessage::text(dm(), "")
    };
    for say in [edit, react] {
        let error = near.line.send("k", &say, None).await.unwrap_err();
        assert!(matches!(error, SendError::Never(_)), "{error:?}");
    }
    assert!(near.fake.journal().all().is_empty());
}

#[tokio::test]
async fn typing_is_shown_to_one_person_and_not_in_groups() {
    let near = Near::new().await;
    near.line.typing(&dm()).await.unwrap();
    near.line.typing(&group()).await.unwrap();
    let all = near.fake.journal().all();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].body, json!({"chatId": ADA, "loadingSeconds": 20}));
    assert_eq!(all[0].status, 202);
}

#[tokio::test]
async fn whoever_pressed_a_button_is_told_with_its_own_token() {
    let near = Near::new().await;
    let all = near
        .receive(&[near.fake.postback(ADA, ADA, "ok:1")])
        .unwrap();
    near.line.acknowledge_button(&all[0], "").await.unwrap();
    assert!(near.arrived().is_empty());
    near.line
        .acknowledge_button(&all[0], "Allowed.")
        .await
        .unwrap();
    near.line
        .acknowledge_button(&all[0], "Allowed.")
        .await
        .unwrap();
    assert_eq!(
        near.arrived(),
        [json!({"type": "text", "text": "Allowed."})]
    );
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
async fn files_are_fetched_within_bounds_and_once_they_are_ready() {
    let near = Near::new().await;
    near.fake.keep_file("123", vec![7; 1_000], 1);
    let error = near.line.fetch(&media("123"), 1_000).await.unwrap_err();
    assert!(
        matches!(error, SendError::Later { after: Some(_), .. }),
        "{error:?}"
    );
    assert_eq!(
        near.line.fetch(&media("123"), 1_000).await.unwrap(),
        vec![7; 1_000]
    );
    assert!(near.line.fetch(&media("123"), 999).await.is_err());
    let gone = near.line.fetch(&media("124"), 9).await.unwrap_err();
    assert!(matches!(gone, SendError::Never(_)), "{gone:?}");
}

#[tokio::test]
async fn no_id_leads_the_token_elsewhere() {
    let near = Near::new().await;
    let elsewhere = Fake::start("line-token", "x").await;
    let port = elsewhere.url.rsplit(':').next().unwrap();
    for id in [
        &*format!("{}/v2/bot/info", elsewhere.url),
        &format!("//127.0.0.1:{port}/"),
        "../../../v2/bot/info",
        "1/../../info",
        "1?x=",
        "file:///etc/passwd",
        "",
    ] {
        let error = near.line.fetch(&media(id), 100).await.unwrap_err();
        assert!(matches!(error, SendError::Never(_)), "{id}: {error:?}");
    }
    assert!(elsewhere.journal().all().is_empty());
    assert!(near.fake.journal().all().is_empty());
}
